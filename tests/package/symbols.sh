#!/bin/sh
# symbols.sh NM SHARED STATIC NAMES ONE - neither library exports a symbol that does not match
# NAMES, an extended regular expression; ONE is a symbol that both export.
set -eu
nm=$1 shared=$2 static=$3 names=$4 one=$5
bad=0

# check FILE SYMBOLS: three columns of nm each, the third is the name
check() {
    defined=$(printf '%s\n' "$2" | awk 'NF == 3 { print $3 }')
    echo "$1: $(printf '%s\n' "$defined" | grep -cE "$names" || true) symbols of $names"
    others=$(printf '%s\n' "$defined" | grep -vE "$names" || true)
    if [ -n "$others" ]; then
        echo "$1 defines symbols that do not match $names:"
        echo "$others"
        bad=1
    fi
    if ! printf '%s\n' "$defined" | grep -qx "$one"; then
        echo "$1 does not define $one"
        bad=1
    fi
}

check "$shared" "$("$nm" -D --defined-only "$shared")"
check "$static" "$("$nm" -g --defined-only "$static")"
exit $bad
