#!/bin/sh
# install-deps.sh [STAGE..] - installs the missing Debian packages for building and testing; prints
# nothing if all are installed. This is the only list of them.
#
# A STAGE of tests/run-all.sh adds the packages of that stage; `all` means every stage except python
# (PYTHON=1 in the environment adds it). `deb`, `bundle` and `site` are what the targets of make of
# these names need. If a package of a stage is not available, on an old or
# other distribution, the script says so, and the stage or test is skipped. Without the other
# packages nothing can be built, and the script fails.
set -eu

packages="
build-essential cmake ninja-build pkg-config
clang libclang-rt-dev
libdnnl-dev
libcjson-dev
libspng-dev libjpeg62-turbo-dev libwebp-dev libtiff-dev libgif-dev
libheif-dev libarchive-dev libcurl4-gnutls-dev
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
    # OpenBLAS: with Debian's reference BLAS the training of docs/tutorial.md takes minutes
    python) echo python3-numpy python3-torch python3-torchvision python3-matplotlib \
        libopenblas0-openmp \
        python3-onnx python3-pip python3-venv python3-setuptools python3-wheel ;;
    # Chromium tests the page of ssm2d report, Python the files of ssm2d export, tcc compiles
    # examples/reference.c
    release) echo libopenmpi-dev openmpi-bin libmpich-dev mpich chromium \
        python3-numpy python3-onnx tcc pandoc ;;
    dev) echo libopenmpi-dev openmpi-bin libmpich-dev mpich python3-numpy python3-onnx tcc ;;
    # npm packs the package and comes with node where that is not Debian's; Chromium shows the page
    js) echo emscripten chromium "$(command -v npm > /dev/null || echo npm)" ;;
    library) echo abigail-tools ;;
    site) echo pandoc python3 ;; # make site; among the tests its links need it, and chromium
    # what packaging/debian needs beside the packages above
    deb) echo debhelper dh-python libmpich-dev libopenmpi-dev lintian python3 python3-setuptools \
        python3-wheel ;;
    bundle) echo fonts-dejavu-core ;;
    packages) echo debhelper debootstrap dh-python fonts-dejavu-core libmpich-dev libopenmpi-dev \
        lintian python3 python3-setuptools python3-wheel ;;
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
[ "$stages" != all ] || stages="checks release js library aarch64 musl gcc11 packages"
[ "${PYTHON:-}" != 1 ] || stages="$stages python"
for stage in $stages; do packages_of "$stage" > /dev/null; done

# other_system: the command for a system that is not Debian, which has not been tried, nor have all
# names been looked up; a package that a system does not seem to have is left out, and
# cmake names what it lacks.
other_system() {
    if command -v dnf > /dev/null; then
        echo dnf install gcc gcc-c++ cmake ninja-build pkgconf-pkg-config onednn-devel cjson-devel \
            libspng-devel libjpeg-turbo-devel libwebp-devel libtiff-devel giflib-devel \
            libheif-devel libarchive-devel cairo-devel protobuf-c-devel zlib-devel
    elif command -v pacman > /dev/null; then
        echo pacman -S base-devel cmake ninja pkgconf onednn cjson libspng libjpeg-turbo libwebp \
            libtiff giflib libheif libarchive cairo protobuf-c zlib
    elif command -v zypper > /dev/null; then
        echo zypper install gcc gcc-c++ cmake ninja pkgconf cJSON-devel libspng-devel \
            libjpeg8-devel libwebp-devel libtiff-devel giflib-devel libheif-devel \
            libarchive-devel cairo-devel libprotobuf-c-devel zlib-devel
    elif command -v apk > /dev/null; then
        echo apk add build-base cmake ninja pkgconf cjson-dev libspng-dev libjpeg-turbo-dev \
            libwebp-dev tiff-dev giflib-dev libheif-dev libarchive-dev cairo-dev protobuf-c-dev \
            zlib-dev
    elif command -v brew > /dev/null; then
        echo brew install cmake ninja pkgconf onednn cjson libspng jpeg-turbo webp libtiff giflib \
            libheif libarchive cairo protobuf-c zlib
    fi
}

if ! command -v dpkg-query > /dev/null; then
    say "This is not a Debian system: nothing is installed. Needed, under Debian's names:" $packages
    for stage in $stages; do say "For $stage:" $(packages_of "$stage"); done
    command=$(other_system)
    if [ -n "$command" ]; then
        say "The command for this system should be similar to this one, which is untested:"
        say "    $command"
        case $command in
        zypper* | apk*) say "oneDNN (dnnl) may have to be installed from its sources there." ;;
        esac
    fi
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
