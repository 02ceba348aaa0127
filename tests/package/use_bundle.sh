#!/bin/sh
# use_bundle.sh SHARE - uses the bundle SHARE/*.tar.gz with the files of Fashion-MNIST in
# SHARE/data, as root in a clean system: from a folder whose name has spaces and that cannot be
# written to, through symbolic links, from other folders, as a user without rights, and with nothing
# but the bundle's own files.
set -eu
share=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$here/use_tool.sh" "$work" # nobody cannot read the folder of this script
mkdir "$work/a folder"
tar -xzf "$share"/ssm2d-*.tar.gz -C "$work/a folder"
top=$(echo "$work/a folder"/ssm2d-*)
find "$top" > "$work/before"

# unprivileged COMMAND..: as nobody, whose home cannot be written to
unprivileged() {
    env HOME=/nonexistent setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

echo "== as nobody, from a read-only folder with a space in its name"
chmod -R a-w "$top"
unprivileged sh "$work/use_tool.sh" "$top/bin/ssm2d" "$share/data"

echo "== through symbolic links, from other folders"
ln -s "$top/bin/ssm2d" "$work/link"
ln -s link "$work/ssm2d"
ln -s "a folder" "$work/folder"
cd /
"$work/ssm2d" version | head -n 1
PATH=$work:$PATH ssm2d version | head -n 1
"$work/folder/${top##*/}/bin/ssm2d" version | head -n 1
cd "$top/bin"
./ssm2d version | head -n 1
cd ..
bin/ssm2d version | head -n 1
# the name in messages is the tool's, not the loader's
if bin/ssm2d no-such-command 2> "$work/message"; then exit 1; fi
grep -q "ssm2d: " "$work/message"
if grep -q ld-linux "$work/message"; then cat "$work/message"; exit 1; fi

echo "== with an environment that would break it"
LD_LIBRARY_PATH=/nonexistent "$top/bin/ssm2d" version | head -n 1

echo "== with nothing of the system"
mkdir "$work/empty" "$work/empty/tmp"
cp -r "$top" "$work/empty/ssm2d"
loader=$(cd "$top/lib" && echo ld-linux-*)
chroot "$work/empty" "/ssm2d/lib/$loader" --inhibit-cache --library-path /ssm2d/lib \
    /ssm2d/lib/ssm2d version
FONTCONFIG_FILE=/ssm2d/share/fonts/fonts.conf chroot "$work/empty" "/ssm2d/lib/$loader" \
    --inhibit-cache --library-path /ssm2d/lib /ssm2d/lib/ssm2d theory paths \
    -o /tmp/paths.png > /dev/null
[ -s "$work/empty/tmp/paths.png" ]

echo "== licences"
licences=$top/share/doc/licences
for package in libdnnl libcairo libc6 fonts-dejavu; do
    grep -q "^- $package" "$licences/README.md"
done
sed -n 's/^- \([^:]*\):.*/\1/p' "$licences/README.md" | while read -r package; do
    [ -s "$licences/$package" ] || { echo "no licence of $package"; exit 1; }
done
grep -q Apache "$licences"/libdnnl*
find "$top" | cmp - "$work/before" # nothing was written into it
echo "the bundle works on Debian $(cat /etc/debian_version)"
