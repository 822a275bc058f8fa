"""Writes the structure of torchvision's classification networks, and of timm's that measured runs name, weights left
out, and facts to check it against.

    python skeletons.py torchvision|timm [--models GLOB,...] [--redo]

graph/builtin/LIBRARY/NAME.onnx.gz is the training form with the batch as a symbol, and height and width too where
the network takes any image. tests/golden/LIBRARY.json holds parameter counts and multiply-adds.
"""
import argparse
import gzip
import io
import json
import logging
import sys
import time
import warnings
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import onnx
import timm
import torch
import torch.nn.functional as F
from onnx.numpy_helper import from_array, to_array
from onnxscript import ir
from onnxscript.optimizer import fold_constants, remove_unused_nodes
from torch.utils.flop_counter import FlopCounterMode
from torchvision import models

from strip_onnx import strip
from workloads import parameters_left_alone

ROOT = Path(__file__).resolve().parents[2]


class Torchvision:
    # Position tables, windows and pooling to a fixed grid tie these to one size of image.
    fixed_image = ("alexnet", "vgg*", "googlenet", "vit_*", "swin_*", "maxvit_*")
    sides = {"inception_v3": 299, "swin_v2_*": 256}

    def names():
        return models.list_models(module=models)

    def side(name):
        return next((side for glob, side in Torchvision.sides.items() if fnmatch(name, glob)), 224)

    def network(name):
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        with parameters_left_alone():
            return models.get_model(name, weights=None, **options)   # with auxiliary heads where there are any

    def published(name):
        for weights in models.get_model_weights(name):
            yield {"weights": weights.name, "image": weights.transforms.keywords["crop_size"],
                   "parameters": weights.meta["num_params"], "gmac": weights.meta["_ops"]}


class Timm:
    # As above; the grouped attention of NesT and the windows of the others are cut for one size too.
    fixed_image = ("beit*", "convit*", "nest*", "levit*", "mixer*", "pit*", "swin*", "visformer*", "xcit*",
                   "mobilevit*", "tf_*", "mixnet*")

    def names():
        """Of the measured runs (tests/measured), which torchvision and the built-in configs do not have."""
        return ("beit_base_patch16_224", "convit_base", "cspdarknet53", "cspresnet50", "darknet53",
                "efficientnetv2_rw_s", "gernet_l", "hrnet_w32", "levit_256", "mixer_b16_224",
                "mixnet_m", "mobilevit_s", "nest_tiny", "nf_resnet50", "pit_b_224", "poolformer_s12", "regnetx_032",
                "repvgg_b1", "res2net50_26w_4s", "resnest50d", "rexnet_100", "selecsls60", "swinv2_cr_tiny_ns_224",
                "tf_efficientnetv2_s", "visformer_small", "xcit_small_12_p16_224")

    def side(name):
        return timm.get_pretrained_cfg(name).input_size[1]

    def network(name):
        # Activations without timm's own gradient functions; "exportable" would take fused attention away too.
        with parameters_left_alone(), timm.layers.set_scriptable(True):
            return timm.create_model(name, pretrained=False)

    def published(name):
        return ()


LIBRARIES = {"torchvision": Torchvision, "timm": Timm}


def pool_as_published(model):
    """GoogLeNet's auxiliary heads pool 14x14 to 4x4 by windows of uneven stride, which ONNX cannot say; the published
    network's windows of 5 by stride 3 read and write tensors of the same sizes."""
    for head in (model.aux1, model.aux2):
        head.forward = lambda x, head=head: head.fc2(head.dropout(F.relu(
            head.fc1(torch.flatten(head.conv(F.avg_pool2d(x, 5, 3)), 1)), inplace=True)))


def skeleton(library, name):
    """The ONNX model of a network in training, its parameters as initializers without values."""
    model, side = library.network(name), library.side(name)
    if name == "googlenet":
        pool_as_published(model)
    axes = {0: "batch"}
    if not any(fnmatch(name, glob) for glob in library.fixed_image):
        axes |= {2: "height", 3: "width"}
    file = io.BytesIO()
    # Without export_params the weights become inputs: nothing to serialize, and equal ones are not merged.
    torch.onnx.export(model.train(), (torch.randn(2, 3, side, side),), file, dynamo=False, opset_version=17,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, export_params=False,
                      input_names=["input"], dynamic_axes={"input": axes})
    exported = onnx.load_from_string(file.getvalue())
    shapes_are_computed = any(node.op_type == "Shape" for node in exported.graph.node)
    if shapes_are_computed:   # while the weights are inputs, which nothing can be folded into
        exported = folded(exported)
    weights = as_initializers(exported)
    strip(exported, weights)
    if shapes_are_computed:
        write_batch_as_rest(exported.graph)
    return shortened(exported, weights)


