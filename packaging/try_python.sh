#!/usr/bin/env bash
# packaging/try_python.sh WHEEL COMMAND: the wheel beside other packages, which pip brings into build/try: a sweep on a
# cluster of Ray's, one of whose machines is killed; types in mypy; and forty modules by from_torch() against PyTorch's own
# figures, for which tests/oracles/run.sh brings PyTorch (several GB; ORACLE_VENV names an environment that has it).
# Some twenty minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheel=$(realpath "$1")
command=$(realpath "$2")
work=$PWD/build/try
if [ ! -f "$work/complete" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement packaging/requirements/try.txt
  touch "$work/complete"
fi
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
"$work/venv/bin/python" -m unittest discover --start-directory tests/python --pattern '*_test.py'

rm -rf "$work/package" "$work/modules"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$work/package" "$wheel"
export PYTHONPATH=$work/package
ORACLE_SCRIPT=../python/from_torch_test.py tests/oracles/run.sh
export ORACLE_SCRIPT=from_torch_models.py
tests/oracles/run.sh "$work/modules" --list from_torch_40.txt
tests/oracles/run.sh "$work/modules" --list from_torch_40.txt --compare "$command"
