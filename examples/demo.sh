#!/bin/sh
# demo.sh BUILD_DIR OUT_DIR - trains a small vision transformer with the 2-D SSM on real images, and
# shows what the tool does.
set -eu
build=$1 out=$2
ssm2d=$build/tools/ssm2d
mkdir -p "$out"

say() { printf '\n%s\n' "$*"; }

say "1. Training vit-mini with the 2-D SSM on the 60,000 images of Fashion-MNIST; takes minutes."
"$ssm2d" train --data fashion-mnist --model vit-mini --mixer ssm2d --epochs 4 \
    --out "$out/run" --overwrite

say "2. The kernels that it learned."
"$ssm2d" kernels "$out/run" -o "$out/kernels.png"

say "3. Some test images, classified; the names of the files tell the true class."
"$build/examples/save_images" fashion-mnist "$out/images" 6 > "$out/images.txt"
xargs "$ssm2d" predict "$out/run" < "$out/images.txt"

say "4. The paper's Figure 3: kernels of the same parameters before and after the relaxation."
"$ssm2d" kernels --figure3 --seed 1 -o "$out/figure3.png"

say "5. A picture, drawn by a program, and filtered by a layer row by row while it is read."
"$build/examples/make_picture" "$out/picture.png"
"$ssm2d" filter "$out/picture.png" -o "$out/filtered.png"

say "Done. Look at:"
for file in run/curves.svg kernels.png figure3.png picture.png filtered.png; do
    printf '   %s/%s\n' "$out" "$file"
done
