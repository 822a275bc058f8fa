#!/usr/bin/env python3
"""Writes tests/golden/onnx_shapes.json: one-node cases with the types of their outputs.

Two sources, both of the onnx package:
  * its backend node tests: inputs and outputs are actual arrays;
  * random nodes whose outputs come from onnx.shape_inference.infer_shapes (strict mode).

A case is a line in the notation of graph/ir/text.h, as in an operator's worked example:
    "f32[1,3,5,5] i64[2]=[0,-1] {axis=1, opset=13} -> f32[3,25]"
Whole-number outputs carry their contents too, for following shape arithmetic.

    python3 -m venv venv && venv/bin/pip install onnx numpy
    venv/bin/python tests/oracles/onnx_goldens.py
"""

import collections
import json
import pathlib
import random

import numpy as np
import onnx
import onnx.backend.test.loader as loader
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "onnx_shapes.json"
NAMES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16",
         11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16", 17: "f8e4m3",
         18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz", 21: "u4", 22: "i4", 23: "f4e2m1"}
REAL = {1, 10, 11, 16}
MOST_CONTENTS = 48
# Inputs whose real contents decide a shape.
REAL_CONTENTS = {"Resize", "Upsample", "Range", "OneHot", "ConstantOfShape", "Cast", "Clip"}


class Skip(Exception):
    """A case that the notation cannot say; the argument says why."""


def number(value, real):
    text = repr(float(value)) if real else str(int(value))
    return text


def contents(array, real):
    return "=[" + ",".join(number(v, real) for v in array.reshape(-1).tolist()) + "]"


def array_text(array, with_contents):
    """The type of a numpy array, with contents where wanted and few."""
    if array.dtype == object or array.dtype.kind in "US":
        raise Skip("strings")
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    if dtype not in NAMES:
        raise Skip("data types below a byte")
    text = f"{NAMES[dtype]}[{','.join(map(str, array.shape))}]"
    whole = dtype in {2, 3, 4, 5, 6, 7, 9, 12}
    if with_contents and array.size <= MOST_CONTENTS and (whole or with_contents == "real"):
        text += contents(array, dtype in REAL)
    return text


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def value_text(value):
    if isinstance(value, bytes):
        return quoted(value.decode())
    if isinstance(value, float):
        return number(value, True)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(value_text(v) for v in value) + "]"
    raise Skip("subgraphs or sequences")


def attributes_text(node, opset):
    parts = []
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if attribute.type == onnx.AttributeProto.TENSOR:
            array = numpy_helper.to_array(value)
            if value.data_type not in NAMES:
                raise Skip("data types below a byte")
            real = value.data_type in REAL
            flat = array.reshape(-1).tolist()
            if len(flat) == 1:
                parts.append(f"{attribute.name}={number(flat[0], real)}")
            else:
                parts.append(f"{attribute.name}=[{','.join(number(v, real) for v in flat)}]")
            parts.append(f"{attribute.name}_dtype={value.data_type}")
        else:
            parts.append(f"{attribute.name}={value_text(value)}")
    parts.append(f"opset={opset}")
    return "{" + ", ".join(parts) + "}"


def case_text(node, opset, inputs, outputs):
    """One line; `inputs` and `outputs` map names to numpy arrays or to texts of types."""
    def side(names, values, with_contents):
        texts = []
        for name in names:
            if not name:
                texts.append("_")
                continue
            value = values[name]
            texts.append(value if isinstance(value, str) else array_text(value, with_contents))
        return " ".join(texts)

    wanted = "real" if node.op_type in REAL_CONTENTS else True
    left = side(node.input, inputs, wanted)
    right = side([n for n in node.output], outputs, True)
    return f"{left} {attributes_text(node, opset)} -> {right}".strip()


def node_test_cases(cases, skipped):
    for test in loader.load_model_tests(kind="node"):
        model = test.model
        nodes = model.graph.node
        opset = {o.domain: o.version for o in model.opset_import}.get("", 0)
        try:
            if len(nodes) != 1:
                raise Skip("several nodes (functions expanded)")
            node = nodes[0]
            if node.domain not in ("", "ai.onnx"):
                raise Skip("domain " + node.domain)
            if node.op_type == "Constant":
                raise Skip("tensors as attributes: the importer's")
            given, expected = test.data_sets[0]
            inputs = dict(zip([v.name for v in model.graph.input], given))
            for value in list(given) + list(expected):
                if not isinstance(value, np.ndarray) and not np.isscalar(value):
                    raise Skip("sequences, optionals or maps")
            outputs = dict(zip([v.name for v in model.graph.output], map(np.asarray, expected)))
            inputs = {k: np.asarray(v) for k, v in inputs.items()}
            cases[node.op_type].add(case_text(node, opset, inputs, outputs))
        except Skip as reason:
            skipped[str(reason)] += 1


