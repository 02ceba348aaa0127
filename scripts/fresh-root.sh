#!/bin/sh
# fresh-root.sh SUITE COMMAND.. - runs COMMAND in a clone of the last commit, in a minimal Debian
# of that SUITE (bookworm, trixie, ..) made by debootstrap. Needs root. For example:
#
#   scripts/fresh-root.sh trixie make test PYTHON=1
#
# The root contains only Debian's minimal system, ca-certificates, git and make, so that a package
# that scripts/install-deps.sh does not name is noticed. It is kept in FRESH_ROOT (default:
# ssm2d-root-SUITE in TMPDIR) and reused, with the packages that COMMAND has installed; remove the
# folder to start again. The clone, /root/ssm2d inside, is new each time.
#
# FRESH_DISCARD=1 starts from the minimal system and throws away what COMMAND changes; what earlier
# calls without it have installed is still there, so give it a FRESH_ROOT of its own. The folder
# FRESH_SHARE is visible as /mnt, for reading only.
#
# The mirror is that of this system's apt; apt's download settings, proxy variables and local
# certificates are copied. Mounts are in a separate namespace, and disappear with its last process.
set -eu

fail() {
    printf 'fresh-root.sh: %s\n' "$*" >&2
    exit 1
}

[ $# -ge 2 ] || fail "usage: scripts/fresh-root.sh SUITE COMMAND.."
suite=$1
shift
case $suite in
*[!a-z]* | '') fail "SUITE is '$suite'; it must be the name of a Debian release, such as trixie" ;;
esac
[ "$(id -u)" = 0 ] || fail "debootstrap and chroot need root: run this as root"
command -v debootstrap > /dev/null \
    || fail "debootstrap is not installed: apt-get install debootstrap"
project=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
root=${FRESH_ROOT:-${TMPDIR:-/tmp}/ssm2d-root-$suite}

# uri_of SUITE: where apt gets this system's SUITE from, in either format of sources
uri_of() {
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' \
        | awk -v suite="$1" '$1 == suite { print $2; exit }'
}

# make_root FOLDER: a bare root with the mirrors and the network settings of this system
make_root() {
    codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
    mirror=$(uri_of "$codename")
    [ -n "$mirror" ] || fail "apt has no source for '$codename', so that no mirror is known"
    security=$(uri_of "$codename-security")
    debootstrap --variant=minbase --include=ca-certificates,git,make "$suite" "$1" "$mirror"
    {
        echo "deb $mirror $suite main"
        [ "$suite" = sid ] || echo "deb $mirror $suite-updates main"
        [ "$suite" = sid ] || [ -z "$security" ] || echo "deb $security $suite-security main"
    } > "$1/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::' | grep -v '^Acquire::IndexTargets' \
        > "$1/etc/apt/apt.conf.d/90host"
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    if [ -d /usr/local/share/ca-certificates ]; then
        cp -r /usr/local/share/ca-certificates/. "$1/usr/local/share/ca-certificates/"
        env -u TMPDIR chroot "$1" update-ca-certificates > /dev/null
    fi
}

# Has another name until it is complete, so that an interrupted one is not used.
if [ ! -e "$root/etc/debian_version" ]; then
    [ ! -e "$root" ] || fail "$root is there and is not a Debian root: remove it or set FRESH_ROOT"
    mkdir -p "$(dirname "$root")"
    unfinished=$(mktemp -d "$root.XXXXXX")
    trap 'rm -rf "$unfinished"' EXIT
    trap 'exit 1' HUP INT TERM
    make_root "$unfinished" > "$root.log" 2>&1 || fail "making the root failed: see $root.log"
    chmod 755 "$unfinished"
    mv "$unfinished" "$root"
    trap - EXIT HUP INT TERM
fi

changes=
if [ -n "${FRESH_DISCARD:-}" ]; then
    changes=$(mktemp -d "$root-changes.XXXXXX")
    trap 'rm -rf "$changes"' EXIT
    trap 'exit 1' HUP INT TERM
    mkdir "$changes/upper" "$changes/work" "$changes/root"
fi
share=
[ -z "${FRESH_SHARE:-}" ] || share=$(cd "$FRESH_SHARE" && pwd)

proxies=$(env | grep -iE '^(https?|ftp|all|no)_proxy=' || true)
export root proxies changes share project
unshare --mount --propagation private sh -c '
    set -eu
    if [ -n "$changes" ]; then
        layers="lowerdir=$root,upperdir=$changes/upper,workdir=$changes/work"
        root=$changes/root
        mount -t overlay -o "$layers" overlay "$root"
    fi
    rm -rf "$root/root/ssm2d"
    git clone --quiet "$project" "$root/root/ssm2d"
    [ -z "$share" ] || mount --bind -o ro "$share" "$root/mnt"
    mount -t proc proc "$root/proc"
    mount --bind /sys "$root/sys"
    mount --bind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    [ ! -d /dev/pts ] || mount --bind /dev/pts "$root/dev/pts"
    IFS="
"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LANG=C.UTF-8 TERM="${TERM:-dumb}" $proxies \
        chroot "$root" sh -c "cd /root/ssm2d && exec \"\$@\"" fresh-root "$@"
' fresh-root "$@"
