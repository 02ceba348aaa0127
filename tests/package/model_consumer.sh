#!/bin/sh
# model_consumer.sh CMAKE BUILD_DIR SOURCE_DIR CC SANITIZERS
# Installs the build into a temporary prefix and builds examples/classify.c there, with pkg-config
# and with the component `model` of find_package, shared and static, as C and as C++; each prints
# the same for a picture. A program that uses both libraries links both, shared or static, in any
# order.
set -eu
cmake=$1 build=$2 source=$3 cc=$4 sanitize=$5
case $cc in
*clang*) cxx=$(echo "$cc" | sed 's/clang\([^/]*\)$/clang++\1/') ;;
*) cxx=g++ ;;
esac
run=$source/tests/golden-runs/0.1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
"$cmake" --install "$build" --prefix "$prefix" > "$work/install.log"
libdir=$(dirname "$(dirname "$(find "$prefix" -name ssm2d-model.pc)")")
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
export CC="$cc" CFLAGS="-O1 -Wall -Wextra -Werror ${sanitize:+-fsanitize=$sanitize}"
printf 'P6\n3 2\n255\n\001\377\020\200\100\050abcdef\001\002\003\004\005\006' > "$work/a.ppm"

# classify NAME PROGRAM: the same lines from all
classify() {
    echo "== $1"
    "$2" "$run" "$work/a.ppm" > "$work/out"
    [ "$(wc -l < "$work/out")" = 4 ] # classes of that run
    [ -e "$work/first" ] || cp "$work/out" "$work/first"
    cmp "$work/out" "$work/first"
}

# libraries PROGRAM: our shared libraries that it needs
libraries() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(libssm2d[^.]*\).*/\1/p' | tr '\n' ' '; }

shared=$(pkg-config --cflags --libs ssm2d-model)
static=$(pkg-config --static --cflags --libs ssm2d-model \
    | sed 's/-lssm2d_model/-l:libssm2d_model.a/')
"$cc" $CFLAGS "$source/examples/classify.c" -o "$work/shared" $shared
classify "pkg-config, shared" "$work/shared"
[ "$(libraries "$work/shared")" = "libssm2d_model " ]
"$cc" $CFLAGS "$source/examples/classify.c" -o "$work/static" $static
classify "pkg-config, static" "$work/static"
[ "$(libraries "$work/static")" = "" ]

mkdir "$work/app"
cp "$source/examples/classify.c" "$work/app"
cat > "$work/app/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES C)
find_package(ssm2d 0.3 REQUIRED COMPONENTS model)
add_executable(shared classify.c)
target_link_libraries(shared PRIVATE ssm2d::ssm2d_model)
add_executable(static classify.c)
target_link_libraries(static PRIVATE ssm2d::ssm2d_model_static)
END
"$cmake" -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log"
"$cmake" --build "$work/app/build" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
classify "find_package, shared" "$work/app/build/shared"
classify "find_package, static" "$work/app/build/static"

# An unknown component is refused.
sed -i 's/COMPONENTS model/COMPONENTS models/' "$work/app/CMakeLists.txt"
if "$cmake" -S "$work/app" -B "$work/none" -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log" 2>&1
then
    echo "find_package accepted an unknown component"
    exit 1
fi

# Both libraries in one program: one computes the layer, the other stores its parameters.
cat > "$work/both.c" << 'END'
#include <ssm2d_model.h>

#include <stdio.h>
#include <string.h>

int main(int count, char **words)
{
    static float params[20000], again[20000];
    ssm2d_error error = {""};
    ssm2d_layer *layer = NULL;
    ssm2d_context *context = NULL;
    ssm2d_model *model = NULL;
    if (count != 3 || ssm2d_context_create(NULL, &context, &error)
        || ssm2d_layer_create(context, "ssm2d", "channels=24", &layer, &error)
        || ssm2d_layer_param_count(layer) > 20000
        || ssm2d_params_init(layer, 1, params, &error)
        || ssm2d_params_save(words[1], NULL, layer, params, &error)
        || ssm2d_params_load(words[1], NULL, layer, again, &error)
        || ssm2d_model_open(words[2], NULL, &model, &error)
        || memcmp(params, again, sizeof params) || strcmp(ssm2d_version(), ssm2d_model_version())) {
        puts(error.line);
        return 1;
    }
    ssm2d_model_close(model);
    ssm2d_layer_destroy(layer);
    ssm2d_context_destroy(context);
    return 0;
}
END
both=$(pkg-config --cflags --libs ssm2d ssm2d-model)
swapped=$(pkg-config --cflags --libs ssm2d-model ssm2d)
joined=$(pkg-config --static --cflags --libs ssm2d ssm2d-model \
    | sed 's/-lssm2d_model/-l:libssm2d_model.a/; s/-lssm2d /-l:libssm2d.a /')
joined_swapped=$(pkg-config --static --cflags --libs ssm2d-model ssm2d \
    | sed 's/-lssm2d_model/-l:libssm2d_model.a/; s/-lssm2d /-l:libssm2d.a /')
for flags in "$both" "$swapped" "$joined" "$joined_swapped"; do
    echo "== both: $flags"
    "$cc" $CFLAGS "$work/both.c" -o "$work/both" $flags
    "$work/both" "$work/p.safetensors" "$run"
done
[ "$(libraries "$work/both")" = "" ]
"$cxx" -x c++ -std=c++11 $CFLAGS "$work/both.c" -o "$work/both-c++" $both
"$work/both-c++" "$work/p.safetensors" "$run"

# The header by itself, in the strictest C and C++.
echo '#include <ssm2d_model.h>' > "$work/header.c"
strict="-Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags ssm2d-model)"
"$cc" -std=c99 $strict -c "$work/header.c" -o "$work/header.o"
sed -i '1i #define SSM2D_EXPERIMENTAL' "$work/header.c"
"$cc" -std=c99 $strict -c "$work/header.c" -o "$work/header.o"
"$cxx" -x c++ -std=c++98 -Wno-long-long $strict -c "$work/header.c" -o "$work/header.o"
