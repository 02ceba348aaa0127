#!/usr/bin/env bash
# failing_io.sh TOOL MAKE_SMALL_DATA LIBRARY [EVERY] - one call after another that writes to the
# disk fails (each EVERY-th: 7, or 1 with LONG=1 in the environment), while a run begins, is
# resumed, and is drawn. The tool must say so in one line with exit code 1, leave no temporary
# files, and lose nothing: what was there before is whole, and the run then ends with the weights
# that it would have had. A failure that the tool knows a way around may go without a word.
set -euo pipefail
tool=$1 make_data=$2 library=$3 every=${4:-$([ -n "${LONG:-}" ] && echo 1 || echo 7)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
settings=(--batch 8 --epochs 1 --save-every 1 --log-every 1 --set dim=16 --set depth=1
    --set heads=2 --set mixer.d_state=3)
errors=("FAIL_WITH=28" "FAIL_WITH=5" "FAIL_WITH=28 FAIL_SHORT=1") # ENOSPC, EIO, half a write
files='(train|config|data)\.json|(last|model|best)\.safetensors|metrics\.jsonl|curves\.svg'
failures=0 coped=0

give_up() {
    echo "failing_io.sh: $*"
    exit 1
}

# attempt NAME K ERROR WORD..: runs the tool; the K-th call fails. Sets code, and checks what was
# printed.
attempt() {
    local name=$1 k=$2 error=$3
    shift 3
    rm -f mark
    code=0
    env $error FAIL_AT="$k" FAIL_MARK="$work/mark" LD_PRELOAD="$library" "$tool" "$@" \
        > out 2> err || code=$?
    if [ $code != 0 ]; then
        [ $code = 1 ] || give_up "$name, call $k, $error: exit code $code: $(cat err)"
        [ "$(wc -l < err)" = 1 ] || give_up "$name, call $k, $error: not one line: $(cat err)"
        grep -q "^ssm2d $name: " err || give_up "$name, call $k, $error: $(cat err)"
        failures=$((failures + 1))
    elif [ -e mark ]; then
        coped=$((coped + 1))
    fi
}

# Nothing may be there but files of a run; all of them when the run has ended.
check_folder() {
    local found
    found=$(ls -A "$1" | grep -vxE "$files" || true)
    [ -z "$found" ] || give_up "$2: left $found"
}

same() { cmp -s "$1" "$2" || give_up "$3: $1 and $2 differ"; }

mkdir data
"$make_data" data 16 8
"$tool" train --data data --out whole "${settings[@]}" > /dev/null
cp -r whole longer
"$tool" train --resume longer --epochs 2 > /dev/null
"$tool" kernels whole -o whole.svg

for temporary in 1 0; do
    export SSM2D_TMPFILE=$temporary
    for error in "${errors[@]}"; do
        for ((k = 1;; k += every)); do # a run that begins
            rm -rf run
            attempt train $k "$error" train --data data --out run "${settings[@]}"
            if [ -d run ]; then check_folder run "train, call $k, $error"; fi
            if [ $code != 0 ]; then
                if [ -e run/train.json ]; then
                    "$tool" train --resume run > /dev/null || give_up "train, call $k, $error"
                else
                    "$tool" train --data data --out run "${settings[@]}" > /dev/null \
                        || give_up "train, call $k, $error: cannot begin again"
                fi
            fi
            same whole/model.safetensors run/model.safetensors "train, call $k, $error"
            check_folder run "train, call $k, $error"
            [ -e mark ] || break
        done
        for ((k = 1;; k += every)); do # one that is resumed
            rm -rf run
            cp -r whole run
            attempt train $k "$error" train --resume run --epochs 2
            check_folder run "resume, call $k, $error"
            "$tool" train --resume run --epochs 2 > /dev/null || give_up "resume, call $k, $error"
            same longer/model.safetensors run/model.safetensors "resume, call $k, $error"
            same longer/best.safetensors run/best.safetensors "resume, call $k, $error"
            [ -e mark ] || break
        done
        for ((k = 1;; k += every)); do # pictures
            rm -rf pictures
            mkdir pictures
            echo precious > pictures/k.svg
            attempt kernels $k "$error" kernels whole -o pictures/k.svg
            [ "$(ls -A pictures)" = k.svg ] || give_up "kernels, call $k: left $(ls -A pictures)"
            if [ $code = 0 ]; then
                same whole.svg pictures/k.svg "kernels, call $k, $error"
            elif [ "$(cat pictures/k.svg)" != precious ]; then # only its folder was not synced
                same whole.svg pictures/k.svg "kernels, call $k, $error"
            fi
            [ -e mark ] || break
        done
    done
done
[ $failures -gt 0 ] || give_up "no call failed"
echo "failing_io.sh: $failures failures said, $coped coped with"