def as_initializers(model):
    """Turns the inputs that are weights into initializers without values; returns their names."""
    weights = list(model.graph.input)[1:]
    del model.graph.input[1:]
    for value in weights:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        tensor = model.graph.initializer.add(name=value.name, data_type=value.type.tensor_type.elem_type, dims=dims)
        tensor.external_data.add(key="location", value="weights")
        tensor.data_location = onnx.TensorProto.EXTERNAL
    return {value.name for value in weights}


def folded(model):
    """Shape arithmetic of known sizes is worked out: it is most of what the exporter writes for windowed attention."""
    wrapped = ir.serde.deserialize_model(model)
    fold_constants(wrapped, onnx_shape_inference=True)
    remove_unused_nodes(wrapped)
    return ir.serde.serialize_model(wrapped)


def write_batch_as_rest(graph):
    """Reshape([batch * 64, 7, 7, 96]), where all but one size are known, says the same as Reshape([-1, 7, 7, 96]) and
    needs no arithmetic."""
    makers = {output: node for node in graph.node for output in node.output}
    known = {tensor.name: to_array(tensor) for tensor in graph.initializer if not tensor.external_data}
    known |= {node.output[0]: to_array(node.attribute[0].t) for node in graph.node
              if node.op_type == "Constant" and node.attribute[0].HasField("t")
              and not node.attribute[0].t.external_data}
    for node in graph.node:
        maker = makers.get(node.input[1]) if node.op_type == "Reshape" else None
        if maker is None or maker.op_type != "Concat" or sum(name not in known for name in maker.input) != 1:
            continue
        target = [size for name in maker.input for size in known.get(name, [-1])]
        if target.count(-1) == 1 and 0 not in target:
            node.input[1] = f"{node.name}/target"
            graph.initializer.append(from_array(np.array(target, np.int64), node.input[1]))
    read = {value.name for value in graph.output}
    for node in reversed(list(graph.node)):   # what only computed those targets
        if read.isdisjoint(node.output):
            graph.node.remove(node)
        else:
            read.update(node.input)


def shortened(model, weights):
    """Tensors between nodes are numbered, constants as exporters number what they folded; nodes keep the names that
    say their module."""
    names = {"": "", "input": "input", **{weight: weight for weight in weights}}
    del model.graph.value_info[:]
    for tensor in model.graph.initializer:
        tensor.name = names.setdefault(tensor.name, f"c_{len(names)}")
    for node in model.graph.node:
        del node.metadata_props[:]
        for names_of in (node.input, node.output):
            names_of[:] = [names.setdefault(name, f"t{len(names)}") for name in names_of]
    for value in model.graph.output:
        value.name = names[value.name]
    return model


def facts(library, name):
    """Parameters, and multiply-adds of one image in inference, counted and as published beside the weights."""
    model, side = library.network(name).eval().to("meta"), library.side(name)
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        model(torch.empty(1, 3, side, side))
    flop = {str(op).removeprefix("aten."): count for op, count in counter.get_flop_counts()["Global"].items()}
    dense = sum(flop.pop(op, 0) for op in ("convolution", "addmm", "mm"))
    result = {"image": side, "parameters": sum(p.numel() for p in model.parameters()),
              "conv_linear_mac": dense // 2, "attention_mac": sum(flop.values()) // 2}
    for published in library.published(name):
        if "published" not in result or published["image"] == result["image"] != result["published"]["image"]:
            result["published"] = published
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--models", default="*")
    parser.add_argument("--redo", action="store_true", help="export again what is there already")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("onnxscript").setLevel(logging.CRITICAL)   # says of every weight that it has no value
    torch.set_num_threads(1)
    library = LIBRARIES[options.library]
    folder, golden = ROOT / "graph/builtin" / options.library, ROOT / f"tests/golden/{options.library}.json"
    folder.mkdir(parents=True, exist_ok=True)
    golden.parent.mkdir(parents=True, exist_ok=True)
    table = json.loads(golden.read_text()) if golden.exists() else {}
    for name in library.names():
        path = folder / f"{name}.onnx.gz"
        chosen = any(fnmatch(name, glob) for glob in options.models.split(","))
        if not chosen or (path.exists() and not options.redo):
            continue
        started = time.time()
        try:
            table[name] = facts(library, name)
            packed = gzip.compress(skeleton(library, name).SerializeToString(deterministic=True), 9, mtime=0)
        except Exception as error:
            print(f"{name:24} FAILED {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
            continue
        path.write_bytes(packed)
        lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(table.items()))
        golden.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{name:24} {time.time() - started:6.1f} s {len(packed):8,} bytes", flush=True)


if __name__ == "__main__":
    main()
