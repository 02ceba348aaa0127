#!/bin/sh
# ssm2d - starts the tool of this folder with the libraries of this folder, wherever it is. It does
# so through the dynamic loader that is among them, so that the system's C library does not matter.
self=$(readlink -f -- "$0") || {
    echo "ssm2d: readlink cannot find out where '$0' is" >&2
    exit 1
}
top=${self%/bin/*}
# Text in pictures has the font that is in this folder.
export FONTCONFIG_FILE="${FONTCONFIG_FILE:-$top/share/fonts/fonts.conf}"
# Libraries load these files by their own version's interface: the system's do not fit.
export LIBHEIF_PLUGIN_PATH="$top/lib/heif" OCL_ICD_VENDORS="$top/lib/none"
exec "$top/lib/@LOADER@" --inhibit-cache --library-path "$top/lib" --argv0 ssm2d \
    "$top/lib/ssm2d" "$@"
