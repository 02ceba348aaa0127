#!/usr/bin/env bash
# run-all.sh [STAGE..] - builds in every way and runs every test; the last line is `N passed, N failed`.
#
#   release   the release build, all tests; gcc, warnings are errors
#   python    the Python package, with the library of the release build; says so where NumPy or torch are not installed
#   library   the library alone, for which a C compiler has to suffice; warnings are errors
#   asan      address and undefined-behaviour sanitizers, all tests; gcc, warnings are errors
#   tsan      thread sanitizer, the tests labelled `threads`
#   fuzz      clang, warnings are errors; the fuzz targets, FUZZ_SECONDS each
#   dev       the developers' build, all tests (not among the default stages)
# A build that fails counts as one failed test. Each build leaves its log in build/STAGE.log.
set -uo pipefail
cd "$(dirname "$0")/.."

export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
FUZZ_SECONDS=${FUZZ_SECONDS:-10}
passed=0 failed=0 skipped=0 failures=()

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*"; }

fault() {
    failed=$((failed + 1))
    failures+=("$1")
    say "FAILED: $1"
}

# build STAGE CONFIGURE_ARGUMENT..
build() {
    local stage=$1 log=build/$1.log
    shift
    mkdir -p build
    say "$stage: building"
    if cmake "$@" > "$log" 2>&1 && cmake --build "build/$stage" --parallel "$(nproc)" >> "$log" 2>&1; then return 0; fi
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Creating)' "$log" | tail -n 60
    fault "$stage: the build (see $log)"
    return 1
}

# attribute FILE NAME: a number from the first testsuite element of ctest's report
attribute() { tr '\n' ' ' < "$1" | sed -n "s/.*<testsuite [^>]*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p"; }

# run STAGE [BEFORE..]: ctest with the preset of that name; BEFORE are words to put before the command
run() {
    local stage=$1 report=$PWD/build/$1.xml code=0 tests bad idle
    shift
    say "$stage: testing"
    rm -f "$report"
    "$@" ctest --preset "$stage" --no-tests=error --output-junit "$report" < /dev/null || code=$?
    if [ ! -s "$report" ]; then
        fault "$stage: ctest gave no report (exit code $code)"
        return
    fi
    tests=$(attribute "$report" tests) bad=$(attribute "$report" failures)
    idle=$(($(attribute "$report" skipped) + $(attribute "$report" disabled)))
    passed=$((passed + tests - bad - idle))
    failed=$((failed + bad))
    skipped=$((skipped + idle))
    while read -r name; do failures+=("$stage: $name"); done < <(sed -n 's/.*<testcase name="\([^"]*\)".*status="fail".*/\1/p' "$report")
    if [ "$code" != 0 ] && [ "$bad" = 0 ]; then fault "$stage: ctest ended with exit code $code"; fi
}

# The thread sanitizer of gcc 12 does not know the address layout of newer kernels, unless it is not randomised.
plain_addresses=()
if setarch -R true 2> /dev/null; then plain_addresses=(setarch -R); fi

stage_release() { build release --preset release -DSSM2D_WERROR=ON -DSSM2D_TESTS=ON && run release; }
# Its last line is `python: N tests, N passed, N failed, N skipped`, or says why there is nothing to run.
stage_python()
{
    local log=build/python.log code=0 counts
    say "python: testing"
    python/run-tests.sh build/release > "$log" 2>&1 < /dev/null || code=$?
    counts=$(sed -n 's/^python: [0-9]* tests, \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
    grep '^python:' "$log"
    if [ -n "$counts" ]; then
        set -- $counts
        passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
        [ "$2" = 0 ] || failures+=("python: $2 tests (see $log)")
    fi
    if [ "$code" != 0 ]; then
        tail -n 40 "$log"
        [ -n "$counts" ] && [ "${2:-0}" != 0 ] || fault "python: run-tests.sh ended with exit code $code (see $log)"
    fi
}

stage_dev() { build dev --preset dev && run dev; }
stage_asan() { build asan --preset asan && run asan; }
stage_tsan() { build tsan --preset tsan && run tsan "${plain_addresses[@]}"; }
stage_fuzz() { build fuzz --preset fuzz -DSSM2D_FUZZ_SECONDS="$FUZZ_SECONDS" && run fuzz; }

# No package may be looked for, let alone be needed.
stage_library()
{
    build library -S . -B build/library -G Ninja -DCMAKE_BUILD_TYPE=Release -DSSM2D_WERROR=ON -DSSM2D_TOOL=OFF \
        -DSSM2D_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON && passed=$((passed + 1))
}

[ $# != 0 ] || set -- release python library asan tsan fuzz
for stage; do
    if ! declare -F "stage_$stage" > /dev/null; then
        echo "run-all.sh: there is no stage '$stage'; use release, python, library, asan, tsan, fuzz or dev" >&2
        exit 2
    fi
done
for stage; do "stage_$stage"; done

say "done in $SECONDS seconds"
if [ $skipped != 0 ]; then echo "$skipped skipped"; fi
if [ ${#failures[@]} != 0 ]; then printf 'FAILED %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
