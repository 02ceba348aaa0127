#!/usr/bin/env bash
# deploy.sh SOURCE_DIR BUILD_DIR - the part "From C" of docs/deploy.md as it is written: its lines
# that begin with `$` are run one after the other in an empty folder, beside a folder `ssm2d` with
# the sources, a run and a picture; its C files, which begin with a comment of their name, are there
# as well. Building the library takes minutes: without LONG=1 in the environment the lines that do
# so are left out, and the library that is installed is that of BUILD_DIR.
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$source" ssm2d
mkdir runs
cp -r "$source/tests/golden-runs/0.1" runs/demo
printf 'P6\n3 2\n255\n\001\377\020\200\100\050abcdef\001\002\003\004\005\006' > photo.ppm

sed -n '/^## From C$/,/^## ONNX$/p' "$source/docs/deploy.md" > page
awk '/^```c$/ { inside = 1; name = ""; next }
    /^```$/ { inside = 0 }
    inside { if (name == "") name = $2; print > name }' page
sed -n 's/^    \$ //p' page > commands
[ "$(wc -l < commands)" -ge 8 ] || { echo "docs/deploy.md: commands are missing"; exit 1; }
[ "$(ls ./*.c | wc -l)" -ge 1 ] || { echo "docs/deploy.md: programs are missing"; exit 1; }
cat commands
if [ -z "${LONG:-}" ]; then
    [ "$(grep -c '^cmake -S \|^cmake --build ' commands)" = 2 ]
    sed -i '/^cmake -S /d; /^cmake --build /d' commands
    ln -s "$build" build
fi
bash -eux commands > out 2> trace || { tail -n 40 trace out; exit 1; }
grep -q '%  [0-3]$' out || { echo "classify printed no classes"; exit 1; }
grep -q '^tokens 5, dim 16, grid 2 x 2$' out || { echo "features.c printed no shape"; exit 1; }
