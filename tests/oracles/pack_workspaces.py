#!/usr/bin/env python3
"""Packs cuDNN's answers about convolutions into the tables under hwdb/workspaces/.

    pack_workspaces.py LAYERS.json ANSWERS.txt[.gz] OUT.bin --batches 1,4,8 [--dtype fp32]

LAYERS.json: a list of layers [c,h,w,k,r,s,pad_h,pad_w,stride_h,stride_w,dil_h,dil_w,groups], or a
packed one. ANSWERS: one line per layer, batch and pass (fprop, dgrad, wgrad), the layer slowest:
cuDNN's plans in order of preference, each `engine[flags]:bytes:tile`, with flag t for tensor cores, d
for inputs converted down (which no framework takes); ask_cudnn.py writes them. Answers about further
layers may follow. Without ANSWERS OUT is the packed list of layers.

Form of an answers file, little endian: "PLW1", u32 layers, u8 batches, u8 plans, u16 0; the batches
(u32 each); the plans; then columns over (layer, batch, pass), the pass fastest: code of the first
plan without tensor cores, code of the first with, largest scratch; then the exceptions. A plan is u8
engine, i8 tile, u8 tensor, u8 parts, i32 extra. Its bytes follow from the engine's formula (tensor
= 0), or are extra + the copies in `parts` (1: x, 2: y, 4: w, channels padded). Code 255: no such
plan; 254: an exception, in order of the index: u8 engine, u40 bytes, kept as columns of bytes; those
of the first column come first. The code of a tensor plan that is preferred to the plain one is in
[0, 126], else 127 higher; 253 stands for an exception that is preferred. Largest scratch: 0, or
1 + ceil(4 log2(bytes)).
estimator/memory/workspace_table.cc reads it.
"""
import argparse
import collections
import gzip
import json
import math
import struct

NONE, EXCEPTION, PREFERRED_EXCEPTION, LATER = 255, 254, 253, 127
# Engines whose bytes no formula gives: (pass, engine), on grouped problems or on all.
WITHOUT_FORMULA = {(2, 61), (2, 67)}
WITHOUT_FORMULA_GROUPED = {(0, 70), (1, 74)}


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


def parse(line):
    plans = []
    for token in line.split():
        engine, scratch, tile = token.split(":")[:3]
        number = engine.rstrip("tdw")
        flags = engine[len(number):]
        if "d" not in flags:
            plans.append((int(number), "t" in flags, int(scratch), -1 if tile == "-" else int(tile)))
    return plans


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


class Packer:
    def __init__(self, layers, batches, size):
        self.layers, self.batches, self.size = layers, batches, size

    def where(self, i):
        return self.layers[i // (3 * len(self.batches))], self.batches[i // 3 % len(self.batches)], i % 3

    def plain(self, i, plan):
        layer, _, direction = self.where(i)
        engine = plan[0]
        grouped = layer[12] > 1
        if (direction, engine) in WITHOUT_FORMULA or grouped and (direction, engine) in WITHOUT_FORMULA_GROUPED:
            return None
        return (engine, plan[3], 0, 0, 0)

    def tensor_forms(self, i, plan):
        layer, n, _ = self.where(i)
        x, y, w = copies(layer, n, self.size)
        for parts in (5, 3, 7, 6, 0, 1, 2, 4):
            extra = plan[2] - x * (parts & 1) - y * (parts >> 1 & 1) - w * (parts >> 2)
            if abs(extra) < 2**31:
                yield (plan[0], -1, 1, parts, extra)

    def pack(self, answers):
        first = [[next((p for p in plans if p[1] == tensor), None) for plans in answers] for tensor in (False, True)]
        counts = collections.Counter(f for i, p in enumerate(first[1]) if p for f in self.tensor_forms(i, p))
        known = {form for form, n in counts.most_common(2000) if n >= 12}
        used = collections.Counter()
        chosen = [None] * len(answers)
        for i, p in enumerate(first[1]):
            forms = [f for f in self.tensor_forms(i, p) if f in known] if p else []
            if forms:
                chosen[i] = max(forms, key=lambda f: counts[f])
                used[chosen[i]] += 1
        tensor_plans = [f for f, n in used.most_common(126) if n >= 4]
        plain_plans = sorted({f for i, p in enumerate(first[0]) if p and (f := self.plain(i, p))})
        plans = tensor_plans + plain_plans
        assert len(plans) < PREFERRED_EXCEPTION
        code = {f: j for j, f in enumerate(plans)}
        columns, exceptions = [bytearray(), bytearray(), bytearray()], [[], []]
        for i, answer in enumerate(answers):
            p = first[0][i]
            form = self.plain(i, p) if p else None
            columns[0].append(NONE if not p else code[form] if form else EXCEPTION)
            if p and not form:
                exceptions[0].append(p)
            p = first[1][i]
            preferred = bool(p) and answer[0] is p
            if not p:
                columns[1].append(NONE)
            elif chosen[i] in code:
                columns[1].append(code[chosen[i]] + (0 if preferred else LATER))
            else:
                columns[1].append(PREFERRED_EXCEPTION if preferred else EXCEPTION)
                exceptions[1].append(p)
            largest = max((plan[2] for plan in answer), default=0)
            columns[2].append(0 if largest == 0 else 1 + math.ceil(4 * math.log2(largest)))
        out = struct.pack("<4sIBBH", b"PLW1", len(self.layers), len(self.batches), len(plans), 0)
        out += b"".join(struct.pack("<I", n) for n in self.batches)
        out += b"".join(struct.pack("<BbBBi", *f) for f in plans) + b"".join(columns)
        rows = [bytes([p[0]]) + p[2].to_bytes(5, "little") for group in exceptions for p in group]
        return out + b"".join(bytes(row[j] for row in rows) for j in range(6))


def pack_layers(layers):
    columns = b"".join(struct.pack("<H", layer[j]) for j in range(13) for layer in layers)
    return struct.pack("<4sI", b"PLL1", len(layers)) + columns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers")
    parser.add_argument("answers", nargs="?")
    parser.add_argument("out")
    parser.add_argument("--batches", default="1,4,8,16,32,64,128,256")
    parser.add_argument("--dtype", choices=["fp32", "fp16"], default="fp32")
    options = parser.parse_args()
    layers = read_layers(options.layers)
    if options.answers is None:
        packed = pack_layers(layers)
    else:
        batches = [int(n) for n in options.batches.split(",")]
        opener = gzip.open if options.answers.endswith(".gz") else open
        count = len(layers) * len(batches) * 3
        answers = [parse(line) for line in opener(options.answers, "rt").read().split("\n")[:-1][:count]]
        assert len(answers) == count, len(answers)
        packed = Packer(layers, batches, 4 if options.dtype == "fp32" else 2).pack(answers)
    with open(options.out, "wb") as out:
        out.write(packed)


if __name__ == "__main__":
    main()
