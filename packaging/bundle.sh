#!/bin/bash
# bundle.sh BUILD OUTPUT - writes OUTPUT/ssm2d-VERSION-linux-ARCH.tar.gz: the tool of the build
# folder BUILD with every library that it needs, man pages, completions and documents. It runs from
# any folder of any Linux of this architecture, and nothing has to be installed.
#
# The libraries are those of this system, the C library and its loader included: an older C library
# on the other system does not matter, and no library of that system is mixed with ours. (Building
# in an old system instead would mean its old oneDNN and image libraries.) The loader is told where
# the libraries are by packaging/launcher.sh, because an executable can only name its loader by an
# absolute path.
#
# MPI is not in it: its libraries have to be those of the system's mpirun.
set -euo pipefail
[ $# = 2 ] || { echo "usage: $0 BUILD OUTPUT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$1
mkdir -p "$2"
output=$(cd "$2" && pwd)

fail() {
    printf 'bundle.sh: %s\n' "$*" >&2
    exit 1
}

[ -x "$build/tools/ssm2d" ] || fail "$build/tools/ssm2d does not exist; build it first (make build)"
command -v dpkg-query > /dev/null \
    || fail "the licences of the libraries are collected from Debian's packages: use Debian"
font=/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
[ -f $font ] || fail "$font is missing: scripts/install-deps.sh bundle installs it"
version=$(sed -n 's/^project(ssm2d VERSION \([0-9.]*\).*/\1/p' "$here/../CMakeLists.txt")
"$build/tools/ssm2d" version | grep -qx "ssm2d $version" || fail "$build is not of version $version"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=ssm2d-$version-linux-$(uname -m)
top=$work/$name
mkdir -p "$top/bin" "$top/lib/heif" "$top/share/fonts"
cmake --install "$build" --prefix "$work/installed" --strip > "$work/log" \
    || fail "cmake --install $build: $(tail -n 3 "$work/log")"
cp "$work/installed/bin/ssm2d" "$top/lib/ssm2d"
cp -r "$work/installed/share/." "$top/share"
cp "$here/../LICENSE" "$top"

# add_libraries FILE: what the loader would load for it, unless it is there already
sources=()
add_libraries() {
    local line path
    while read -r line; do
        case $line in
        *'not found'*) fail "$1: $line" ;;
        *' => /'*) path=${line#* => } ;;
        /*) path=$line ;;
        *) continue ;; # the kernel's own
        esac
        path=${path%% (0x*}
        [ ! -e "$top/lib/${path##*/}" ] || continue
        cp -L "$path" "$top/lib/"
        sources+=("$path")
    done < <(ldd "$1")
}

add_libraries "$top/lib/ssm2d"
# libheif loads the decoders of newer versions as plugins.
for plugin in /usr/lib/"$(gcc -print-multiarch)"/libheif/plugins/*.so; do
    [ -e "$plugin" ] || continue
    cp -L "$plugin" "$top/lib/heif/"
    sources+=("$plugin")
    add_libraries "$plugin"
done
loader=$(ldd "$top/lib/ssm2d" | sed -n 's|^[[:space:]]*/[^ ]*/\(ld-linux[^ ]*\).*|\1|p')
[ -x "$top/lib/$loader" ] || fail "the dynamic loader was not found"
sed "s/@LOADER@/$loader/" "$here/launcher.sh" > "$top/bin/ssm2d"
chmod 755 "$top/bin/ssm2d"
cp "$font" "$here/fonts.conf" "$top/share/fonts/"
sources+=("$font")

# Licences: those of the Debian packages that the files are from.
licences=$top/share/doc/licences
mkdir -p "$licences"
for path in "${sources[@]}"; do
    # Packages name files in /lib or in /usr/lib, which are one folder now.
    real=$(readlink -f "$path")
    owners=$(dpkg-query -S "$path" "$real" "${path#/usr}" "${real#/usr}" "/usr$path" \
        2> /dev/null || true)
    [ -n "$owners" ] || fail "no package has $path"
    echo "${owners%%:*}"
done | sort -u > "$work/packages"
{
    echo "# What this bundle contains"
    echo
    echo "ssm2d is under the MIT licence (LICENSE). The files in lib and share/fonts are unmodified"
    echo "files of Debian's packages below; each has its licence in this folder. Some are under the"
    echo "LGPL or GPL: they are shared libraries, which you may replace in lib; their sources are"
    echo "in Debian's archive under these names and versions (\`apt-get source NAME=VERSION\`)."
    echo
    while read -r package; do
        copyright=/usr/share/doc/$package/copyright
        [ -s "$copyright" ] || fail "$copyright is missing"
        cp -L "$copyright" "$licences/$package"
        dpkg-query -W -f '- ${Package}: source ${source:Package} ${source:Version}\n' "$package" \
            | head -n 1
    done < "$work/packages"
} > "$licences/README.md"
cp -rL /usr/share/common-licenses "$licences/common-licenses"

# Every library that is needed is in the bundle, and found there.
"$top/lib/$loader" --inhibit-cache --library-path "$top/lib" --list "$top/lib/ssm2d" \
    > "$work/listed"
if grep -vF -e "$top/lib/" -e linux-vdso "$work/listed"; then
    fail "these libraries are not in the bundle"
fi
date=$(git -C "$here" log -1 --format=@%ct 2> /dev/null || echo @0)
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,a+rX --mtime="$date" \
    -C "$work" "$name" | gzip --no-name > "$output/$name.tar.gz.part"
mv "$output/$name.tar.gz.part" "$output/$name.tar.gz"
ls -l "$output/$name.tar.gz"
