#!/usr/bin/env bash
# The memory oracle with all it needs: run.sh torchvision:resnet50 --batch 8
# Sets up a virtual environment and the shim under build/oracle once (several GB: PyTorch for CUDA).
# ORACLE_VENV names an environment that has PyTorch already, ORACLE_SCRIPT another script beside this one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$here/../../build/oracle
venv=${ORACLE_VENV:-$folder/venv}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --require-hashes --requirement "$here/../../packaging/requirements/oracles.txt"
fi
export ORACLE_BUILD=$folder/shim
[ -d "$ORACLE_BUILD" ] || PYTHON="$venv/bin/python" "$here/build_shim.sh" "$ORACLE_BUILD"
exec "$venv/bin/python" "$here/${ORACLE_SCRIPT:-memory_oracle.py}" "$@"
