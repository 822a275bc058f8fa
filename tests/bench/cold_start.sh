#!/usr/bin/env bash
# Time and memory of a cold `estimate` of ResNet-50 from an ONNX file: the median of N runs, against
# the bars of 20 ms and 30 MB.
#   cold_start.sh PLIMSOLL [MODEL.onnx] [N]
set -euo pipefail
plimsoll=$1
here=$(dirname "${BASH_SOURCE[0]}")
runs=${3:-21}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
model=${2:-}
if [ -z "$model" ]; then
  model=$folder/resnet50.onnx
  gzip -dc "$here/../golden/onnx/train-ts/torchvision-resnet50.onnx.gz" > "$model"
fi
measure() {  # prints hundredths of a millisecond
  local start end
  start=${EPOCHREALTIME//[^0-9]/}  # no process is started for it
  "$plimsoll" estimate "$model" --gpu quadro-p4000 --batch 32 --json > /dev/null 2> /dev/null
  end=${EPOCHREALTIME//[^0-9]/}
  echo $(((end - start) / 10))
}
for _ in $(seq "$runs"); do measure; done | sort -n | awk '{t[NR] = $1} END {
  printf "cold estimate of ResNet-50: median %.2f ms, least %.2f ms, of %d runs (bar 20 ms)\n", t[int((NR + 1) / 2)] / 100, t[1] / 100, NR}'
if command -v /usr/bin/time > /dev/null; then
  /usr/bin/time -f 'peak memory: %M KiB (bar 30720)' "$plimsoll" estimate "$model" --gpu quadro-p4000 --batch 32 --json > /dev/null
fi
