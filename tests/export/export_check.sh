#!/bin/sh
# export_check.sh TOOL TEST_EXPORT MODEL_VALUES MAKE_SMALL_DATA - runs exported files; see
# export_check.py. PYTHON3 selects the Python. SKIPPED without python3-numpy and python3-onnx.
set -eu
python=${PYTHON3:-/usr/bin/python3}
here=$(cd "$(dirname "$0")" && pwd)
if ! "$python" -c 'import numpy, onnx' 2> /dev/null; then
    echo "SKIPPED: export_values: python3-numpy or python3-onnx is not installed" \
        "(scripts/install-deps.sh release installs them)"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/export_check.py" "$@"
