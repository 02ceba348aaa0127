#!/usr/bin/env bash
# run-all.sh [--long] [STAGE..] - builds every configuration and runs its tests; the last line is
# `N passed, N failed`.
#
#   checks    the rules of the source tree: columns, format, includes, names (tests/checks.sh)
#   release   gcc, the release build, all tests except the failing-memory campaign, which asan runs
#   python    the Python package, with the library of the release build
#   js        the package for browsers and Node.js, in WebAssembly, beside the tool of the release
#             build, and the browser page in Chromium (js/run-tests.sh; only with --long)
#   library   the library alone, which needs only a C compiler; then that of trained models, and
#             the binary interface of both beside the committed one (tests/package/abi.sh)
#   clang     clang builds everything; the tests of layer, graph and models
#   asan      address and undefined-behaviour sanitizers, all tests but the values of exported files
#             in other programs (export_values)
#   tsan      thread sanitizer, the tests labelled `threads`
#   aarch64   cross build of library, graph and operators; their tests under qemu
#   musl      the same with musl, natively; and a statically linked program
#   fuzz      the fuzz targets, FUZZ_SECONDS each; if that is not set, with the same mutations in
#             every run, so that a change does not fail because of an unrelated input
#   gcc11     the oldest supported compiler (only with --long)
#   packages  Debian packages and the bundle, used in clean systems made by debootstrap (only with
#             --long; needs root)
#   dev       the developer build, all tests (not among the default stages)
#
# Warnings are errors in every build. A failed build counts as one failed test; each build leaves
# its log in build/STAGE.log. `scripts/install-deps.sh STAGE` installs the packages of a stage; if
# they are missing, the stage says so and is skipped.
#
# --long (or LONG=1): every test of a stage, repeated for every instruction set (AVX-512 emulated
# under asan), the campaigns of tests/campaign in full, and FUZZ_SECONDS=120 instead of 3.
set -uo pipefail
cd "$(dirname "$0")/.."

export LONG=${LONG:-}
if [ "${1:-}" = --long ]; then
    LONG=1
    shift
fi
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
fuzz_seed=$([ -n "$LONG${FUZZ_SECONDS:-}" ] && echo 0 || echo 1)
FUZZ_SECONDS=${FUZZ_SECONDS:-$([ -n "$LONG" ] && echo 120 || echo 3)}
stages="checks release python library clang asan tsan aarch64 musl fuzz"
more="js gcc11 packages dev"
# Runs sync their files to the disk, which takes most of the time of many tests. So the files of
# tests are in memory if there is enough, but on the disk with --long, or where TMPDIR says.
kilobytes=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1)
if [ -z "$LONG${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "${kilobytes:-0}" -ge 2000000 ]; then
    TMPDIR=$(mktemp -d /dev/shm/ssm2d-tests-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi
passed=0 failed=0 skipped=0 unbuilt= failures=() skips=() seconds=()
declare -A started # by stage: processes that run beside others

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*"; }

fault() {
    failed=$((failed + 1))
    failures+=("$1")
    say "FAILED: $1"
}

# omit STAGE WHY: records that the whole stage cannot be run here
omit() {
    skipped=$((skipped + 1))
    skips+=("$1: SKIPPED: $2")
    say "$1: SKIPPED: $2"
}

# needs STAGE COMMAND..: whether the commands are installed; otherwise omits the stage
needs() {
    local stage=$1 command
    shift
    for command; do
        command -v "$command" > /dev/null && continue
        omit "$stage" "$command is not installed (scripts/install-deps.sh $stage installs it)"
        return 1
    done
}

# build STAGE CONFIGURE_ARGUMENT..: builds the preset of that name, or else everything
build() {
    local stage=$1 log=build/$1.log what=(--preset "$1")
    shift
    mkdir -p build
    say "$stage: building"
    if [ "$1" != --preset ]; then what=("build/$stage"); fi
    if cmake "$@" > "$log" 2>&1 \
        && cmake --build "${what[@]}" --parallel "$(nproc)" >> "$log" 2>&1; then
        return 0
    fi
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Creating)' "$log" | tail -n 60
    fault "$stage: the build (see $log)"
    unbuilt+=" $stage "
    return 1
}

# attribute FILE NAME: an integer attribute of the first testsuite element of ctest's report
attribute() {
    tr '\n' ' ' < "$1" | sed -n "s/.*<testsuite [^>]*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p"
}

# run STAGE PRESET [BEFORE..]: runs ctest with the preset; BEFORE is a command that runs ctest
run() {
    local stage=$1 preset=$2 report=$PWD/build/$1.xml code=0 tests bad idle name line
    shift 2
    say "$stage: testing"
    rm -f "$report"
    "$@" ctest --preset "$preset" --no-tests=error --output-junit "$report" < /dev/null || code=$?
    if [ ! -s "$report" ]; then
        fault "$stage: ctest gave no report (exit code $code)"
        return
    fi
    tests=$(attribute "$report" tests) bad=$(attribute "$report" failures)
    idle=$(($(attribute "$report" skipped) + $(attribute "$report" disabled)))
    passed=$((passed + tests - bad - idle))
    failed=$((failed + bad))
    skipped=$((skipped + idle))
    while read -r name; do failures+=("$stage: $name"); done \
        < <(sed -n 's/.*<testcase name="\([^"]*\)".*status="fail".*/\1/p' "$report")
    # A test that skips anything says why in a line of its own, or else fails.
    while read -r name; do fault "$stage: $name was skipped and does not say why"; done \
        < <(awk '/<testcase / { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
                                idle = /status="(notrun|disabled)"/; why = 0 }
                 /SKIPPED: / { why = 1 }
                 /<\/testcase>/ && idle && !why { print name }' "$report")
    while read -r line; do skips+=("$stage: $line"); done \
        < <(grep -o 'SKIPPED: .*' "$report" | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1 x /')
    if [ "$code" != 0 ] && [ "$bad" = 0 ]; then
        fault "$stage: ctest ended with exit code $code"
    fi
}

# both STAGE [BEFORE..]: builds and tests with the presets of that name, or those of the long tier
both() {
    local stage=$1
    shift
    build "$stage" --preset "$stage" && run "$stage" "$stage${LONG:+-long}" "$@"
}

# beside STAGE COMMAND..: starts a script that runs beside the next stages, as it mostly uses one
# processor. Its last line is `STAGE: N tests, N passed, N failed, N skipped`, or says why it was
# skipped.
beside() {
    local stage=$1
    shift
    mkdir -p build
    say "$stage: testing, beside the next stages"
    "$@" > "build/$stage.log" 2>&1 < /dev/null &
    started[$stage]=$!
}

# collect STAGE: waits for a script of `beside` and counts its tests
collect() {
    local stage=$1 log=build/$1.log code=0 counts line n='\([0-9]*\)'
    wait "${started[$stage]}" || code=$?
    say "$stage: done"
    grep "^$stage:" "$log"
    counts=$(sed -n "s/^$stage: $n tests, $n passed, $n failed, $n skipped\$/\2 \3 \4/p" "$log" \
        | tail -n 1)
    if [ -n "$counts" ]; then
        set -- $counts
        passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
        [ "$2" = 0 ] || failures+=("$stage: $2 tests (see $log)")
    fi
    while read -r line; do skips+=("$line"); done < <(grep -i "^$stage: skipped:" "$log")
    if [ "$code" != 0 ]; then
        tail -n 40 "$log"
        [ -n "$counts" ] && [ "${2:-0}" != 0 ] \
            || fault "$stage: ended with exit code $code (see $log)"
    fi
}

# The thread sanitizer of gcc 12 does not support the randomised address layout of newer kernels.
plain_addresses=()
if setarch -R true 2> /dev/null; then plain_addresses=(setarch -R); fi

stage_checks() { beside checks tests/checks.sh; }
# The tests are off after `make build`, which shares the folder.
stage_release()
{
    build release --preset release -DSSM2D_WERROR=ON -DSSM2D_TESTS=ON \
        && run release "release${LONG:+-long}"
}
stage_python() {
    case $unbuilt in
    *' release '*) omit python "the release build, whose library it tests, has failed" ;;
    *) beside python python/run-tests.sh build/release ;;
    esac
}
stage_js() {
    needs js emcc node || return 0
    case $unbuilt in
    *' release '*) omit js "the release build, whose tool it compares with, has failed" ;;
    *) beside js js/run-tests.sh build/release ;;
    esac
}
stage_clang() { needs clang clang && both clang; }
stage_packages() {
    build release --preset release -DSSM2D_TOOL=ON -DSSM2D_TESTS=OFF \
        && beside packages tests/package/packages.sh
}
stage_dev() { build dev --preset dev && run dev dev; }
stage_tsan() { both tsan "${plain_addresses[@]}"; }
stage_musl() { needs musl musl-gcc && both musl; }
stage_gcc11() { needs gcc11 gcc-11 && build gcc11 --preset gcc11 && run gcc11 gcc11; }

