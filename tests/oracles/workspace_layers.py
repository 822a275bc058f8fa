#!/usr/bin/env python3
"""The layers that the tables and rules under hwdb/workspaces/ are about.

    workspace_layers.py pack LAYERS.json OUT.bin         layers.bin, which all tables speak of
    workspace_layers.py problems LAYERS.json > PROBLEMS.jsonl     what `plimsoll-calibrate ask` is asked of them

LAYERS.json: a list of layers [c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,dil_h,dil_w,groups], or a
packed one. Problems: each layer, at each of --batches, in each pass, the layer slowest; the answers,
read by read_answers(), are in that order. The tables themselves are made by `plimsoll-calibrate tables`.
"""
import argparse
import gzip
import json
import struct

KEYS = ("c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "dil_h", "dil_w", "groups")
PASSES = ("fprop", "dgrad", "wgrad")
BATCHES = "1,4,8,16,32,64,128,256"


def up(a, b):
    return -(-a // b) * b


def copies(layer, n, size):
    """Bytes of x, y and w in the layout that tensor-core engines convert to."""
    c, h, w, k, r, s, ph, pw, sh, sw, dh, dw, g = layer
    p, q = (h + 2 * ph - dh * (r - 1) - 1) // sh + 1, (w + 2 * pw - dw * (s - 1) - 1) // sw + 1
    n = max(1, min(n, (2**31 - 1) // max(c * h * w, k * p * q)))
    pad = 16 // size
    cg, kg = up(c // g, pad), up(k // g, pad)
    return size * n * cg * g * h * w, size * n * kg * g * p * q, size * kg * g * cg * r * s


def read_layers(path):
    if not path.endswith(".bin"):
        return [tuple(layer) for layer in json.load(open(path))]
    packed = open(path, "rb").read()
    count, = struct.unpack_from("<I", packed, 4)
    columns = [struct.unpack_from(f"<{count}H", packed, 8 + 2 * count * j) for j in range(13)]
    return list(zip(*columns))


def read_networks(path):
    """Layers by network's name: a JSON object, or the folds that train_workspace_rule.py keeps."""
    with open(path) as file:
        parts = [json.loads(line)["networks"] for line in file] if path.endswith(".jsonl") else [json.load(file)]
    return {name: [tuple(layer) for layer in net] for part in parts for name, net in part.items()}


def pack_layers(layers):
    columns = b"".join(struct.pack("<H", layer[j]) for j in range(13) for layer in layers)
    return struct.pack("<4sI", b"PLL1", len(layers)) + columns


def problems(layers, batches, dtype, layout):
    for layer in layers:
        for n in batches:
            for direction in PASSES:
                yield {"pass": direction, "n": n, **dict(zip(KEYS, layer)), "dtype": dtype, "layout": layout}


def plans_of(record):
    """(engine, on tensor cores, bytes, tile) of what a framework may take, in cuDNN's order; nothing where its heuristic had none."""
    if "error" in record or record["mode"] != "instant":
        return []
    plans = record["alternatives"] + ([record] if "preference" in record else [])
    plans = sorted(plans, key=lambda plan: plan["preference"])
    return [(plan["engine"], "tensor_core" in plan["notes"], plan["workspace_bytes"], plan["knobs"].get("TILE_SIZE", -1))
            for plan in plans if "down_convert_inputs" not in plan["notes"]]


def read_answers(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return [plans_of(json.loads(line)) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["pack", "problems"])
    parser.add_argument("layers")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--batches", default=BATCHES)
    parser.add_argument("--dtype", choices=["fp32", "fp16", "bf16", "fp64"], default="fp32")
    parser.add_argument("--layout", choices=["nchw", "nhwc"], default="nchw")
    options = parser.parse_args()
    layers = read_layers(options.layers)
    if options.verb == "pack":
        with open(options.out, "wb") as out:
            out.write(pack_layers(layers))
        return
    for problem in problems(layers, map(int, options.batches.split(",")), options.dtype, options.layout):
        print(json.dumps(problem))


if __name__ == "__main__":
    main()
