#!/usr/bin/env bash
# fetch_vega.sh FOLDER: leaves FOLDER/vega.js.gz, with which pages draw their charts: Vega, Vega-Lite and Vega-Embed as the
# package in packaging/requirements/vega.txt bundles them, in one script. Where it cannot be had the file is empty, and pages
# have tables only: a build never fails for it, and the next one tries again. Every build runs this; it writes what changed.
# PLIMSOLL_VEGA=none leaves it out; PLIMSOLL_VEGA=FILE takes a bundle that is there.
set -uo pipefail
folder=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
requirements=$source/packaging/requirements/vega.txt
mkdir -p "$folder"
[ -z "${PLIMSOLL_VEGA:-}" ] && [ -s "$folder/vega.js.gz" ] && cmp -s "$requirements" "$folder/requirements.txt" && exit 0
rm -f "$folder/requirements.txt"

bundle() {
  case "${PLIMSOLL_VEGA:-}" in
    none) ;;
    "") "$source/packaging/fetch.sh" vega "$folder/package" &&
      PYTHONPATH="$folder/package" python3 -c 'import vl_convert; print(vl_convert.javascript_bundle())' ;;
    *) cat "$PLIMSOLL_VEGA" ;;
  esac
}

: > "$folder/packed"
# In a function: a bundle's names are not the page's.
if bundle > "$folder/vega.js" && [ -s "$folder/vega.js" ]; then
  { printf '(()=>{"use strict";'; cat "$folder/vega.js"; printf '})();'; } | gzip -9n > "$folder/packed"
  [ -n "${PLIMSOLL_VEGA:-}" ] || cp "$requirements" "$folder/requirements.txt"
elif [ "${PLIMSOLL_VEGA:-}" != none ]; then
  echo "no Vega could be fetched: this build's pages have tables only; the next build tries again" >&2
fi
cmp -s "$folder/packed" "$folder/vega.js.gz" || mv "$folder/packed" "$folder/vega.js.gz"
rm -rf "$folder/package" "$folder/vega.js" "$folder/packed"
exit 0
