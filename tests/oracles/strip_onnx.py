"""Takes the weights, and whatever else a structure does not need, out of an ONNX model.

    python strip_onnx.py model.onnx stripped.onnx

Weights become references to external data that is never written: their name, type and shape stay. Small tensors stay as
they are, because shapes, axes and scales are computed from them.
"""
import re
import sys

import onnx
from onnx import TensorProto

LARGEST_KEPT = {"float": 8, "other": 256}   # elements; a table of integers or a mask is as good as a weight
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}
# What names the module, the source lines and the rewrite that a node came from; printed graphs are dropped.
STACK = "pkg.torch.onnx.stack_trace"
KEPT_PROPERTIES = {"namespace", "pkg.torch.onnx.name_scopes", "pkg.onnxscript.rewriter.rule_name", STACK,
                   "pkg.torch.export.ExportedProgram.graph_signature"}   # which initializers are buffers


def elements(tensor):
    count = 1
    for size in tensor.dims:
        count *= size
    return count


def drop_values(tensor, is_weight):
    kind = "float" if tensor.data_type in FLOATS else "other"
    if not is_weight and elements(tensor) <= LARGEST_KEPT[kind]:
        return
    for values in ("raw_data", "float_data", "double_data", "int32_data", "int64_data", "uint64_data", "external_data"):
        tensor.ClearField(values)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights")


def without_folders(stack):
    """Where this machine has its packages is nobody's business: 'File ".../timm/layers/mlp.py"' is 'File "mlp.py"'."""
    return re.sub(r'File "[^"]*/', 'File "', stack)


def drop_properties(holder, kept=KEPT_PROPERTIES):
    properties = [(p.key, without_folders(p.value) if p.key == STACK else p.value)
                  for p in holder.metadata_props if p.key in kept]
    del holder.metadata_props[:]
    for key, value in properties:
        holder.metadata_props.add(key=key, value=value)


def graphs(graph):
    """A graph and those inside its nodes' attributes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from graphs(inner)


def strip(model, weights=(), value_info=True):
    """Strips `model` in place. `weights` are names of initializers that lose their values however small they are."""
    weights = set(weights)
    model.ClearField("doc_string")
    drop_properties(model)
    for graph in graphs(model.graph):
        graph.ClearField("doc_string")
        drop_properties(graph)
        for tensor in graph.initializer:
            drop_values(tensor, tensor.name in weights)
            drop_properties(tensor)
        for node in graph.node:
            node.ClearField("doc_string")
            drop_properties(node)
            for attribute in node.attribute:
                attribute.ClearField("doc_string")
                if attribute.HasField("t"):
                    drop_values(attribute.t, False)
        for value in (*graph.input, *graph.output, *graph.value_info):
            drop_properties(value)
        if not value_info:
            del graph.value_info[:]
    return model


if __name__ == "__main__":
    source, target = sys.argv[1:]
    onnx.save(strip(onnx.load(source, load_external_data=False)), target)