def type_text(value):
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        raise Skip("shape not inferred")
    extents = []
    for d in tensor.shape.dim:
        if not d.HasField("dim_value"):
            raise Skip("shape not inferred")
        extents.append(str(d.dim_value))
    return f"{NAMES[tensor.elem_type]}[{','.join(extents)}]"


def infer(cases, refused, op, opset, inputs, outputs=1, **attributes):
    """Adds a case inferred by onnx. `inputs`: shapes of f32 tensors, arrays for constants, None."""
    names, values, initializers, texts = [], [], [], {}
    for i, given in enumerate(inputs):
        name = "" if given is None else f"i{i}"
        names.append(name)
        if given is None:
            continue
        if isinstance(given, np.ndarray):
            initializers.append(numpy_helper.from_array(given, name))
            texts[name] = array_text(given, "real")
        else:
            values.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, given))
            texts[name] = f"f32[{','.join(map(str, given))}]"
    out = [f"o{i}" for i in range(outputs)]
    node = helper.make_node(op, names, out, **attributes)
    graph = helper.make_graph([node], "g", values,
                              [helper.make_empty_tensor_value_info(o) for o in out], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True,
                                                     data_prop=True)
        types = {o.name: type_text(o) for o in inferred.graph.output}
        cases[op].add(case_text(node, opset, texts, types))
    except (onnx.shape_inference.InferenceError, Skip):
        refused[op] += 1


def i64(*values):
    return np.array(values, dtype=np.int64)


def random_windows(r, spatial):
    return {"kernel_shape": [r.randint(1, 4) for _ in range(spatial)],
            "strides": [r.randint(1, 3) for _ in range(spatial)],
            "pads": [r.randint(0, 2) for _ in range(2 * spatial)]}


