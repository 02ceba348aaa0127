#!/bin/sh
# consumer.sh CMAKE BUILD_DIR EXAMPLE_DIR CC SANITIZERS
# Installs the build into a temporary prefix, builds the example program there with pkg-config, with
# find_package, shared and static, as C and as C++, and runs each; and checks which versions
# find_package accepts.
set -eu
cmake=$1 build=$2 example=$3 cc=$4 sanitize=$5
case $cc in
*clang*) cxx=$(echo "$cc" | sed 's/clang\([^/]*\)$/clang++\1/') ;;
*) cxx=g++ ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
"$cmake" --install "$build" --prefix "$prefix" > "$work/install.log"

pc=$(find "$prefix" -name ssm2d.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
export CC="$cc" CFLAGS="-O1 -Wall -Wextra -Werror ${sanitize:+-fsanitize=$sanitize}" LDFLAGS=

# Until 1.0 minor versions are incompatible.
version=$(pkg-config --modversion ssm2d)
major=$(echo "$version" | cut -d. -f1) minor=$(echo "$version" | cut -d. -f2)
if [ "$major" = 0 ]; then soversion=0.$minor; else soversion=$major; fi

# run NAME PROGRAM shared|static: the example checks its own results
run() {
    echo "== $1"
    "$2" > "$work/out"
    cat "$work/out"
    grep -qx 'checks passed' "$work/out"
    grep -q "^ssm2d $version," "$work/out"
    if [ "$3" = shared ]; then readelf -d "$2" | grep -q "NEEDED.*\[libssm2d\.so\.$soversion\]"; fi
    if [ "$3" = static ] && readelf -d "$2" | grep -q 'NEEDED.*libssm2d'; then
        echo "$1 is linked with the shared library"
        exit 1
    fi
}

cp -r "$example" "$work/make"
make -s -C "$work/make"
run "pkg-config, shared" "$work/make/embed" shared
run "pkg-config, static" "$work/make/embed-static" static

"$cmake" -S "$example" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log"
"$cmake" --build "$work/cmake" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
run "find_package, shared" "$work/cmake/embed" shared
run "find_package, static" "$work/cmake/embed-static" static

"$cxx" -x c++ -std=c++11 $CFLAGS $(pkg-config --cflags ssm2d) "$example/main.c" \
    -o "$work/embed-c++" $(pkg-config --libs ssm2d)
run "C++, shared" "$work/embed-c++" shared

# find_package accepts only requests for the same minor version.
echo "== versions"
mkdir "$work/asks"
for asked in $major.$minor:yes $major.$((minor + 1)):no $major.$((minor - 1)):no \
    $((major + 1)).0:no; do
    cmake_asks="cmake_minimum_required(VERSION 3.20)
project(asks LANGUAGES C)
find_package(ssm2d ${asked%:*} QUIET CONFIG NO_DEFAULT_PATH PATHS \"$prefix\")
message(STATUS \"found=\${ssm2d_FOUND}=\")"
    echo "$cmake_asks" > "$work/asks/CMakeLists.txt"
    found=no
    if "$cmake" -S "$work/asks" -B "$work/asks/build" | grep -q 'found=1='; then found=yes; fi
    echo "find_package(ssm2d ${asked%:*}): $found"
    [ "$found" = "${asked#*:}" ]
done

# The header by itself, in the strictest C and C++.
echo '#include <ssm2d.h>' > "$work/header.c"
strict="-Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags ssm2d)"
"$cc" -std=c99 $strict -c "$work/header.c" -o "$work/header.o"
"$cxx" -x c++ -std=c++98 -Wno-long-long $strict -c "$work/header.c" -o "$work/header.o"

# installed FILE..: below share
installed() {
    for file; do
        [ -s "$prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
    done
}
doc=doc/ssm2d
installed $doc/LICENSE $doc/README.md $doc/CHANGELOG.md $doc/CITATION.cff $doc/docs/layer.md
# With a sanitizer the build does not run the tool, and so has neither man pages nor completions.
if [ -x "$prefix/bin/ssm2d" ] && [ -z "$sanitize" ]; then
    installed man/man1/ssm2d.1 man/man1/ssm2d-train.1 man/man1/ssm2d-bench-layer.1 \
        bash-completion/completions/ssm2d zsh/site-functions/_ssm2d \
        fish/vendor_completions.d/ssm2d.fish
fi

if [ -x "$prefix/bin/ssm2d" ]; then
    echo "== the installed tool"
    "$prefix/bin/ssm2d" --version
    for card in "$prefix"/share/ssm2d/models/*.md; do # the models are found beside the program
        "$prefix/bin/ssm2d" zoo "$(basename "$card" .md)" | cmp - "$card"
    done
fi
