#!/bin/sh
# bench.sh SSM2D - `ssm2d bench` measures a small case with every algorithm and prints the
# documented values; no time is checked.
set -eu
ssm2d=$1
json=$("$ssm2d" bench layer --json --quick --rows 4 --cols 5 --channels 12 --batch 2 --algo all \
    --threads 2)
echo "$json"
for key in threads isa cases batch rows cols channels algo forward_ms train_ms linear_forward_ms \
    linear_train_ms kernel_ms memcpy_ms forward_ratio train_ratio; do
    echo "$json" | grep -q "\"$key\":" || { echo "the key $key is missing"; exit 1; }
done
for kind in s4nd ema; do
    echo "$json" | grep -q "\"$kind\":{\"algo\":\"[a-z]*\",\"forward_ms\":[0-9]" || {
        echo "no times of $kind"
        exit 1
    }
done
# Every algorithm of the tool, which lists them when an unknown one is requested.
refusal=$("$ssm2d" bench layer --algo none 2>&1) && {
    echo "bench layer --algo none was accepted"
    exit 1
}
algorithms=$(echo "$refusal" | sed -n 's/.*use one of //p' | sed 's/,//g; s/auto//; s/all//')
[ -n "$algorithms" ] || { echo "no list of algorithms in: $refusal"; exit 1; }
for algo in direct fft scan $algorithms; do
    echo "$json" | grep -q "\"algo\":\"$algo\",\"forward_ms\":[0-9]" || {
        echo "no times of $algo"
        exit 1
    }
done
# In double there is no Linear, and so no ratio.
"$ssm2d" bench layer --json --quick --rows 3 --cols 3 --channels 4 --precision double \
    | grep -q '"forward_ratio":null'
"$ssm2d" bench layer --quick --rows 3 --cols 3 --channels 4 --complex --directions 4 \
    | grep -q '1 x 3x3 x 4.* s4nd *direct .* ema '

# usage WORD ARGUMENT..: wrong usage must end with exit code 2 and a line that contains WORD
usage() {
    word=$1 code=0
    shift
    line=$("$ssm2d" bench "$@" 2>&1) || code=$?
    [ "$code" = 2 ] || { echo "bench $* ended with $code, not 2"; exit 1; }
    echo "$line" | grep -q -- "$word" || { echo "bench $*: no $word in: $line"; exit 1; }
}
usage --channels layer --rows 4
usage directions=3 layer --directions 3
usage layer nothing
