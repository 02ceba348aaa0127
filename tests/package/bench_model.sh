#!/bin/sh
# bench_model.sh SSM2D - the parts train, infer, linear and conv of `ssm2d bench` measure small
# cases and print the documented values; no time is checked.
set -eu
ssm2d=$1
small="--quick --model vit-mini --image 8 --batch 2 --threads 2 --set depth=2 --set dim=16"
keys="model mixer batch threads images_per_s step_ms plain_step_ms ratio_to_plain sgemm_share
    peak_rss_mb ops"

check() { # part, options..: all keys are there, with values, and the operators in `wanted`
    json=$("$ssm2d" bench "$@")
    echo "$json"
    for key in $keys; do
        echo "$json" | grep -q "\"$key\":[^n]" || {
            echo "bench $*: the key $key is missing or null"
            exit 1
        }
    done
    for op in $wanted; do
        echo "$json" | grep -q "{\"op\":\"$op\",\"nodes\":[1-9]" || {
            echo "bench $*: the operator $op is missing"
            exit 1
        }
    done
}
without() { # the operator is not in the last result
    if echo "$json" | grep -q "\"$1\""; then echo "unexpected operator $1"; exit 1; fi
}
wanted="linear window_attention layer_norm gelu cross_entropy mix adamw"
check train $small --json --directions 2 --n-ssm 1 --d-state 3 --complex
echo "$json" | grep -q '"model":"vit-mini","mixer":"ssm2d","batch":2,"threads":2,'
wanted="linear window_attention layer_norm gelu cross_entropy adamw"
check train $small --json --mixer none
echo "$json" | grep -q '"mixer":"none".*"ratio_to_plain":1,'
without mix
wanted="linear window_attention layer_norm gelu mix"
check infer $small --json
without adamw
# Without --batch: a batch and a single image.
check infer --quick --json --model vit-mini --image 8 --set depth=1 --set dim=16
echo "$json" | grep -q '"batch":128,'
echo "$json" | grep -q '"single":{"batch":1,'

"$ssm2d" bench train $small | grep -q '^linear .*%.*%$'
"$ssm2d" bench infer $small | grep -q '^mix '

usage() { # wrong usage must end with exit code 2; prints the message
    code=0
    line=$("$ssm2d" bench "$@" 2>&1) || code=$?
    [ "$code" = 2 ] || { echo "bench $* ended with $code, not 2" >&2; exit 1; }
    echo "$line"
}
usage train --model vot | grep -q 'vit-mini'
usage train --mixer none --directions 2 | grep -q 'directions'
usage train --set depht=2 | grep -q 'did you mean "depth"'
usage train --set depth | grep -q 'key=value'
usage infer --rows 3 | grep -q 'unknown option --rows'
usage --json | grep -q 'layer, conv, linear, train, infer'
"$ssm2d" bench --help | grep -q '  infer '

# The products of Linear layers: a given shape, and those of a model.
json=$("$ssm2d" bench linear --quick --json --rows 70 --out 33 --in 17)
for key in rows out in y_gflops dx_gflops dw_gflops onednn_y_gflops onednn_dx_gflops \
    onednn_dw_gflops peak_gflops share onednn_share; do
    echo "$json" | grep -q "\"$key\":[0-9]" || { echo "bench linear: no $key"; exit 1; }
done
"$ssm2d" bench linear --quick --model vit-mini --batch 1 | grep -q '^65 x 288 x 96 .* vit-mini$'
usage linear --rows 3 | grep -q 'needs all of --rows, --out and --in'
usage linear --rows 3 --out 3 --in 3 --batch 2 | grep -q 'leave out --model'

# The depthwise convolution beside oneDNN's.
json=$("$ssm2d" bench conv --quick --json --threads 2)
for key in batch channels forward_ms onednn_forward_ms forward_ratio input_gradient_ratio \
    train_ratio; do
    echo "$json" | grep -q "\"$key\":[0-9]" || { echo "bench conv: no $key"; exit 1; }
done
echo "$json" | grep -q '"model":"convnext-small"'
usage conv --algo fast | grep -q 'direct'
