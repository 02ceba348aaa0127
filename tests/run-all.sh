#!/usr/bin/env bash
# run-all.sh [--long] [STAGE..] - builds in every way and runs every test; the last line is
# `N passed, N failed`.
#
#   checks    the rules of the source tree: columns, format, includes, names (tests/checks.sh)
#   release   gcc, the release build, all tests but the campaign of failing memory, which asan has
#   python    the Python package, with the library of the release build
#   library   the library alone, for which a C compiler has to suffice
#   clang     clang builds everything; the tests of layer, graph and models
#   asan      address and undefined-behaviour sanitizers, all tests
#   tsan      thread sanitizer, the tests labelled `threads`
#   aarch64   cross build of library, graph and operators; their tests under qemu
#   musl      the same with musl, natively; and a program that is linked statically
#   fuzz      the fuzz targets, FUZZ_SECONDS each
#   gcc11     the oldest compiler that is meant to work (only with --long)
#   dev       the developers' build, all tests (not among the default stages)
#
# Warnings are errors in every build. A build that fails counts as one failed test; each leaves its
# log in build/STAGE.log. What a stage needs is installed by `scripts/install-deps.sh STAGE`; where
# that is not there, the stage says so and is skipped.
#
# --long (or LONG=1): every test of a stage, repeated for every instruction set (AVX-512 emulated
# under asan), the campaigns of tests/campaign in full, and fuzzing for FUZZ_SECONDS=120 rather
# than 5.
set -uo pipefail
cd "$(dirname "$0")/.."

export LONG=${LONG:-}
if [ "${1:-}" = --long ]; then
    LONG=1
    shift
fi
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
FUZZ_SECONDS=${FUZZ_SECONDS:-$([ -n "$LONG" ] && echo 120 || echo 5)}
stages="checks release python library clang asan tsan aarch64 musl fuzz"
more="gcc11 dev"
# Runs sync their files to the disk, which is most of the time of many tests: files of tests are in
# memory where there is enough of it, but on the disk with --long, or where TMPDIR says.
kilobytes=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1)
if [ -z "$LONG${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "${kilobytes:-0}" -ge 2000000 ]; then
    TMPDIR=$(mktemp -d /dev/shm/ssm2d-tests-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi
passed=0 failed=0 skipped=0 failures=() skips=() seconds=()

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*"; }

fault() {
    failed=$((failed + 1))
    failures+=("$1")
    say "FAILED: $1"
}

# omit STAGE WHY: the whole stage cannot be run here
omit() {
    skipped=$((skipped + 1))
    skips+=("$1: SKIPPED: $2")
    say "$1: SKIPPED: $2"
}

# needs STAGE COMMAND..: whether the commands are there; else says so
needs() {
    local stage=$1 command
    shift
    for command; do
        command -v "$command" > /dev/null && continue
        omit "$stage" "$command is not installed (scripts/install-deps.sh $stage installs it)"
        return 1
    done
}

# build STAGE CONFIGURE_ARGUMENT..: builds what the preset of that name builds, or else everything
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
    return 1
}

# attribute FILE NAME: a number from the first testsuite element of ctest's report
attribute() {
    tr '\n' ' ' < "$1" | sed -n "s/.*<testsuite [^>]*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p"
}

# run STAGE PRESET [BEFORE..]: ctest with the preset; BEFORE are words to put before the command
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

# counted STAGE COMMAND..: a script whose last line is `STAGE: N tests, N passed, N failed, N
# skipped`, or says why there is nothing to run
counted() {
    local stage=$1 log=build/$1.log code=0 counts line n='\([0-9]*\)'
    shift
    mkdir -p build
    say "$stage: testing"
    "$@" > "$log" 2>&1 < /dev/null || code=$?
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

# The thread sanitizer of gcc 12 does not know the address layout of newer kernels, unless it is
# not randomised.
plain_addresses=()
if setarch -R true 2> /dev/null; then plain_addresses=(setarch -R); fi

stage_checks() { counted checks tests/checks.sh; }
# The tests are off after `make build`, which shares the folder.
stage_release()
{
    build release --preset release -DSSM2D_WERROR=ON -DSSM2D_TESTS=ON \
        && run release "release${LONG:+-long}"
}
stage_python() { counted python python/run-tests.sh build/release; }
stage_clang() { needs clang clang && both clang; }
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
        omit aarch64 "this machine is one, so that the other stages test it"
        return
    fi
    local qemu=qemu-aarch64-static
    if command -v qemu-aarch64 > /dev/null; then qemu=qemu-aarch64; fi
    needs aarch64 aarch64-linux-gnu-gcc $qemu && both aarch64
}

stage_fuzz() {
    needs fuzz clang \
        && build fuzz --preset fuzz -DSSM2D_FUZZ_SECONDS="$FUZZ_SECONDS" && run fuzz fuzz
}

# No package may be looked for, let alone be needed.
stage_library() {
    build library -S . -B build/library -G Ninja -DCMAKE_BUILD_TYPE=Release -DSSM2D_WERROR=ON \
        -DSSM2D_TOOL=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON && passed=$((passed + 1))
}

if [ $# = 0 ]; then
    set -- $stages
    [ -z "$LONG" ] || set -- "$@" gcc11
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

say "done in $SECONDS seconds: $(printf '%s, ' "${seconds[@]}" | sed 's/, $//')"
if [ ${#skips[@]} != 0 ]; then printf '%s\n' "${skips[@]}"; fi
if [ $skipped != 0 ]; then echo "$skipped skipped"; fi
if [ ${#failures[@]} != 0 ]; then printf 'FAILED %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
