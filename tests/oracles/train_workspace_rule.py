#!/usr/bin/env python3
"""Trains the rules that guess cuDNN's plan for a convolution no table holds: decision trees.

    train_workspace_rule.py LAYERS.json NETWORKS.json ANSWERS.jsonl[.gz] OUT.json --capability 6.1 [--folds FOLDS.jsonl]

LAYERS.json is that of workspace_layers.py, ANSWERS.jsonl what `plimsoll-calibrate ask` wrote of its problems, in
their order (each layer once); NETWORKS.json maps a network's name to its layers.
Prints the share of plans guessed in five folds over networks, where no layer of a test network was
trained on, and writes the trees grown on everything. With --folds the trees of each fold are kept
too, a line each, with the networks they have not seen: tests/estimator/library/workspace_folds_test.cc
asks them. Needs scikit-learn.

A tree is written in preorder, its columns as texts of numbers: at a node, `feature` (-1 at a leaf), `value` (go left while the
feature is at most this; at a leaf, the index of a plan) and `right` (index of the right child; the
left one follows). A plan is [engine, tile, parts, extra, preferred], and the count of filters where there are some.
"""
import argparse
import collections
import json
import math

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from workspace_layers import copies, read_answers, read_layers, read_networks

PASSES = ("fprop", "dgrad", "wgrad")
MOST_FILTERS = 64


