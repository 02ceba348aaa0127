#!/bin/sh
# deb.sh [OUTPUT] - builds Debian packages of this tree (packaging/debian) into OUTPUT, by default
# build/deb: the tool, the libraries, their headers, the Python package, and the source package.
#
# The version is that of CMakeLists.txt, and names of packages contain that of the shared libraries,
# so control, changelog and names of files are made here from templates. EMAIL and DEBFULLNAME
# name who builds the packages; SUITE and REVISION are those of the changelog. DEB_BUILD_OPTIONS is
# passed on.
set -eu
cd "$(dirname "$0")/.."
output=${1:-build/deb}
version=$(sed -n 's/^project(ssm2d VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
soversion=$(echo "$version" | awk -F. '{ print $1 == 0 ? $1 "." $2 : $1 }')
revision=${REVISION:-1}
maintainer="${DEBFULLNAME:-ssm2d authors} <${EMAIL:-ssm2d@example.org}>"

fail() {
    printf 'deb.sh: %s\n' "$*" >&2
    exit 1
}

for command in dpkg-buildpackage dh dh_python3; do
    command -v $command > /dev/null \
        || fail "$command is not installed: scripts/install-deps.sh deb installs what is needed"
done
mkdir -p "$output"
output=$(cd "$output" && pwd)
# Always the same folder, so that ccache finds what an earlier call has compiled.
work=$output/work
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# The sources: the files that git knows, or in a tree without git all but what is built.
name=ssm2d-$version source=$work/ssm2d-$version
mkdir "$source"
if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard > "$work/files"
else
    find . \( -name build -o -name demo -o -name runs -o -name __pycache__ \) -prune \
        -o \( -type f -o -type l \) -print0 > "$work/files"
fi
tar --create --null --files-from="$work/files" --ignore-failed-read | tar -x -C "$source"
date=$(git log -1 --format=%cd --date=rfc 2> /dev/null || date -R -r CHANGELOG.md)
tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime="$date" \
    --file="$work/ssm2d_$version.orig.tar.gz" -C "$work" "$name"

cp -r packaging/debian "$source/debian"
fill() { sed "s/@SOVERSION@/$soversion/g; s/@MAINTAINER@/$maintainer/g"; }
for file in "$source"/debian/*@SOVERSION@*; do
    mv "$file" "$(echo "$file" | fill)"
done
fill < packaging/debian/control.in > "$source/debian/control"
# Lines of LICENSE become a field: indented, and with a full stop where they are empty.
sed '1,4d; s/^$/./; s/^/ /' LICENSE > "$work/license"
fill < packaging/debian/copyright.in | sed "/@LICENSE@/{r $work/license
d}" > "$source/debian/copyright"
rm "$source"/debian/*.in
cat > "$source/debian/changelog" << END
ssm2d ($version-$revision) ${SUITE:-unstable}; urgency=medium

  * Version $version; /usr/share/doc/ssm2d/CHANGELOG.md says what has changed.

 -- $maintainer  $date
END

cd "$source"
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-parallel=$(nproc) noautodbgsym} \
    dpkg-buildpackage --unsigned-source --unsigned-changes > "$work/log" 2>&1 || {
    tail -n 60 "$work/log" >&2
    cp "$work/log" "$output/build.log"
    fail "the build failed: $output/build.log"
}
cp "$work/log" "$output/build.log"
cd "$work"
rm -f "$output"/*ssm2d*_*
cp ./*.deb ./*.dsc ./*.tar.* ./*.changes ./*.buildinfo "$output"
ls "$output"/*.deb
