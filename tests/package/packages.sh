#!/bin/sh
# packages.sh - builds packages and bundle and uses them in clean Debian systems; the last line is
# `packages: N tests, N passed, N failed, N skipped`.
#
#   debs SUITE    bookworm, trixie: `make deb` in a system of the suite; lintian finds no error; the
#                 packages are installed and used in a clean one (use_debs.sh)
#   bundle SUITE  bullseye, bookworm, trixie, sid: the bundle of build/release (use_bundle.sh)
#
# PACKAGES=.. chooses among these kinds, SUITES=.. among the suites. The last commit is built
# (for the bundle: build/release). Needs root and debootstrap; systems are kept in PACKAGE_ROOTS.
set -u
cd "$(dirname "$0")/../.."
roots=${PACKAGE_ROOTS:-${TMPDIR:-/tmp}/ssm2d-package-roots}
kinds=${PACKAGES:-debs bundle}
suites=${SUITES:-bullseye bookworm trixie sid}
data=/usr/share/datasets/fashion-mnist
passed=0 failed=0

skip() {
    echo "packages: SKIPPED: $1"
    echo "packages: 1 tests, 0 passed, 0 failed, 1 skipped"
    exit 0
}
[ "$(id -u)" = 0 ] || skip "debootstrap and chroot need root"
command -v debootstrap > /dev/null \
    || skip "debootstrap is not installed (scripts/install-deps.sh packages installs it)"
[ -d $data ] || skip "dataset-fashion-mnist is not installed"
mkdir -p "$roots"
work=$(mktemp -d "$roots/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

# clean SUITE SHARE COMMAND..: in a clean system, which sees the folder SHARE as /mnt
clean() {
    suite=$1 share=$2
    shift 2
    FRESH_ROOT=$roots/clean-$suite FRESH_DISCARD=1 FRESH_SHARE=$share \
        scripts/fresh-root.sh "$suite" "$@"
}

# build SUITE COMMAND..: in a system that keeps the packages it has installed
build() {
    suite=$1
    shift
    FRESH_ROOT=$roots/build-$suite scripts/fresh-root.sh "$suite" "$@"
}

debs() {
    mkdir "$work/debs-$1"
    build "$1" sh -c 'make deb && lintian --fail-on error build/deb/*.changes' \
        && cp "$roots/build-$1/root/ssm2d"/build/deb/*.deb "$work/debs-$1" \
        && clean "$1" "$work/debs-$1" tests/package/use_debs.sh /mnt
}

bundle() {
    if [ ! -d "$work/bundle" ]; then
        mkdir "$work/bundle"
        packaging/bundle.sh build/release "$work/bundle" && cp -r $data "$work/bundle/data"
    fi
    clean "$1" "$work/bundle" tests/package/use_bundle.sh /mnt
}

for kind in $kinds; do
    for suite in $suites; do
        case $kind-$suite in
        debs-bullseye | debs-sid) continue ;;
        esac
        echo "packages: $kind $suite"
        if $kind "$suite"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "packages: $kind $suite: FAILED"
        fi
    done
done
echo "packages: $((passed + failed)) tests, $passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
