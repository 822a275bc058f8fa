#!/usr/bin/env bash
# tests/python/run.sh: the wheel, installed into an environment of its own, does what tests/python/*_test.py
# say. Needs PLIMSOLL_WHEEL, a file of `./dev wheel`, or is reported as not run.
set -euo pipefail
if [ -z "${PLIMSOLL_WHEEL:-}" ]; then
  echo "not run: tests of the Python package, which need PLIMSOLL_WHEEL"
  exit 0
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$PLIMSOLL_WHEEL"
cd "$work" # where no package lies about
"$work/venv/bin/python" -W error::ResourceWarning -m unittest discover --start-directory "$here" --pattern '*_test.py'
