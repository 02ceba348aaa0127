#!/bin/sh
# symbols.sh NM LIBSSM2D.SO LIBSSM2D.A - no library defines a symbol for others to see that does not
# begin with ssm2d_.
set -eu
nm=$1 shared=$2 static=$3
bad=0

# check FILE SYMBOLS: three columns of nm each, the third is the name
check() {
    ours=$(printf '%s\n' "$2" | awk 'NF == 3 && $3 ~ /^ssm2d_/' | wc -l)
    others=$(printf '%s\n' "$2" | awk 'NF == 3 && $3 !~ /^ssm2d_/ { print "  " $3 }')
    echo "$1: $ours symbols of ssm2d_"
    if [ -n "$others" ]; then
        echo "$1 defines symbols that do not begin with ssm2d_:"
        echo "$others"
        bad=1
    fi
    if ! printf '%s\n' "$2" | awk '{ print $3 }' | grep -qx ssm2d_forward; then
        echo "$1 does not define ssm2d_forward"
        bad=1
    fi
}

check "$shared" "$("$nm" -D --defined-only "$shared")"
check "$static" "$("$nm" -g --defined-only "$static")"
exit $bad
