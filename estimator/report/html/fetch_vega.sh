#!/usr/bin/env bash
# fetch_vega.sh FOLDER: leaves FOLDER/vega.js.gz, with which pages draw their charts: Vega, Vega-Lite
# and Vega-Embed as the Python package vl-convert-python bundles them (BSD-3-Clause), in one script.
# Where it cannot be had the file is empty, and pages have tables only: a build never fails for it.
# What is there already is kept; to try again, remove it.
# PLIMSOLL_VEGA=none leaves it out; PLIMSOLL_VEGA=FILE takes a bundle that is there.
set -uo pipefail
folder=$1
package=vl-convert-python==1.9.0.post1
mkdir -p "$folder"
if [ -z "${PLIMSOLL_VEGA:-}" ] && [ -s "$folder/vega.js.gz" ] && [ "$(cat "$folder/package")" = "$package" ]; then
  touch "$folder/vega.js.gz"
  exit 0
fi
: > "$folder/vega.js.gz"

bundle() {
  case "${PLIMSOLL_VEGA:-}" in
    none) return 1 ;;
    "") ;;
    *) cat "$PLIMSOLL_VEGA"; return ;;
  esac
  # Into a folder of its own, so that nothing of the machine's Python changes.
  timeout 180 python3 -m pip install --quiet --no-deps --no-compile --no-cache-dir \
    --disable-pip-version-check --root-user-action=ignore --target "$folder/pip" "$package" >&2 || return 1
  PYTHONPATH="$folder/pip" python3 -c 'import vl_convert; print(vl_convert.javascript_bundle())'
}

# In a function: a bundle's names are not the page's.
if bundle > "$folder/vega.js" && [ -s "$folder/vega.js" ] &&
   { printf '(()=>{"use strict";'; cat "$folder/vega.js"; printf '})();'; } | gzip -9n > "$folder/packed"; then
  mv "$folder/packed" "$folder/vega.js.gz"
  echo "${PLIMSOLL_VEGA:-$package}" > "$folder/package"
elif [ "${PLIMSOLL_VEGA:-}" != none ]; then
  echo "no Vega could be fetched: reports will have tables only; to try again, remove $folder" >&2
fi
rm -rf "$folder/pip" "$folder/vega.js" "$folder/packed"
exit 0