def features(layer, n):
    """As estimator/library/workspace/rule.cc computes them."""
    c, h, w, k, r, s, ph, pw, sh, sw, dh, dw, g = layer
    p, q = (h + 2 * ph - dh * (r - 1) - 1) // sh + 1, (w + 2 * pw - dw * (s - 1) - 1) // sw + 1
    cg, kg = c // g, k // g
    # Words that tell which taps of an output pixel lie in the padding, and where each tap is: cuDNN's
    # forward engine 34 takes a problem of 763 at most (found by asking, not documented).
    ends = ((p, ph, dh * (r - 1), sh), (q, pw, dw * (s - 1), sw))
    kinds = math.prod(min(out, 2 * -(-min(pad, reach) // stride) + 1) for out, pad, reach, stride in ends)
    words = kinds * -(-r * s // 32) + r * s
    winograd = r == s == 3 and sh == sw == dh == dw == 1 and max(ph, pw) <= 1
    return [n, cg, kg, h * w, p * q, r * s, max(sh, sw), max(dh, dw), max(ph, pw), g, n * p * q,
            cg * r * s, kg * r * s, n * h * w, int(winograd), c * h * w, k * p * q, int(cg % 8 == 0), int(kg % 8 == 0), words]


def plain_label(plans, layer, n, size):
    first = next((plan for plan in plans if not plan[1]), None)
    return (first[0], first[3], 0, 0, 0) if first else (-1, -1, 0, 0, 0)


def tensor_label(plans, layer, n, size):
    """Engine and copies; what is left are partial sums of filters, told apart in 16 bits alone, or `extra` bytes in coarse steps."""
    first = next((plan for plan in plans if plan[1]), None)
    if not first:
        return (-1, -1, 0, 0, 0)
    x, y, w = copies(layer, n, size)
    preferred = int(plans[0] is first)
    left = {parts: first[2] - x * (parts & 1) - y * (parts >> 1 & 1) - w * (parts >> 2) for parts in (5, 3, 7, 6, 0, 1, 2, 4)}
    for parts, extra in left.items():
        if extra in (0, 16, 131, 147):
            return (first[0], -1, parts, extra, preferred)
    filter_bytes = 4 * w // size
    for parts in (3, 0, 1, 2, 7) if size == 2 else ():
        sums, rest = divmod(left[parts], filter_bytes)
        if 1 <= sums <= MOST_FILTERS and rest <= 512:
            return (first[0], -1, parts, 0, preferred, sums)
    extra, parts = min((extra, parts) for parts, extra in left.items() if extra >= 0)
    coarse = 0 if extra < 4096 else 2 ** round(math.log2(extra))
    return (first[0], -1, parts, min(coarse, 2**30), preferred)


def written(tree, names):
    t = tree.tree_
    out = {"feature": [], "value": [], "right": []}
    stack = [(0, None)]
    while stack:
        node, parent = stack.pop()
        at = len(out["feature"])
        if parent is not None:
            out["right"][parent] = at
        leaf = t.children_left[node] < 0
        out["feature"].append(-1 if leaf else int(t.feature[node]))
        out["value"].append(names.index(names[tree.classes_[t.value[node][0].argmax()]]) if leaf
                            else math.floor(t.threshold[node]))
        out["right"].append(0)
        if not leaf:
            stack.append((t.children_right[node], at))
            stack.append((t.children_left[node], None))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("layers", "networks", "answers", "out"):
        parser.add_argument(name)
    parser.add_argument("--capability", required=True)
    parser.add_argument("--cudnn", default="9.10")
    parser.add_argument("--dtype", choices=["fp32", "fp16"], default="fp32")
    parser.add_argument("--layout", default="nchw")
    parser.add_argument("--batches", default="1,4,8,16,32,64,128,256")
    parser.add_argument("--depth", type=int, default=14)
    parser.add_argument("--tensor-depth", type=int, default=10)
    parser.add_argument("--folds")
    parser.add_argument("--leaves", type=int, default=None)
    options = parser.parse_args()
    layers, named = read_layers(options.layers), dict(sorted(read_networks(options.networks).items()))
    index = {layer: i for i, layer in enumerate(layers)}
    networks = [{index[layer] for layer in net} for net in named.values()]
    batches = [int(n) for n in options.batches.split(",")]
    answers = read_answers(options.answers)
    size = 4 if options.dtype == "fp32" else 2
    problems = [(layer, n) for layer in layers for n in batches]
    matrix = np.array([features(*problem) for problem in problems], dtype=float)
    layer_of = np.arange(len(problems)) // len(batches)
    folds = np.random.RandomState(0).permutation(len(networks))
    kept = [{"networks": {list(named)[j]: list(named.values())[j] for j in folds[fold::5]}, "trees": []} for fold in range(5)]
    trees, shares = [], {}
    for direction, name in enumerate(PASSES):
        mine = answers[direction::3]
        for tensor, label in ((False, plain_label), (True, tensor_label)):
            labels = [label(plans, *problem, size) for plans, problem in zip(mine, problems)]
            names = sorted(set(labels))
            if tensor and len(names) == 1:
                continue
            wanted = np.array([names.index(each) for each in labels])
            def grow():
                return DecisionTreeClassifier(max_depth=options.tensor_depth if tensor else options.depth,
                                              max_leaf_nodes=options.leaves, min_samples_leaf=2, random_state=0)

            def shown(tree):
                columns = {column: " ".join(map(str, values)) for column, values in written(tree, names).items()}
                return {"pass": name, "tensor_cores": tensor, "plans": names, **columns}
            right = total = 0
            for fold in range(5):
                test = np.isin(layer_of, list(set().union(*(networks[j] for j in folds[fold::5]))))
                tree = grow().fit(matrix[~test], wanted[~test])
                kept[fold]["trees"].append(shown(tree))
                guessed = tree.predict(matrix[test])
                right += sum(names[a][0] == names[b][0] for a, b in zip(guessed, wanted[test]))
                total += int(test.sum())
            shares[f"{name}{' tensor' if tensor else ''}"] = round(right / total, 4)
            trees.append(shown(grow().fit(matrix, wanted)))
    print(options.out, shares)
    rule = {"schema": "plimsoll.workspace_rule", "version": 1, "capability": options.capability,
            "cudnn": options.cudnn, "dtype": options.dtype, "layout": options.layout,
            "engine_agreement_in_folds": shares, "trees": trees}
    json.dump(rule, open(options.out, "w"), separators=(",", ":"))
    if options.folds:
        with open(options.folds, "w") as file:
            for fold in kept:
                file.write(json.dumps(fold, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
