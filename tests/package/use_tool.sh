#!/bin/sh
# use_tool.sh SSM2D DATA - trains for some steps on the first images of Fashion-MNIST, whose files
# are in DATA, evaluates, draws, predicts and exports with the tool; stops at the first thing that
# fails. For clean systems: it needs nothing but sh, coreutils, grep and gzip.
set -eu
ssm2d=$1 data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# fails with the output of a command that fails or complains
quietly() {
    "$@" > out 2> complaints || { cat out complaints; echo "failed: $*"; exit 1; }
    if grep -iE 'warning|error|cannot' complaints; then
        echo "complaints: $*"
        exit 1
    fi
}

# first PART: 640 images of a part, as idx files whose headers say so
first() {
    images=$data/$1-images-idx3-ubyte.gz labels=$data/$1-labels-idx1-ubyte.gz
    {
        printf '\0\0\010\003\0\0\002\200\0\0\0\034\0\0\0\034'
        gzip -dc "$images" 2> /dev/null | head -c $((16 + 640 * 784)) | tail -c +17
    } > "data/$1-images-idx3-ubyte"
    {
        printf '\0\0\010\001\0\0\002\200'
        gzip -dc "$labels" | head -c $((8 + 640)) | tail -c +9
    } > "data/$1-labels-idx1-ubyte"
}

mkdir data
first train
first t10k
quietly "$ssm2d" version
grep -E '^reads PNG, JPEG, BMP, WebP, TIFF, GIF, HEIC/AVIF' out
"$ssm2d" help | grep -q predict
quietly "$ssm2d" train --data idx:data --model vit-mini --mixer ssm2d \
    --epochs 1 --batch 32 --set dim=24 --set depth=1 --set heads=2 --threads 2 \
    --out run
[ -s run/model.safetensors ]
quietly "$ssm2d" eval run
quietly "$ssm2d" kernels run -o kernels.png
[ "$(head -c 4 kernels.png | tail -c 3)" = PNG ]
quietly "$ssm2d" kernels run -o kernels.svg
# with a font, text is shapes of glyphs
grep -q 'id="glyph' kernels.svg
quietly "$ssm2d" predict run kernels.png
grep -E '%' out | head -n 1
quietly "$ssm2d" export run -o model.onnx
[ -s model.onnx ]
# several threads give the same bits
quietly "$ssm2d" predict run kernels.png --threads 1
cp out first
quietly "$ssm2d" predict run kernels.png --threads 2
cmp out first
echo "used: $("$ssm2d" version | head -n 1)"
