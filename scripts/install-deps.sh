#!/bin/sh
# install-deps.sh [STAGE..] - installs the missing Debian packages for building and testing; prints
# nothing if all are installed. This is the only list of them.
#
# A STAGE of tests/run-all.sh adds the packages of that stage; `all` means every stage except python
# (PYTHON=1 in the environment adds it). If a package of a stage is not available, on an old or
# other distribution, the script says so, and the stage or test is skipped. Without the other
# packages nothing can be built, and the script fails.
set -eu

packages="
build-essential cmake ninja-build pkg-config
clang libclang-rt-dev
libdnnl-dev
libcjson-dev
libspng-dev libjpeg62-turbo-dev libwebp-dev libtiff-dev libgif-dev
libheif-dev libarchive-dev
libcairo2-dev
protobuf-c-compiler libprotobuf-c-dev libonnx-dev
zlib1g-dev
libcmocka-dev
libfftw3-dev
dataset-fashion-mnist
"

packages_of() {
    case $1 in
    checks) echo clang-format clang-tools ;;
    aarch64) [ "$(uname -m)" = aarch64 ] \
        || echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static ;;
    musl) echo musl-tools ;;
    gcc11) echo gcc-11 ;;
    python) echo python3-numpy python3-torch python3-torchvision python3-matplotlib \
        python3-onnx python3-pip python3-venv python3-setuptools python3-wheel ;;
    # Chromium tests the page of ssm2d report, Python the files of ssm2d export
    release) echo libopenmpi-dev openmpi-bin libmpich-dev mpich chromium \
        python3-numpy python3-onnx ;;
    dev) echo libopenmpi-dev openmpi-bin libmpich-dev mpich python3-numpy python3-onnx ;;
    # npm packs the package and comes with node where that is not Debian's; Chromium shows the page
    js) echo emscripten chromium "$(command -v npm > /dev/null || echo npm)" ;;
    library) echo abigail-tools ;;
    clang | asan | tsan | fuzz) ;;
    *)
        say "install-deps.sh: there is no stage '$1'"
        exit 2
        ;;
    esac
}

say() { printf '%s\n' "$*" >&2; }

# missing PACKAGE..: those that are not installed
missing() {
    for package; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
        [ "$status" = installed ] || printf '%s ' "$package"
    done
}

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" < /dev/null
}

# install PACKAGE..: fetches the package lists first if they are missing (containers) or outdated
install() {
    if apt-get install --simulate --no-install-recommends "$@" > /dev/null 2>&1 \
        && apt install -y --no-install-recommends "$@"; then
        return
    fi
    if [ -z "$fetched" ]; then
        say "Fetching the package lists first."
        fetched=1
        apt update || return
    fi
    apt install -y --no-install-recommends "$@"
}

stages=$*
[ "$stages" != all ] || stages="checks release js library aarch64 musl gcc11"
[ "${PYTHON:-}" != 1 ] || stages="$stages python"
for stage in $stages; do packages_of "$stage" > /dev/null; done

if ! command -v dpkg-query > /dev/null; then
    say "This is not a Debian system: nothing is installed. Needed, under Debian's names:" $packages
    for stage in $stages; do say "For $stage:" $(packages_of "$stage"); done
    exit 0
fi

if [ "$(id -u)" = 0 ]; then
    as_root=env
elif command -v sudo > /dev/null; then
    as_root=sudo
else
    as_root=
fi
fetched=

needed=$(missing $packages)
if [ -n "$needed" ]; then
    if [ -z "$as_root" ]; then
        say "These packages are missing, and installing them needs root or sudo: $needed"
        say "As root: apt-get install $needed"
        exit 1
    fi
    say "Installing: $needed"
    install $needed
fi

for stage in $stages; do
    needed=$(missing $(packages_of "$stage"))
    [ -n "$needed" ] || continue
    say "Installing for the stage $stage: $needed"
    if [ -z "$as_root" ] || ! install $needed; then
        say "These packages are not available; the stage $stage, or a test of it, is skipped:" \
            "$needed"
    fi
done
