#!/usr/bin/env bash
# kill.sh TOOL MAKE_SMALL_DATA [N [SEED]] - N runs (10; with LONG=1 in the environment 100) of
# `ssm2d train`, each killed at random moments and resumed until it ends. Each must end with the
# weights of a run that was not killed, and leave nothing in its folder but the files of a run.
# Every other run does not use unnamed temporary files, as on systems without them.
set -euo pipefail
tool=$1 make_data=$2 rounds=${3:-$([ -n "${LONG:-}" ] && echo 100 || echo 10)}
RANDOM=${4:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files='best.safetensors config.json curves.svg data.json last.safetensors machines.json '
files+='metrics.jsonl model.safetensors train.json'
settings=(--batch 8 --epochs 4 --save-every 1 --log-every 1 --set dim=16 --set depth=2
    --set heads=2 --set mixer.d_state=3 --set drop_path=0.2 --set flip=true --ema 0.9)

mkdir "$work/data"
"$make_data" "$work/data" 40 12
begun=$(date +%s%N)
"$tool" train --data "$work/data" --out "$work/whole" "${settings[@]}" > /dev/null
whole=$((($(date +%s%N) - begun) / 1000000)) # milliseconds

kills=0
for ((round = 1; round <= rounds; round++)); do
    run=$work/run$round
    if ((round % 2)); then export SSM2D_TMPFILE=1; else export SSM2D_TMPFILE=0; fi
    for ((try = 1;; try++)); do
        if [ $try -gt 300 ]; then
            echo "kill.sh: round $round does not end"
            exit 1
        fi
        if [ -e "$run/train.json" ]; then
            words=(--resume "$run")
        else
            words=(--data "$work/data" --out "$run" "${settings[@]}")
        fi
        # more time after every kill, so that it ends on slow machines
        time=$((1 + RANDOM % (whole * 3 / 4 + try * whole / 20 + 1)))
        code=0
        "$tool" train "${words[@]}" > /dev/null 2> "$work/error" &
        process=$!
        sleep "$(printf '%d.%03d' $((time / 1000)) $((time % 1000)))"
        kill -KILL $process 2> /dev/null || true # it may have ended
        { wait $process || code=$?; } 2> /dev/null
        [ $code != 0 ] || break
        if [ $code != 137 ]; then
            echo "kill.sh: round $round, try $try: exit code $code: $(cat "$work/error")"
            exit 1
        fi
        kills=$((kills + 1))
    done
    for name in model best; do
        if ! cmp "$work/whole/$name.safetensors" "$run/$name.safetensors"; then
            echo "kill.sh: round $round: $name.safetensors differs"
            exit 1
        fi
    done
    found=$(cd "$run" && LC_ALL=C ls -A | tr '\n' ' ')
    if [ "$found" != "$files " ]; then
        echo "kill.sh: round $round left $found"
        exit 1
    fi
    rm -rf "$run"
done
echo "kill.sh: $rounds runs, $kills kills"
