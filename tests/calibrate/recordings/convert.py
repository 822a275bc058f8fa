"""A recorded card (calibrate/card_recording.h) from kernels that were measured with PyTorch on an
H100 (hwdb/calibrations/measured): no run of plimsoll-calibrate on a card made it.

    python3 tests/calibrate/recordings/convert.py > tests/calibrate/recordings/h100.jsonl

Each measured kernel becomes a way to run it, the one that PyTorch took, and one sample. The source
tells neither its workspace nor clocks. Of the convolutions those of networks at a batch of 32, and
a fifth of the products and of the memory-bound kernels: what tests replay.
"""

import csv
import json
import pathlib

MEASURED = pathlib.Path(__file__).resolve().parents[3] / "hwdb/calibrations/measured"
DEVICE = "h100-sxm-80gb"
DTYPES = {"f32": "fp32", "tf32_tensor": "tf32", "f16_tensor": "fp16_mixed_tensor_core"}
BYTES = {"fp32": 4, "tf32": 4, "fp16_mixed_tensor_core": 2}


def rows(name):
    with open(MEASURED / name) as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            if row["source"] == "plimsoll" and row["device"] == DEVICE and row["arithmetic"] in DTYPES:
                yield row


def conv(row):
    keys = ("n", "c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "groups")
    return {"op": "conv", **{key: int(row[key]) for key in keys}, "layout": "nchw", "pass": row["pass"]}


def gemm(row):
    kernel = {"op": "gemm", "variant": "linear", "batch_count": int(row["batch"])}
    kernel |= {key: int(row[key]) for key in ("m", "n", "k")}
    return kernel | {key: row[key] == "1" for key in ("a_t", "b_t")} | {"pass": "forward"}


def memory_bound(row):
    op = {"layer_norm": "norm", "softmax": "softmax"}.get(row["op"], "pointwise")
    count = int(row["rows"]) * int(row["columns"])
    size = count * BYTES[DTYPES[row["arithmetic"]]]
    return {"op": op, "function": row["op"], "rows": int(row["rows"]), "cols": int(row["columns"]),
            "read_bytes": (int(row["tensors"]) - 1) * size, "written_bytes": size, "flop": count,
            "pass": row["pass"]}


def main():
    def say(**line):
        print(json.dumps(line, separators=(",", ":")))

    say(call="facts", facts={
        "name": "NVIDIA H100 80GB HBM3", "driver": "580.159.04", "compute_capability": [9, 0],
        "memory_bytes": 85017493504, "free_bytes": 84500000000,
        "source": "converted from kernels that PyTorch 2.11 ran, hwdb/calibrations/measured (November 2026)",
        "libraries": [{"name": "cuDNN", "version": "9.19.0", "path": "PyTorch's"},
                      {"name": "cuBLASLt", "version": "13.0.0", "path": "PyTorch's"}]})
    kernels = [(conv(r), r) for r in rows("conv.csv")
               if r["n"] == "32" and r["layout"] == "nchw" and r["arithmetic"] != "f16_tensor"]
    kernels += [(gemm(r), r) for r in list(rows("gemm.csv"))[::5]]
    kernels += [(memory_bound(r), r) for r in list(rows("rows.csv"))[::5]]
    said = set()
    for kernel, row in kernels:
        kernel["dtype"] = DTYPES[row["arithmetic"]]
        key = json.dumps(kernel, sort_keys=True)
        if key in said:
            continue
        said.add(key)
        say(call="offers", kernel=kernel, offers=[{"algorithm": "PyTorch's"}])
        say(call="time", kernel=kernel, offer=0, samples=[{"ns": round(float(row["time_ms"]) * 1e6, 3)}])


if __name__ == "__main__":
    main()
