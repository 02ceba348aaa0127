#!/bin/sh
# build.sh - builds the JavaScript package: build/js/package, and with npm
# build/js/ssm2d-VERSION.tgz. Needs emscripten and node; cJSON's source is downloaded
# (scripts/cjson-source.sh).
set -eu
cd "$(dirname "$0")/.."
out=build/js
# where Debian has the modules of JavaScript that emscripten uses; other builds of node do not look
export NODE_PATH="${NODE_PATH:-/usr/share/nodejs}"

mkdir -p $out
scripts/cjson-source.sh $out/source
{ cmake --preset js && cmake --build --preset js; } > $out/build.log 2>&1 || {
    tail -n 40 $out/build.log
    exit 1
}
rm -rf $out/package $out/*.tgz
mkdir $out/package
# One file of JavaScript serves both modules, as only the name of the module differs, which
# js/ssm2d.js gives.
for module in simd baseline; do
    cp $out/wasm/js/ssm2d_$module.wasm $out/package/ssm2d-$module.wasm
    sed "s/ssm2d_$module\.wasm/ssm2d.wasm/g" $out/wasm/js/ssm2d_$module.mjs > $out/$module.js
done
cmp $out/simd.js $out/baseline.js
mv $out/simd.js $out/package/runtime.js
rm $out/baseline.js
cp js/ssm2d.js js/ssm2d.d.ts js/package.json js/README.md LICENSE $out/package/
if command -v npm > /dev/null; then
    (cd $out && npm pack --silent --offline ./package)
else
    echo "npm is not installed: $out/package was not packed"
fi
