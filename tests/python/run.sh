#!/usr/bin/env bash
# tests/python/run.sh: the wheel, installed into an environment of its own, does what tests/python/*_test.py
# say. Needs PLIMSOLL_WHEEL, a file of `./dev wheel`, or is reported as not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/not_run.sh"
[ -n "${PLIMSOLL_WHEEL:-}" ] || not_run "no wheel, for which './dev test' needs pip and PyPI"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
  --requirement "$here/../../packaging/requirements/numpy.txt"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$PLIMSOLL_WHEEL"
cd "$work" # where no package lies about
"$work/venv/bin/python" -W error::ResourceWarning -m unittest discover --start-directory "$here" --pattern '*_test.py'
