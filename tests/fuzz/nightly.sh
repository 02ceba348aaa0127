#!/usr/bin/env bash
# nightly.sh [TARGET..] - runs fuzz targets, all by default, for SECONDS_EACH seconds each (600),
# JOBS at a time (all processors), and prints a table. Fails if one of them failed.
#
# The corpus is kept in CORPUS (build/fuzz/tests/fuzz/corpus), so that each night continues from the
# last. A failing input is left in build/fuzz/tests/fuzz/failed: once fixed, move it to
# tests/fuzz/found/TARGET, where the tests of every build replay it.
set -uo pipefail
cd "$(dirname "$0")/../.."

seconds=${SECONDS_EACH:-600} jobs=${JOBS:-$(nproc)}
build=build/fuzz/tests/fuzz log=build/fuzz.log
corpus=${CORPUS:-$build/corpus} logs=$build/logs
mkdir -p build
if ! cmake --preset fuzz > $log 2>&1 \
    || ! cmake --build --preset fuzz --target fuzz_all >> $log 2>&1; then
    tail -n 40 $log
    echo "nightly.sh: the build failed (see $log)" >&2
    exit 2
fi
[ $# != 0 ] || set -- $(sed -n 's/^TARGET(\([a-z0-9_]*\)).*/\1/p' tests/fuzz/targets.def)
mkdir -p "$logs" "$build/failed" "$corpus"
"$build/fuzz_seeds" "$corpus" || exit 2
export LSAN_OPTIONS=suppressions=$PWD/tests/tool/leaks.supp:print_suppressions=0

entries() { find "$corpus/$1" -type f | wc -l; }

row() { printf '%-12s %12s %10s %12s %10s\n' "$@"; }

# run TARGET: its log, and a line of the table in TARGET.row
run() {
    local name=$1 before runs coverage failures=0 folders=("$corpus/$1") log="$logs/$1.log"
    [ ! -d "tests/fuzz/found/$name" ] || folders+=("tests/fuzz/found/$name")
    before=$(entries "$name")
    "$build/fuzz_$name" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=20 \
        -print_final_stats=1 -artifact_prefix="$build/failed/$name-" "${folders[@]}" \
        > "$log" 2>&1 || failures=1
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(sed -n 's/^#[0-9]*.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    row "$name" "${runs:-?}" "${coverage:-?}" $(($(entries "$name") - before)) $failures \
        > "$logs/$name.row"
}

for name; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run "$name" &
done
wait

bad=()
row target runs coverage 'new entries' failures
for name; do
    cat "$logs/$name.row"
    [ "$(awk '{print $5}' "$logs/$name.row")" = 0 ] || bad+=("$name")
done
for name in "${bad[@]}"; do
    grep -E 'not so:|ERROR:|runtime error:|SUMMARY:|Test unit written' "$logs/$name.log" \
        | sed "s/^/$name: /"
done
[ ${#bad[@]} = 0 ]
