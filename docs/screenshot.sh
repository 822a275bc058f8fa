#!/usr/bin/env bash
# docs/screenshot.sh PLIMSOLL: makes docs/report.png, which the README shows, with Chromium.
set -euo pipefail
plimsoll=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && "$plimsoll" estimate builtin:resnet50 --gpu rtx-4090 --batch 128 --html report.html > /dev/null)
# As wide as two columns of text, as high as a laptop's screen; what the page waits for is no clock's.
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
  --virtual-time-budget=20000 --window-size=1280,800 --screenshot="$PWD/report.png" \
  "file://$work/report.html" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
