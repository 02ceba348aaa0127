#!/bin/sh
# Installs the Debian packages that building and testing need and that are not there yet; silent when all are.
# This is the only list of them.
set -eu

packages="
build-essential cmake ninja-build pkg-config
clang libclang-rt-dev
libdnnl-dev
libcjson-dev
libspng-dev libjpeg62-turbo-dev
libcairo2-dev
zlib1g-dev
libcmocka-dev
libfftw3-dev
dataset-fashion-mnist
"

# PYTHON=1: also what the tests of the Python package need.
if [ "${PYTHON:-}" = 1 ]; then
    packages="$packages
python3-numpy python3-torch python3-torchvision python3-matplotlib
python3-pip python3-venv python3-setuptools python3-wheel
"
fi

say() { printf '%s\n' "$*" >&2; }

if ! command -v dpkg-query > /dev/null; then
    say "This is not a Debian system: nothing is installed. Needed, under Debian's names:" $packages
    exit 0
fi

missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=env
elif command -v sudo > /dev/null; then
    as_root=sudo
else
    say "These packages are missing, and installing them takes root or sudo, of which neither is here:"
    say "   $missing"
    say "As root: apt-get install$missing"
    exit 1
fi

say "Installing:$missing"
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" < /dev/null; }
install() { apt install -y --no-install-recommends $missing; }

# Package lists may be missing altogether (containers), or be too old for what they name to be there still.
if apt-get install --simulate --no-install-recommends $missing > /dev/null 2>&1 && install; then
    exit 0
fi
say "Fetching the package lists first."
apt update
install
