#!/usr/bin/env bash
# packaging/fetch.sh NAME FOLDER: the packages of packaging/requirements/NAME.txt, of PyPI, into FOLDER. Each is what its hash
# says, or nothing is taken. What has come is kept until that file changes; what has not come is asked for again each time.
# Needs python3 with pip or ensurepip.
set -euo pipefail
requirements=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/requirements/$1.txt
folder=$2
! cmp -s "$requirements" "$folder/requirements.txt" || exit 0
coming=$folder.coming
rm -rf "$coming"
trap 'rm -rf "$coming"' EXIT
mkdir -p "$coming"

python=python3
if ! python3 -m pip --version > /dev/null 2>&1; then
  python3 -m venv "$coming/venv" > /dev/null 2>&1 || { echo "$1: python3 with pip or ensurepip is not here" >&2; exit 1; }
  python=$coming/venv/bin/python
fi
echo "fetching $(grep -oE '^[a-z][^ ]+' "$requirements" | tr '\n' ' ')" >&2
# Into a folder of its own, so that nothing of the machine's Python changes.
timeout 600 "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-cache-dir --no-compile \
  --retries 2 --no-deps --only-binary=:all: --require-hashes --requirement "$requirements" --target "$coming/packages" >&2
cp "$requirements" "$coming/packages/requirements.txt"
rm -rf "$folder"
mv "$coming/packages" "$folder"