def random_convolutions(r, add):
    spatial = r.randint(1, 3)
    x = [r.randint(1, 4), 4 * r.randint(1, 3)] + [r.randint(5, 17) for _ in range(spatial)]
    windows = random_windows(r, spatial)
    windows["dilations"] = [r.randint(1, 2) for _ in range(spatial)]
    if r.random() < 0.2:
        windows["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        del windows["pads"]
    group = r.choice([1, 2, 4])
    add("Conv", r.choice([11, 22]), [x, [4 * r.randint(1, 4), x[1] // group] + windows["kernel_shape"]],
        group=group, **windows)
    if "auto_pad" not in windows:
        windows["output_padding"] = [r.randint(0, s - 1) for s in windows["strides"]]
    add("ConvTranspose", r.choice([11, 22]), [x, [x[1], r.randint(1, 4)] + windows["kernel_shape"]],
        group=group, **windows)


def random_pools(r, add):
    spatial = r.randint(1, 3)
    x = [r.randint(1, 4), r.randint(1, 8)] + [r.randint(5, 17) for _ in range(spatial)]
    windows = random_windows(r, spatial)
    windows["pads"] = [min(p, windows["kernel_shape"][i % spatial] - 1)
                       for i, p in enumerate(windows["pads"])]
    windows["ceil_mode"] = r.randint(0, 1)
    add("AveragePool", r.choice([11, 19, 22]), [x], **windows)
    add("MaxPool", r.choice([11, 12, 22]), [x], outputs=r.randint(1, 2), **windows)
    add("LpPool", r.choice([18, 22]), [x], **windows)


def random_movement(r, add):
    x = [r.randint(1, 6) for _ in range(r.randint(1, 4))]
    rank = len(x)
    axes = sorted(r.sample(range(rank), r.randint(1, rank)))
    target = [int(np.prod(x[:2])), *x[2:]]
    if r.random() < 0.6:
        target[r.randrange(len(target))] = -1
    add("Reshape", 13, [x, i64(*target)])
    add("Flatten", 13, [x], axis=r.randint(-rank, rank))
    add("Transpose", 13, [x], perm=r.sample(range(rank), rank))
    add("Expand", 13, [x, i64(*([r.randint(1, 3)] + [d if r.random() < 0.5 else 1 for d in x]))])
    add("Tile", 13, [x, i64(*[r.randint(1, 3) for _ in x])])
    add("Unsqueeze", 13, [x, i64(*r.sample(range(-rank - 2, rank + 2), 2))])
    add("Unsqueeze", 11, [x], axes=[0, rank + 1])
    ones = [1 if i in axes else d for i, d in enumerate(x)]
    add("Squeeze", 13, [ones, i64(*axes)])
    add("Squeeze", 11, [ones], axes=axes)
    pads = [r.randint(0, 3) for _ in range(2 * rank)]
    add("Pad", 18, [x, i64(*pads)])
    add("Pad", 2, [x], pads=pads)
    starts = [r.randint(-8, 8) for _ in axes]
    ends = [r.choice([r.randint(-8, 8), 2**31 - 1, -(2**31), 2**63 - 1]) for _ in axes]
    steps = [r.choice([1, 1, 2, 3, -1, -2]) for _ in axes]
    add("Slice", 13, [x, i64(*starts), i64(*ends), i64(*axes), i64(*steps)])
    add("Slice", 1, [x], starts=starts, ends=[max(-100, min(e, 10**6)) for e in ends], axes=axes)
    axis = r.randrange(rank)
    other = [r.randint(1, 5) if i == axis else d for i, d in enumerate(x)]
    add("Concat", 13, [x, other], axis=r.choice([axis, axis - rank]))
    cut = r.randint(0, x[axis])
    add("Split", 13, [x, i64(cut, x[axis] - cut)], outputs=2, axis=axis)
    add("Split", 18, [x], outputs=min(2, x[axis]), axis=axis, num_outputs=min(2, x[axis]))
    add("Resize", 19, [x, None, np.array([r.choice([0.5, 1.0, 1.5, 2.0, 0.7]) for _ in x],
                                         dtype=np.float32)])
    add("Resize", 13, [x, None, None, i64(*[r.randint(1, 9) for _ in x])])


def random_reductions(r, add):
    x = [r.randint(1, 6) for _ in range(r.randint(1, 4))]
    rank = len(x)
    axes = [a - rank if r.random() < 0.5 else a for a in r.sample(range(rank), r.randint(1, rank))]
    keepdims = r.randint(0, 1)
    for op in ["ReduceMean", "ReduceMax", "ReduceL2", "ReduceProd"]:
        add(op, 18, [x, i64(*axes)], keepdims=keepdims)
        add(op, 13, [x], axes=axes, keepdims=keepdims)
    add("ReduceSum", 13, [x, i64(*axes)], keepdims=keepdims)
    add("ReduceSum", 13, [x, i64()], keepdims=keepdims, noop_with_empty_axes=r.randint(0, 1))
    add("ArgMax", 13, [x], axis=r.randint(-rank, rank - 1), keepdims=keepdims)
    axis = r.randrange(rank)
    add("TopK", 11, [x, i64(r.randint(1, x[axis]))], outputs=2, axis=axis)
    add("Softmax", r.choice([11, 13]), [x], axis=axis)
    indices = np.zeros([r.randint(1, 3) for _ in range(r.randint(0, 2))], dtype=np.int64)
    add("Gather", 13, [x, indices], axis=r.randint(-rank, rank - 1))


def random_products(r, add):
    m, k, n = (r.randint(1, 9) for _ in range(3))
    trans_a, trans_b = r.randint(0, 1), r.randint(0, 1)
    bias = r.choice([[n], [1, n], [m, 1], [1], [m, n]])
    add("Gemm", 13, [[k, m] if trans_a else [m, k], [n, k] if trans_b else [k, n], bias],
        transA=trans_a, transB=trans_b)
    batch = [r.randint(1, 4) for _ in range(r.randint(0, 2))]
    left = [d if r.random() < 0.7 else 1 for d in batch] + r.choice([[m, k], [k]])[-2:]
    if len(left) == 1 and r.random() < 0.5:
        left = [k]
    add("MatMul", 13, [left, r.choice([batch + [k, n], [k, n], [k]])])
    directions = r.choice(["forward", "reverse", "bidirectional"])
    d = 2 if directions == "bidirectional" else 1
    for op, gates in [("RNN", 1), ("GRU", 3), ("LSTM", 4)]:
        add(op, 14, [[m, 3, k], [d, gates * n, k], [d, gates * n, n]],
            outputs=3 if op == "LSTM" else 2, hidden_size=n, direction=directions)
    extents = [r.choice([1, n]) for _ in range(3)]
    add("Add", 14, [extents, [r.choice([1, e]) for e in extents][r.randint(0, 2):]])
    add("Einsum", 12, [[m, k, n], [m, n, 2]], equation=r.choice(
        ["bij,bjk->bik", "bij,bjk", "...ij,...jk->...ik", "bij,bjk->kb"]))


def main():
    cases, skipped, refused = collections.defaultdict(set), collections.Counter(), collections.Counter()
    node_test_cases(cases, skipped)
    from_tests = sum(map(len, cases.values()))
    r = random.Random(20240517)

    def add(op, opset, inputs, outputs=1, **attributes):
        infer(cases, refused, op, opset, inputs, outputs, **attributes)

    for _ in range(60):
        for make in (random_convolutions, random_pools, random_movement, random_reductions,
                     random_products):
            make(r, add)
    total = sum(map(len, cases.values()))
    document = {
        "source": f"onnx {onnx.__version__}: backend node tests and infer_shapes",
        "node_tests": from_tests, "inferred": total - from_tests,
        "skipped": dict(sorted(skipped.items())),
        "cases": {op: sorted(lines) for op, lines in sorted(cases.items())},
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document, indent=0, ensure_ascii=True) + "\n")
    print(f"{from_tests} from node tests, {total - from_tests} inferred, {len(cases)} operators, "
          f"{OUT.stat().st_size} bytes")
    print("skipped:", dict(skipped))
    print("refused by onnx:", dict(refused))


if __name__ == "__main__":
    main()
