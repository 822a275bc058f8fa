#!/usr/bin/env bash
# The memory oracle with all it needs: run.sh torchvision:resnet50 --batch 8
# Sets up a virtual environment and the shim under build/oracle once (several GB: PyTorch for CUDA).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$here/../../build/oracle
if [ ! -x "$folder/venv/bin/python" ]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet torch torchvision timm transformers onnx onnxscript
fi
export ORACLE_BUILD=$folder/shim
[ -d "$ORACLE_BUILD" ] || PYTHON="$folder/venv/bin/python" "$here/build_shim.sh" "$ORACLE_BUILD"
exec "$folder/venv/bin/python" "$here/memory_oracle.py" "$@"
