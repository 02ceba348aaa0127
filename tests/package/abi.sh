#!/bin/sh
# abi.sh BUILD [--write] - compares the interfaces of the shared libraries in BUILD, which must have
# debug information, with those of tests/package/abi: what a program compiled against an earlier
# build relies on (functions, their types, layouts of public structs). The last line is
# `abi: N tests, N passed, N failed, N skipped`.
#
# An added function is fine; every other difference fails. `--write` replaces the files: use it for
# a new minor version (their names have it), or when a difference does not break programs, such as
# a field at the end of a struct that begins with its size.
set -eu
build=$1 mode=${2:-}
here=$(dirname "$0")
top=$here/../..
passed=0 failed=0 skipped=0

if ! command -v abidiff > /dev/null; then
    echo "abi: SKIPPED: abidiff is not installed (scripts/install-deps.sh library installs it)"
    echo "abi: 2 tests, 0 passed, 0 failed, 2 skipped"
    exit 0
fi
version=$(sed -n 's/^project(ssm2d VERSION \([0-9]*\.[0-9]*\).*/\1/p' "$top/CMakeLists.txt")

for name in ssm2d ssm2d_model; do
    library=$build/src/lib$name.so baseline=$here/abi/$name-$version.abi
    if [ "$mode" = --write ]; then
        rm -f "$here/abi/$name"-[0-9]*.abi
        abidw --headers-dir "$top/include" --drop-private-types --exported-interfaces-only \
            --no-corpus-path --no-comp-dir-path --short-locs --type-id-style hash \
            --out-file "$baseline" "$library"
        echo "abi: $baseline is written"
    elif [ ! -f "$baseline" ]; then
        echo "abi: $baseline is missing: is the version new? Then run '$0 $build --write'"
        failed=$((failed + 1))
        continue
    fi
    # Both header folders, or abidiff takes the public structs for private ones and ignores them.
    code=0
    abidiff --headers-dir1 "$top/include" --headers-dir2 "$top/include" --no-added-syms \
        "$baseline" "$library" || code=$?
    if [ "$code" = 0 ]; then
        passed=$((passed + 1))
    else
        echo "abi: lib$name.so differs from $baseline (abidiff's exit code is $code)"
        failed=$((failed + 1))
    fi
done
echo "abi: $((passed + failed)) tests, $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
