#!/usr/bin/env bash
# Predicted against measured, and against the memory oracle; rewrites docs/accuracy.md and its rows in README.md.
#
#   tests/accuracy/accuracy.sh PLIMSOLL [--folds]    # the binary; --folds: also with each left out of every fit
set -euo pipefail
plimsoll=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The networks of records, as they name them.
for packed in tests/measured/onnx/*.gz; do gzip -dc "$packed" >"${packed%.gz}"; done

# The measured kernels of the calibrations, in the columns that validate reads.
kernels() {  # FILE COLUMNS AWK-EXPRESSION
  awk -F, -v OFS=, -v columns="$2" '
    /^#/ { next }
    !header { for (i = 1; i <= NF; ++i) at[$i] = i; header = 1; print columns; next }
    function cell(name) { return $at[name] }
    function dtype(a) {
      if (a == "f16_tensor") return "fp16_mixed_tensor_core"
      if (sub(/_tensor$/, "", a)) return a
      sub(/^f/, "fp", a)
      return a
    }
    function version(v) { return v ? int(v / 100) "." v % 100 : "" }
    '"$3" "hwdb/calibrations/measured/$1.csv" >"$work/$1.csv"
}
kernels conv kind,device,op,dtype,cudnn,pass,n,c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,groups,layout,algo,time_ms '
  { print "kernel", cell("device"), "conv", dtype(cell("arithmetic")), version(cell("cudnn")), cell("pass"), cell("n"), cell("c"),
    cell("h"), cell("w"), cell("k"), cell("r"), cell("s"), cell("pad_h"), cell("pad_w"), cell("stride_h"), cell("stride_w"),
    cell("groups"), cell("layout"), cell("source") ~ /^plimsoll/ ? "heuristic" : cell("algorithm"), cell("time_ms") }'
# The file is row-major, a record column-major: the product of the transposes.
kernels gemm kind,device,op,dtype,cuda,m,n,k,a_t,b_t,batch_count,accumulate,time_ms '
  { print "kernel", cell("device"), "gemm", dtype(cell("arithmetic")), version(cell("cublas")), cell("n"), cell("m"), cell("k"),
    cell("b_t") ? "true" : "false", cell("a_t") ? "true" : "false", cell("batch"),
    cell("accumulate") ? "true" : "false", cell("time_ms") }'
kernels recurrent kind,device,op,dtype,cudnn,pass,algo,cell,hidden,batch,timesteps,input_mode,time_ms '
  { print "kernel", cell("device"), "rnn", dtype(cell("arithmetic")), version(cell("cudnn")), cell("pass"), cell("algorithm"),
    cell("cell"), cell("hidden"), cell("batch"), cell("timesteps"), "skip", cell("time_ms") }'
kernels rows kind,device,op,dtype,cudnn,pass,function,rows,cols,tensors_moved,time_ms '
  cell("source") == "neusight" {
    op = cell("op") == "layer_norm" ? "layernorm" : cell("op") == "softmax" ? "softmax" : "elementwise"
    print "kernel", cell("device"), op, dtype(cell("arithmetic")), version(cell("cudnn")), cell("pass"), cell("op"),
    cell("rows"), cell("columns"), cell("tensors"), cell("time_ms") }'

for file in conv gemm recurrent rows; do
  "$plimsoll" validate "$work/$file.csv" --allow-skipped --json >"$work/kernels-$file.json"
done
"$plimsoll" validate tests/measured/*.json --allow-skipped --json >"$work/runs.json"
# The same with what sources alone tell of their machines.
mkdir "$work/told" "$work/folds" "$work/sharded" "$work/one_gpu" "$work/scaling"
"$plimsoll" validate tests/measured/sharded/*.json --allow-skipped --json >"$work/sharded/runs.json"
"$plimsoll" validate tests/measured/one_gpu/*.json --allow-skipped --json >"$work/one_gpu/runs.json"
"$plimsoll" validate tests/measured/scaling/*.json --allow-skipped --json >"$work/scaling/runs.json"
"$plimsoll" validate tests/measured/*.json --allow-skipped --json --source-machines >"$work/told/runs.json"
python3 tests/accuracy/oracle.py "$plimsoll" "$work" >"$work/oracle.json"
python3 tests/accuracy/workspaces.py "$plimsoll" >"$work/workspaces.json"
left_out=()
if [ "${2:-}" = --folds ]; then
  python3 tests/accuracy/folds.py "$plimsoll" "$work/folds" "$work/left-out"
  left_out=("$work/left-out")
fi
python3 tests/accuracy/page.py README.md docs/accuracy.md "$work" "${left_out[@]}"
