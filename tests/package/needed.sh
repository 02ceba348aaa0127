#!/bin/sh
# needed.sh LIBSSM2D_MODEL.SO - the library of trained models needs no library that reads or draws
# images, neither directly nor indirectly.
set -eu
library=$1
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
echo "$needed"
echo "$needed" | grep -q '^libcjson\.'
ours='^(lib(cjson|c|m|mvec|pthread|asan|ubsan|tsan|gcc_s)|ld-linux.*)\.so'
if echo "$needed" | grep -vE "$ours"; then
    echo "the library needs more than $ours"
    exit 1
fi
if ldd "$library" \
    | grep -E 'lib(spng|png|jpeg|turbojpeg|tiff|webp|gif|heif|cairo|archive|ssm2d)'; then
    echo "the library needs one for images, or another library of this tree"
    exit 1
fi
