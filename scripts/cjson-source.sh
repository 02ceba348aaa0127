#!/bin/sh
# cjson-source.sh DIR - downloads Debian's source of cJSON and writes DIR/cjson/cJSON.c and cJSON.h,
# for targets that Debian has no compiled cJSON for. Changes nothing outside DIR, not even the lists
# of apt, and does nothing if DIR has the files. If the environment has CJSON_SOURCE=FOLDER, takes
# the two files from there.
set -eu

[ $# = 1 ] || { echo "usage: cjson-source.sh DIR" >&2; exit 2; }
[ ! -s "$1/cjson/cJSON.c" ] || exit 0
mkdir -p "$1/cjson"
to=$(cd "$1/cjson" && pwd)

give_up() {
    echo "cjson-source.sh: $*; set CJSON_SOURCE to a folder with cJSON.c and cJSON.h" >&2
    exit 1
}

# The header first: the other file says that both are there.
take() { cp "$1/cJSON.h" "$to/" && cp "$1/cJSON.c" "$to/cJSON.c.part" \
    && mv "$to/cJSON.c.part" "$to/cJSON.c"; }

if [ -n "${CJSON_SOURCE:-}" ]; then
    take "$CJSON_SOURCE" || give_up "$CJSON_SOURCE has no cJSON.c and cJSON.h"
    exit 0
fi
command -v apt-get > /dev/null || give_up "this is not a Debian system"
command -v dpkg-source > /dev/null || give_up "dpkg-source is missing (package dpkg-dev)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/lists" "$work/cache" "$work/parts" "$work/source"
# Mirrors of Debian's binary packages have the sources as well.
key=/usr/share/keyrings/debian-archive-keyring.gpg
apt-get indextargets 'Created-By: Packages' 'Component: main' 'Origin: Debian' \
    --format "deb-src [signed-by=$key] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    | sort -u > "$work/sources.list"
[ -s "$work/sources.list" ] || give_up "apt has no lists of packages: run apt-get update"
private() {
    apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/parts" \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o APT::Sandbox::User=root "$@" < /dev/null
}
if ! { private update && cd "$work/source" && private source cjson; } > "$work/log" 2>&1; then
    tail -n 5 "$work/log" >&2
    give_up "Debian's source of cJSON could not be downloaded"
fi
take "$work"/source/cjson-*/ || give_up "the package cjson has no cJSON.c and cJSON.h"
