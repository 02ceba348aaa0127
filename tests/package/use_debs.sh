#!/bin/sh
# use_debs.sh SHARE - installs the packages SHARE/*.deb in a clean Debian, as root, and uses them:
# the tool on Fashion-MNIST, a C program with pkg-config and with CMake, the Python package.
set -eu
share=$1
here=$(cd "$(dirname "$0")" && pwd)
export DEBIAN_FRONTEND=noninteractive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install() {
    apt-get install -y -qq --no-install-recommends "$@" > "$work/log" 2>&1 || {
        tail -n 30 "$work/log"
        exit 1
    }
}

apt-get update -qq
echo "== what the tool needs is installed with it"
install "$share"/ssm2d_*.deb
install dataset-fashion-mnist
ssm2d version | head -n 1
sh "$here/use_tool.sh" ssm2d /usr/share/datasets/fashion-mnist
for file in man/man1/ssm2d-train.1.gz bash-completion/completions/ssm2d \
    zsh/vendor-completions/_ssm2d fish/vendor_completions.d/ssm2d.fish; do
    # minimal systems may leave out man pages
    [ -s "/usr/share/$file" ] || [ "${file#man}" != "$file" ] || { echo "no $file"; exit 1; }
done

echo "== Python"
install "$share"/libssm2d0*.deb "$share"/python3-ssm2d_*.deb
cd "$work"
python3 - << END
import importlib.metadata
import numpy as np
import ssm2d
assert ssm2d.__version__ == importlib.metadata.version("ssm2d")
assert "dist-packages" in ssm2d.__file__
layer = ssm2d.Layer("ssm2d", channels=4)
y = layer.forward(np.ones((1, 3, 5, 4), "f"), layer.init_params(seed=1))
assert y.shape == (1, 3, 5, 4) and np.isfinite(y).all()
print("python3-ssm2d", ssm2d.__version__)
END

echo "== programs"
install "$share"/libssm2d*.deb gcc libc6-dev make pkg-config cmake
cp -r /usr/share/doc/libssm2d-dev/examples/embed "$work/embed"
make -s -C "$work/embed"
"$work/embed/embed" | grep -x 'checks passed'
"$work/embed/embed-static" | grep -x 'checks passed'
readelf -d "$work/embed/embed" | grep -o 'libssm2d\.so\.[0-9.]*'
cmake -S "$work/embed" -B "$work/cmake" > "$work/log"
cmake --build "$work/cmake" > "$work/log"
"$work/cmake/embed" | grep -x 'checks passed'
cc /usr/share/doc/libssm2d-dev/examples/classify.c -o "$work/classify" \
    $(pkg-config --cflags --libs ssm2d-model)

echo "== removal leaves nothing"
apt-get purge -y -qq ssm2d python3-ssm2d 'libssm2d*' > "$work/log" 2>&1
if find /usr -name '*ssm2d*' | grep .; then
    echo "files were left"
    exit 1
fi
echo "the packages work on Debian $(cat /etc/debian_version)"
