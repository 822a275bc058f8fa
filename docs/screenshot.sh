#!/usr/bin/env bash
# docs/screenshot.sh PLIMSOLL [FOLDER]: makes docs/report.png, which the README shows, with Chromium. With FOLDER it makes pictures of
# all pages there instead, on a desk and a phone, light and dark: look at them after a change to estimator/app/html.
set -euo pipefail
plimsoll=$(realpath "$1")
folder=${2:+$(mkdir -p "$2" && realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# page NAME ARGUMENTS...: NAME.html; an answer that does not fit is one too.
page() {
  local name=$1
  shift
  (cd "$work" && "$plimsoll" "$@" --html "$name.html" > /dev/null) || test $? -eq 1
}

# picture NAME WIDTH HEIGHT dark|light FILE. A window has a least width, a frame has none; what the page waits for is no clock's.
picture() {
  local scheme=1
  test "$4" = light || scheme=0
  echo "<style>html, body { margin: 0 }</style><iframe style='border: 0; width: $2px; height: $3px' src='$1.html'></iframe>" > "$work/frame.html"
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --user-data-dir="$work/profile" \
    --virtual-time-budget=20000 --blink-settings=preferredColorScheme=$scheme --window-size="$2,$3" --screenshot="$5" \
    "file://$work/frame.html" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
}

page estimate estimate builtin:resnet50 --gpu rtx-4090 --batch 128
if test -z "$folder"; then
  picture estimate 1280 800 light "$PWD/report.png"  # as wide as two columns of text, as high as a laptop's screen
  exit
fi
page does-not-fit estimate builtin:alexnet --gpu tesla-t4 --batch 16384
page several-gpus estimate hf:llama-3.1-8b --gpu h100-sxm-80gb --gpus 8 --fsdp --batch 1
page serve estimate hf:llama-3.1-8b --gpu h100-sxm-80gb --mode serve --engine vllm --batch 32 --dim sequence=8192
page record estimate "$PWD/../tests/golden/steps/losses_inside.plimsoll.json.gz" --gpu l4
page advise advise hf:Qwen/Qwen3-8B --gpu rtx-4090 --batch 8 --optimizer adamw --dim sequence=1024
page plans advise hf:llama-3.1-8b --gpu h100-sxm-80gb --gpus 8
page max-batch max-batch builtin:resnet50 --gpu tesla-t4
page compare compare builtin:resnet50 builtin:vit_b_16 --gpu t4 --gpu l4 --gpu a100 --price t4=0.35 --price l4=0.8 --price a100=3 --batch 64
page sweep sweep "$PWD/../examples/sweep.yaml" --price rtx-4090=0.7 --price a100-sxm-80gb=2 --price h100-sxm-80gb=3
page validate validate "$PWD/../examples/measured-runs.csv"
for name in estimate does-not-fit several-gpus serve record advise plans max-batch compare sweep validate; do
  for scheme in light dark; do
    picture "$name" 1280 3600 "$scheme" "$folder/$name-desk-$scheme.png"
    picture "$name" 390 4800 "$scheme" "$folder/$name-phone-$scheme.png"
  done
done
