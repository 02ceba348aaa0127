#!/bin/sh
# subproject.sh CMAKE SOURCE_DIR CC SANITIZERS
# Builds the example program in a project that contains ssm2d, by add_subdirectory (static library)
# and by FetchContent from a folder and from a git repository (shared library), and runs it. The
# project keeps its own settings, gets no installed file of ours, and only the library is built.
set -eu
cmake=$1 source=$2 cc=$3 sanitize=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CC="$cc" CFLAGS="${sanitize:+-fsanitize=$sanitize}"

# A copy with what the library needs, as a release's archive has it; it is a git repository as well.
mkdir "$work/ssm2d"
for name in CMakeLists.txt LICENSE cmake include src; do
    cp -r "$source/$name" "$work/ssm2d/"
done
(
    cd "$work/ssm2d"
    git init -q .
    git add .
    git -c user.name=test -c user.email=test@localhost commit -q -m "The library" --no-gpg-sign
    git tag v1
)

# project NAME LIBRARY LINES: a project whose program is linked with LIBRARY
project() {
    mkdir "$work/$1"
    cp "$source/examples/embed/main.c" "$work/$1/"
    cat > "$work/$1/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
set(CMAKE_INSTALL_PREFIX "$work/$1-prefix")
$3
if(NOT "\${CMAKE_C_FLAGS}" STREQUAL "$CFLAGS" OR CMAKE_C_STANDARD OR CMAKE_C_VISIBILITY_PRESET)
  message(FATAL_ERROR "ssm2d has changed the settings of the project")
endif()
if(TARGET ssm2d_tool OR TARGET ssm2d_model)
  message(FATAL_ERROR "more than the library of layers is built")
endif()
add_executable(user main.c)
target_link_libraries(user PRIVATE $2 m)
install(TARGETS user)
END
}

# configure NAME [ARGUMENT..]: fails with cmake's output
configure() {
    name=$1
    shift
    "$cmake" -S "$work/$name" -B "$work/$name/build" -DCMAKE_BUILD_TYPE=Debug "$@" \
        > "$work/log" 2>&1 || {
        cat "$work/log"
        echo "$name: cannot be configured"
        exit 1
    }
}

# use NAME: builds and runs the program, and installs the project, which is the program alone
use() {
    "$cmake" --build "$work/$1/build" --target user > "$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
    "$work/$1/build/user" | grep -x 'checks passed'
    "$cmake" --install "$work/$1/build" > "$work/log"
    files=$(cd "$work/$1-prefix" && find . -type f)
    [ "$files" = ./bin/user ] || { echo "$1: installed: $files"; exit 1; }
    echo "$1: built, run and installed"
}

project subdirectory ssm2d::ssm2d_static "add_subdirectory(\"$work/ssm2d\" ssm2d)"
configure subdirectory
use subdirectory

# The library has been built above: from here on it is enough that the project finds the targets
# and gets the same sources; LONG=1 builds the git version as well.
project folder ssm2d::ssm2d "include(FetchContent)
FetchContent_Declare(ssm2d SOURCE_DIR \"$work/ssm2d\")
FetchContent_MakeAvailable(ssm2d)"
configure folder
echo "folder: configured"

project git ssm2d::ssm2d "include(FetchContent)
FetchContent_Declare(ssm2d GIT_REPOSITORY \"file://$work/ssm2d\" GIT_TAG v1)
FetchContent_MakeAvailable(ssm2d)"
configure git
[ -f "$work/git/build/_deps/ssm2d-src/include/ssm2d.h" ] || { echo "git: not fetched"; exit 1; }
if [ -n "${LONG:-}" ]; then use git; else echo "git: configured"; fi

# One number in two places would go wrong at a release.
sed -i 's/^#define SSM2D_VERSION  .*/#define SSM2D_VERSION "9.9.9"/' "$work/ssm2d/include/ssm2d.h"
if "$cmake" -S "$work/ssm2d" -B "$work/other" -DSSM2D_TOOL=OFF > "$work/log" 2>&1; then
    echo "versions that differ were accepted"
    exit 1
fi
tr -s '[:space:]' ' ' < "$work/log" \
    | grep -o 'CMakeLists.txt has version [0-9.]*, but include/ssm2d.h has #define .*9.9.9"'
