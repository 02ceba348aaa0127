#!/bin/sh
# Runs the tests of the Python package with the library of a build:
#   python/run-tests.sh build/release
# PYTHON3 selects the Python; SSM2D_SKIP_INSTALL=1 skips the test that builds and installs the
# package.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 BUILD_DIR" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
library=$(cd "$1" && pwd)/src/libssm2d.so
python=${PYTHON3:-/usr/bin/python3}
[ -f "$library" ] || { echo "$library: does not exist; build it first (make build)" >&2; exit 2; }
command -v "$python" >/dev/null || { echo "python: SKIPPED: $python is not installed"; exit 0; }
"$python" -c 'import numpy' 2> /dev/null || {
    echo "python: SKIPPED: python3-numpy is not installed (make test PYTHON=1 installs it)"
    exit 0
}
"$python" -c 'import torch' 2> /dev/null || \
    echo "python: SKIPPED: the tests of the PyTorch module, as python3-torch is not installed" \
        "(make test PYTHON=1 installs it)"
cd "$root/python"
SSM2D_LIBRARY=$library PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 exec "$python" -m tests
