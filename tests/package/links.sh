#!/bin/sh
# links.sh CMAKE BUILD_DIR SOURCE_DIR TOOL
# Every link of a document to one of our files works: in this tree, where it is installed, and in
# the site that `make site` writes, where anchors are checked as well.
set -eu
cmake=$1 build=$2 source=$3 tool=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.log"
installed=$(dirname "$(find "$work/prefix" -name CITATION.cff)")

count=0
for tree in "$source" "$installed"; do
    cd "$tree"
    for document in *.md docs/*.md; do
        # The part of a link before #; external addresses have a colon.
        for link in $(grep -oE '\]\([^) ]+' "$document" | sed '/:/d; s/^..//; s/#.*//'); do
            count=$((count + 1))
            [ -e "$(dirname "$document")/$link" ] && continue
            echo "$tree/$document: there is no $link"
            touch "$work/bad"
        done
    done
done
echo "$count links"
[ $count -ge 100 ] || { echo "too few links: does this test still find them?"; exit 1; }
[ ! -e "$work/bad" ]

if command -v pandoc > /dev/null && command -v python3 > /dev/null; then
    python3 "$source/scripts/site/make_site.py" "$tool" "$work/site"
    python3 "$source/tests/package/site_links.py" "$work/site"
else
    echo "SKIPPED: links of the site: pandoc is not installed (scripts/install-deps.sh site)"
fi
