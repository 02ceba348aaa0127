#!/usr/bin/env bash
# limited_memory.sh TOOL MAKE_SMALL_DATA [STEP] - training and a bench under limits of the address
# space (ulimit -v), from the least with which the tool starts to one with which every command
# succeeds, in steps of STEP kilobytes (2500, or 100 with LONG=1 in the environment). Libraries run
# out of memory as well: oneDNN, which compiles code, OpenMP, and those that read images and draw.
# The tool must end with the result that it has without a limit, or with one line and exit code 1;
# a run that failed can then be resumed, or begun again, and ends with the same weights.
set -euo pipefail
tool=$1 make_data=$2 step=${3:-$([ -n "${LONG:-}" ] && echo 100 || echo 2500)}
tests=$(cd "$(dirname "$0")/.." && pwd)
. "$tests/campaign/campaign.sh"
ulimit -c 0

enough=8 # limits in a row with which a command succeeds: then it has what it needs

# limited KILOBYTES WORD..: runs the tool; sets code and where, and checks what was printed
limited() {
    local limit=$1
    shift
    where="$*, ulimit -v $limit${SSM2D_CPU:+, SSM2D_CPU=$SSM2D_CPU}"
    code=0
    # exec: a shell would print what ended the tool
    (ulimit -v "$limit" && exec "$tool" "$@") > out 2> err || code=$?
    # a benchmark warns when its times vary, which depends on what else the machine does
    sed -i '/^ssm2d bench: this machine is busy/d' err
    case $code in
    0) [ ! -s err ] || give_up "$where: succeeded, and printed $(cat err)" ;;
    1)
        [ "$(wc -l < err)" = 1 ] || give_up "$where: not one line: $(cat err)"
        grep -qE "^ssm2d( [a-z]+)*: ." err || give_up "$where: $(cat err)"
        failures=$((failures + 1))
        ;;
    *) give_up "$where: exit code $code: $(cat err)" ;;
    esac
}

# The smallest limit with which the tool starts; below it the dynamic loader prints an error.
find_start() {
    start=30000
    until (ulimit -v $start && exec "$tool" version) > /dev/null 2>&1; do
        start=$((start + 500))
        [ $start -lt 4000000 ] || give_up "the tool does not start under any limit"
    done
    start=$((start + 500)) # a heap, too
}

# climb FUNCTION WORD..: calls FUNCTION LIMIT WORD.. for one limit after another
climb() {
    local limit good=0 tried=0
    for ((limit = start; good < enough; limit += step)); do
        "$1" $limit "${@:2}"
        tried=$((tried + 1))
        if [ $code = 0 ]; then good=$((good + 1)); else good=0; fi
    done
    echo "$2${SSM2D_CPU:+, SSM2D_CPU=$SSM2D_CPU}: $tried limits from $start to $((limit - step)) KB"
}

train() {
    rm -rf run
    limited "$1" train --data data --out run "${run_settings[@]}"
    if [ $code != 0 ]; then
        if [ -e run/train.json ]; then
            "$tool" train --resume run --threads 2 > /dev/null || give_up "$where: cannot resume"
        else
            "$tool" train --data data --out run "${run_settings[@]}" > /dev/null \
                || give_up "$where: cannot begin again"
        fi
    fi
    same whole/model.safetensors run/model.safetensors
}

mkdir data
"$make_data" data 64 16
find_start
# Which products oneDNN computes depends on the instruction set. The second model has matrices that
# oneDNN copies, so that it needs memory in every step.
run_settings=(--batch 8 --epochs 1 --threads 2 --workers 1 --set dim=16 --set depth=1 --set heads=2)
for cpu in baseline avx2 avx512; do
    export SSM2D_CPU=$cpu
    "$tool" version > /dev/null 2>&1 || continue # this processor does not have it
    "$tool" bench layer --quick --rows 4 --cols 4 --channels 4 > /dev/null 2>&1 || continue
    rm -rf whole
    "$tool" train --data data --out whole "${run_settings[@]}" > /dev/null
    climb train "train a small model"
done
unset SSM2D_CPU
run_settings=(--batch 64 --epochs 2 --threads 2 --workers 1 --set dim=192 --set depth=2
    --set heads=2)
rm -rf whole
"$tool" train --data data --out whole "${run_settings[@]}" > /dev/null
climb train "train a larger model"
bench() { limited "$1" bench train --quick --model vit-mini --batch 2 --set dim=16 --set depth=1 \
    --set heads=2 --threads 2; }
climb bench "bench train"
finish
