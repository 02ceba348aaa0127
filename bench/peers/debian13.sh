#!/bin/sh
# debian13.sh ROOT - makes the folder ROOT a Debian 13 with the peers that the programs here time:
# PyTorch 2.6 with what torch.compile needs, ONNX Runtime 1.21, openblas and jemalloc. Needs root
# and debootstrap, and 4 GB; can be repeated after an interruption. For example:
#
#   bench/peers/debian13.sh ~/debian13
#   bench/peers/torch_vit.py --root ~/debian13 --tool build/release/tools/ssm2d
set -eu
[ $# = 1 ] || {
    echo 'usage: bench/peers/debian13.sh ROOT' >&2
    exit 1
}
mkdir -p "$(dirname "$1")"
root=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
FRESH_ROOT=$root exec "$(dirname "$0")/../../scripts/fresh-root.sh" trixie sh -c '
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3-torch python3-onnxruntime python3-onnx \
        python3-numpy python3-dev python3-setuptools g++ libopenblas0-openmp libjemalloc2
    apt-get clean
    python3 -c "
import onnxruntime, torch
print(\"PyTorch\", torch.__version__, \"and ONNX Runtime\", onnxruntime.__version__)"'