stage_asan() {
    build asan --preset asan -DSSM2D_EMULATE_AVX512="$([ -n "$LONG" ] && echo ON || echo OFF)" \
        && run asan "asan${LONG:+-long}"
}

stage_aarch64() {
    if [ "$(uname -m)" = aarch64 ]; then
        omit aarch64 "this machine is AArch64, so that the other stages test it"
        return
    fi
    local qemu=qemu-aarch64-static
    if command -v qemu-aarch64 > /dev/null; then qemu=qemu-aarch64; fi
    needs aarch64 aarch64-linux-gnu-gcc $qemu && both aarch64
}

stage_fuzz() {
    needs fuzz clang \
        && build fuzz --preset fuzz -DSSM2D_FUZZ_SECONDS="$FUZZ_SECONDS" \
            -DSSM2D_FUZZ_SEED="$fuzz_seed" && run fuzz fuzz
}

# The first build must not search for packages. abi.sh needs debug information.
stage_library() {
    local options=(-S . -B build/library -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-g
        -DSSM2D_WERROR=ON -DSSM2D_TOOL=OFF)
    build library "${options[@]}" -DSSM2D_MODEL=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON \
        || return
    passed=$((passed + 1))
    build library "${options[@]}" -DSSM2D_MODEL=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=OFF \
        && beside abi tests/package/abi.sh build/library
}

if [ $# = 0 ]; then
    set -- $stages
    [ -z "$LONG" ] || set -- "$@" js gcc11 packages
fi
for stage; do
    if ! declare -F "stage_$stage" > /dev/null; then
        echo "run-all.sh: there is no stage '$stage'; use one of $stages $more" >&2
        exit 2
    fi
done
for stage; do
    begin=$SECONDS
    "stage_$stage"
    seconds+=("$stage $((SECONDS - begin))")
done
for stage in "${!started[@]}"; do collect "$stage"; done

say "done in $SECONDS seconds: $(printf '%s, ' "${seconds[@]}" | sed 's/, $//')"
if [ ${#skips[@]} != 0 ]; then printf '%s\n' "${skips[@]}"; fi
if [ $skipped != 0 ]; then echo "$skipped skipped"; fi
if [ ${#failures[@]} != 0 ]; then printf 'FAILED %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
