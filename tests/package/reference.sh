#!/bin/sh
# reference.sh SOURCE_DIR - examples/reference.c has at most 300 lines and compiles without warnings
# as C99 with gcc, clang and tcc and as C++ with g++; it learns its task, with the same curve from
# every compiler. Compilers that are not installed are skipped with a message.
set -eu
source=$1/examples/reference.c

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$(wc -l < "$source")" -le 300 ] || { echo "$source has more than 300 lines"; exit 1; }

# try NAME COMPILER OPTION..: leaves what the program prints in NAME.out
try() {
    name=$1
    shift
    if ! command -v "$1" > /dev/null; then
        echo "SKIPPED: examples/reference.c with $1, which is not installed"
        return
    fi
    "$@" -O2 -Wall -Wextra -Wshadow -Werror "$source" -o "$work/$name" -lm
    "$work/$name" > "$work/$name.out"
    tail -n 1 "$work/$name.out"
}
strict="-std=c99 -pedantic -ffp-contract=off"
try gcc gcc $strict
right=$(tail -n 1 "$work/gcc.out" | cut -d. -f1)
[ "$right" -ge 95 ] || { echo "less than 95 % of the images are right"; exit 1; }

# Smaller sizes, as not every compiler makes fast programs.
sizes="-DSIZES=L1=5,L2=4,H=3,N=2,S=1"
try small gcc $strict "$sizes"
try clang clang $strict "$sizes"
try tcc tcc -std=c99 "$sizes"
try cpp g++ -x c++ -std=c++11 -pedantic -ffp-contract=off "$sizes"
for other in clang tcc cpp; do
    [ ! -e "$work/$other.out" ] || cmp "$work/small.out" "$work/$other.out"
done
