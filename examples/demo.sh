#!/bin/sh
# demo.sh BUILD_DIR OUT_DIR - what the tool does, in three pictures.
set -eu
build=$1 out=$2
ssm2d=$build/tools/ssm2d
mkdir -p "$out"

say() { printf '\n%s\n' "$*"; }

say "1. The kernels of the paper's Figure 2: the same parameters before and after the relaxation."
"$ssm2d" kernels --figure2 --seed 1 -o "$out/figure2.png"

say "2. A picture, drawn by a program, as none comes along."
"$build/examples/make_picture" "$out/picture.png"

say "3. The picture through a 2-D SSM layer, row by row as it is read."
"$ssm2d" filter "$out/picture.png" -o "$out/filtered.png"

say "Done. Look at:"
for file in figure2 picture filtered; do printf '   %s/%s.png\n' "$out" "$file"; done
