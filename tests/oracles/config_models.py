"""Layers of the config language beside the PyTorch modules they stand for, in models as op_models.py makes them:
tanh(layers(linear or convolution(x))), whose loss is the sum.

TABLE: name -> Twin. A twin's `layers` are what a config says between the layer that makes a gradient wanted and the last
tanh; "first", "second" and "third" are what the layers before it give where there are several.
"""
from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from config_modules import Attention, Branches, First, GatedLinear, LlamaNorm, NewGelu, Positions, Residual, TorchAttention
from op_models import KINDS, Probe

# Kind of model -> the config's layer for what KINDS has there.
LAYERS = {
    "row": {"type": "linear", "out": 48},
    "sequence": {"type": "linear", "out": 32},
    "map1": {"type": "conv1d", "out": 8, "kernel": 3, "padding": 1},
    "map2": {"type": "conv2d", "out": 8, "kernel": 3, "padding": 1},
    "map3": {"type": "conv3d", "out": 8, "kernel": 3, "padding": 1},
    "tokens": {"type": "identity"},
}
PLACES = ("first", "second", "third")


@dataclass
class Twin:
    kind: str
    layers: list
    module: Callable
    operands: int = 1
    loss: str = "sum"

    def config(self, name):
        shape, _ = KINDS[self.kind]
        before = [{"name": place, **LAYERS[self.kind], "input": "x"} for place in PLACES[:self.operands]]
        return {"schema": "plimsoll.model-config", "version": 1, "name": name,
                "inputs": [{"name": "x", "shape": ["batch", *shape], **({"dtype": "i64"} if self.kind == "tokens" else {})}],
                "layers": [*before, *self.layers, {"type": "tanh"}], "loss": self.loss}


def build(name, batch):
    """(module, inputs, loss) of a twin's model."""
    twin = TABLE[name]
    shape, layer = KINDS[twin.kind]
    model = Probe([layer() for _ in range(twin.operands)], twin.module())
    tokens = torch.randint(0, 100, (batch, *shape))
    return model, {"x": tokens if twin.kind == "tokens" else torch.randn(batch, *shape)}, twin.loss


def write_golden(path, measure, versions):
    """A line for each twin: its config and the figures of its model."""
    import json

    import op_models
    lines, failures = [], {}
    for name, twin in TABLE.items():
        try:
            cases = [op_models.shorten(*measure(f"config:{name}", batch, mode)[:2], mode)
                     for batch in op_models.BATCHES for mode in ("momentum", "inference")]
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        kept = ("batch", "mode", "outputs", "parameters", "saved_rounded", "peak", "phase")
        cases = [{key: case[key] for key in kept if key in case} for case in cases]
        lines.append(json.dumps({"name": name, "config": twin.config(name), "cases": cases}, separators=(",", ":")))
    for name, why in failures.items():
        print(name, why)
    path.write_text(json.dumps({"versions": versions})[:-1] + ', "layers": [\n' + ",\n".join(lines) + "\n]}\n")


def one(layer_type, module, kind="map2", **keys):
    return Twin(kind, [{"type": layer_type, **keys}], module)


def lifted(function):
    return lambda: function


def gated_layers(activation):
    return [{"name": "gate", "type": "linear", "out": 64, "input": "first"}, {"name": "bent", **activation},
            {"name": "up", "type": "linear", "out": 64, "input": "first"},
            {"type": "multiply", "inputs": ["bent", "up"]}, {"type": "linear", "out": 32}]


def halves(gate, gate_first):
    """x's two halves along the last axis, one of which gates the other."""
    def function(x):
        a, b = x.chunk(2, -1)
        return gate(a) * b if gate_first else a * gate(b)
    return lambda: function


ACTIVATIONS = {
    "relu": one("relu", nn.ReLU),
    "relu6": one("relu6", nn.ReLU6),
    "leaky_relu": one("leaky_relu", nn.LeakyReLU),
    "leaky_relu_steep": one("leaky_relu", lambda: nn.LeakyReLU(0.2), alpha=0.2),
    "prelu": one("prelu", nn.PReLU),
    "prelu_per_channel": one("prelu", lambda: nn.PReLU(8), slopes=8),
    "prelu_of_rows": one("prelu", lambda: nn.PReLU(48), kind="row", slopes=48),
    "elu": one("elu", nn.ELU),
    "celu": one("celu", nn.CELU),
    "selu": one("selu", nn.SELU),
    "gelu": one("gelu", nn.GELU, kind="sequence"),
    "gelu_tanh": one("gelu", lambda: nn.GELU("tanh"), kind="sequence", approximate="tanh"),
    "gelu_pieces": one("gelu", NewGelu, kind="sequence", approximate="pieces"),
    "silu": one("silu", nn.SiLU),
    "swish": one("swish", nn.SiLU, kind="row"),
    "hard_swish": one("hard_swish", nn.Hardswish),
    "hard_sigmoid": one("hard_sigmoid", nn.Hardsigmoid),
    "hard_tanh": one("hard_tanh", nn.Hardtanh),
    "mish": one("mish", nn.Mish),
    "softplus": one("softplus", nn.Softplus),
    "softsign": one("softsign", nn.Softsign),
    "sigmoid": one("sigmoid", nn.Sigmoid),
    "tanh": one("tanh", nn.Tanh),
    "exp": one("exp", lifted(torch.exp)),
    "sqrt": one("sqrt", lifted(torch.sqrt)),
    "scale": one("scale", lifted(lambda x: x * 3.0), by=3.0),
    "identity": one("identity", nn.Identity),
    "softmax": one("softmax", lambda: nn.Softmax(-1), kind="sequence"),
    "softmax_of_channels": one("softmax", lambda: nn.Softmax(1), axis=1),
    "log_softmax": one("log_softmax", lambda: nn.LogSoftmax(-1), kind="row"),
    "dropout": one("dropout", lambda: nn.Dropout(0.3), rate=0.3),
    "glu": one("glu", lambda: nn.GLU(-1), kind="sequence"),
    "glu_of_channels": one("glu", lambda: nn.GLU(1), axis=1),
    "swiglu": one("glu", halves(F.silu, True), kind="sequence", gate="silu"),
    "geglu": one("glu", halves(F.gelu, False), kind="sequence", gate="gelu"),
    "gated_silu": Twin("sequence", gated_layers({"type": "silu"}), lambda: GatedLinear(nn.SiLU())),
    "gated_gelu": Twin("sequence", gated_layers({"type": "gelu"}), lambda: GatedLinear(nn.GELU())),
}

TOGETHER = {
    "add": Twin("map2", [{"type": "add", "inputs": ["first", "second"]}], lifted(lambda a, b: a + b), 2),
    "subtract": Twin("map2", [{"type": "subtract", "inputs": ["first", "second"]}], lifted(lambda a, b: a - b), 2),
    "multiply": Twin("map2", [{"type": "multiply", "inputs": ["first", "second"]}], lifted(lambda a, b: a * b), 2),
    "divide": Twin("map2", [{"type": "divide", "inputs": ["first", "second"]}], lifted(lambda a, b: a / b), 2),
    "add_three": Twin("row", [{"type": "add", "inputs": list(PLACES)}], lifted(lambda a, b, c: a + b + c), 3),
    "concat": Twin("map2", [{"type": "concat", "inputs": ["first", "second"]}],
                   lifted(lambda a, b: torch.cat([a, b], 1)), 2),
    "residual": Twin("map2", [{"type": "residual", "layers": [{"type": "conv2d", "out": 8, "kernel": 3, "padding": 1},
                                                             {"type": "relu"}]}],
                     lambda: Residual(nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()))),
    "residual_shortcut": Twin(
        "map2", [{"type": "residual", "layers": [{"type": "conv2d", "out": 16, "kernel": 3, "padding": 1, "stride": 2},
                                                {"type": "batch_norm"}],
                  "shortcut": [{"type": "conv2d", "out": 16, "kernel": 1, "stride": 2}]}],
        lambda: Residual(nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16)), nn.Conv2d(8, 16, 1, 2))),
    "branches_concat": Twin(
        "map2", [{"type": "branches", "branches": {"a": [{"type": "conv2d", "out": 4, "kernel": 1}],
                                                  "b": [{"type": "conv2d", "out": 6, "kernel": 3, "padding": 1},
                                                        {"type": "relu"}]}}],
        lambda: Branches(lambda parts: torch.cat(parts, 1), nn.Conv2d(8, 4, 1),
                         nn.Sequential(nn.Conv2d(8, 6, 3, padding=1), nn.ReLU()))),
    "branches_add": Twin(
        "map2", [{"type": "branches", "merge": "add", "branches": {"a": [{"type": "conv2d", "out": 4, "kernel": 1}],
                                                                  "b": [{"type": "conv2d", "out": 4, "kernel": 1}]}}],
        lambda: Branches(sum_of, nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 1))),
}


def sum_of(parts):
    return parts[0] + parts[1]


NORMS = {
    "batch_norm1d": one("batch_norm", lambda: nn.BatchNorm1d(48), kind="row"),
    "batch_norm2d": one("batch_norm", lambda: nn.BatchNorm2d(8)),
    "batch_norm3d": one("batch_norm", lambda: nn.BatchNorm3d(8), kind="map3"),
    "batch_norm_not_affine": one("batch_norm", lambda: nn.BatchNorm2d(8, affine=False), affine=False),
    "layer_norm": one("layer_norm", lambda: nn.LayerNorm(32), kind="sequence"),
    "layer_norm_no_bias": one("layer_norm", lambda: nn.LayerNorm(32, bias=False), kind="sequence", bias=False),
    "layer_norm_not_affine": one("layer_norm", lambda: nn.LayerNorm(32, elementwise_affine=False), kind="sequence",
                                 affine=False),
    "layer_norm_of_map": one("layer_norm", lambda: nn.LayerNorm([8, 16, 16]), axes=3),
    "group_norm": one("group_norm", lambda: nn.GroupNorm(2, 8), groups=2),
    "group_norm_not_affine": one("group_norm", lambda: nn.GroupNorm(2, 8, affine=False), groups=2, affine=False),
    "instance_norm": one("instance_norm", lambda: nn.InstanceNorm2d(8, affine=True)),
    "instance_norm_not_affine": one("instance_norm", lambda: nn.InstanceNorm2d(8), affine=False),
    "instance_norm1d": one("instance_norm", lambda: nn.InstanceNorm1d(8, affine=True), kind="map1"),
    "rms_norm": one("rms_norm", lambda: LlamaNorm(32), kind="sequence"),
    "rms_norm_fused": one("rms_norm", lambda: nn.RMSNorm(32), kind="sequence", fused=True),
    "local_response_norm": one("local_response_norm", lambda: nn.LocalResponseNorm(5), size=5),
}

CONVOLUTIONS = {
    "conv1d": one("conv1d", lambda: nn.Conv1d(8, 12, 3, padding=1), kind="map1", out=12, kernel=3, padding=1),
    "conv2d": one("conv2d", lambda: nn.Conv2d(8, 12, 3, padding=1), out=12, kernel=3, padding=1),
    "conv2d_no_bias": one("conv2d", lambda: nn.Conv2d(8, 12, 3, bias=False), out=12, kernel=3, bias=False),
    "conv2d_strided": one("conv2d", lambda: nn.Conv2d(8, 12, 3, 2, 1), out=12, kernel=3, stride=2, padding=1),
    "conv2d_dilated": one("conv2d", lambda: nn.Conv2d(8, 12, 3, dilation=2), out=12, kernel=3, dilation=2),
    "conv2d_grouped": one("conv2d", lambda: nn.Conv2d(8, 12, 3, groups=4), out=12, kernel=3, groups=4),
    "conv2d_depthwise": one("conv2d", lambda: nn.Conv2d(8, 8, 3, padding=1, groups=8), out=8, kernel=3, padding=1, groups=8),
    "conv2d_same": one("conv2d", lambda: nn.Conv2d(8, 12, 3, padding="same"), out=12, kernel=3, padding="same"),
    "conv3d": one("conv3d", lambda: nn.Conv3d(8, 12, 3, padding=1), kind="map3", out=12, kernel=3, padding=1),
    "conv_transpose1d": one("conv_transpose1d", lambda: nn.ConvTranspose1d(8, 12, 4, 2, 1), kind="map1", out=12, kernel=4,
                            stride=2, padding=1),
    "conv_transpose2d": one("conv_transpose2d", lambda: nn.ConvTranspose2d(8, 12, 4, 2, 1), out=12, kernel=4, stride=2,
                            padding=1),
    "conv_transpose2d_output_padding": one("conv_transpose2d", lambda: nn.ConvTranspose2d(8, 12, 3, 2, output_padding=1),
                                           out=12, kernel=3, stride=2, output_padding=1),
    "conv_transpose2d_grouped": one("conv_transpose2d", lambda: nn.ConvTranspose2d(8, 12, 2, 2, groups=2), out=12, kernel=2,
                                    stride=2, groups=2),
    "conv_transpose3d": one("conv_transpose3d", lambda: nn.ConvTranspose3d(8, 4, 2, 2), kind="map3", out=4, kernel=2,
                            stride=2),
}

POOLS = {
    "max_pool1d": one("max_pool1d", lambda: nn.MaxPool1d(2), kind="map1", kernel=2),
    "max_pool2d": one("max_pool2d", lambda: nn.MaxPool2d(3, 2, 1), kernel=3, stride=2, padding=1),
    "max_pool2d_ceil": one("max_pool2d", lambda: nn.MaxPool2d(3, 2, ceil_mode=True), kernel=3, stride=2, ceil=True),
    "max_pool3d": one("max_pool3d", lambda: nn.MaxPool3d(2), kind="map3", kernel=2),
    "average_pool1d": one("average_pool1d", lambda: nn.AvgPool1d(2), kind="map1", kernel=2),
    "average_pool2d": one("average_pool2d", lambda: nn.AvgPool2d(2), kernel=2),
    "average_pool2d_padded": one("average_pool2d", lambda: nn.AvgPool2d(3, 1, 1, count_include_pad=False), kernel=3, stride=1,
                                 padding=1, count_padding=False),
    "average_pool3d": one("average_pool3d", lambda: nn.AvgPool3d(2), kind="map3", kernel=2),
    "adaptive_average_pool": one("adaptive_average_pool", lambda: nn.AdaptiveAvgPool2d(4), size=4),
    "global_average_pool": one("global_average_pool", lambda: nn.AdaptiveAvgPool2d(1)),
    "global_max_pool": one("global_max_pool", lambda: nn.AdaptiveMaxPool2d(1)),
    "upsample_nearest": one("upsample", lambda: nn.Upsample(scale_factor=2.0), scale=2),
    "upsample_linear": one("upsample", lambda: nn.Upsample(scale_factor=2.0, mode="bilinear"), scale=2, mode="linear"),
    "upsample_cubic": one("upsample", lambda: nn.Upsample(scale_factor=2.0, mode="bicubic"), scale=2, mode="cubic"),
}

SHAPES = {
    "reshape": one("reshape", lifted(lambda x: x.reshape(-1, 16, 48)), kind="sequence", shape=["batch", 16, 48]),
    "flatten": one("flatten", nn.Flatten),
    "transpose": one("transpose", lifted(lambda x: x.transpose(1, 2)), kind="sequence", order=[0, 2, 1]),
    "slice": one("slice", lifted(lambda x: x[:, 4:12]), kind="sequence", axis=1, start=4, end=12),
    "select": one("select", lifted(lambda x: x[:, 0]), kind="sequence", axis=1, index=0),
    "split": Twin("sequence", [{"name": "parts", "type": "split", "axis": -1, "sizes": [8, 24]},
                               {"type": "identity", "input": "parts:1"}], lifted(lambda x: x.split([8, 24], -1)[1])),
    "pad": one("pad", lifted(lambda x: F.pad(x, (1, 1, 1, 1))), pads=[0, 0, 1, 1, 0, 0, 1, 1]),
    "pad_reflect": one("pad", lambda: nn.ReflectionPad2d(1), pads=[0, 0, 1, 1, 0, 0, 1, 1], mode="reflect"),
    "unsqueeze": one("unsqueeze", lifted(lambda x: x.unsqueeze(1)), kind="row", axes=[1]),
    "reduce_mean": one("reduce_mean", lifted(lambda x: x.mean((2, 3))), axes=[2, 3]),
    "reduce_sum": one("reduce_sum", lifted(lambda x: x.sum(1, keepdim=True)), axes=[1], keep=True),
    "reduce_max": one("reduce_max", lifted(lambda x: x.max(1)[0]), axes=[1]),
    "reduce_max_of_plane": one("reduce_max", lifted(lambda x: x.amax((2, 3))), axes=[2, 3]),
}

WEIGHTS = {
    "linear": one("linear", lambda: nn.Linear(48, 20), kind="row", out=20),
    "linear_of_sequence": one("linear", lambda: nn.Linear(32, 20), kind="sequence", out=20),
    "linear_no_bias": one("linear", lambda: nn.Linear(32, 20, bias=False), kind="sequence", out=20, bias=False),
    "embedding": one("embedding", lambda: nn.Embedding(100, 16), kind="tokens", vocabulary=100, size=16),
    "position_learned": one("position", lambda: Positions(True), kind="sequence"),
    "position_of_longer_table": one("position", lambda: Positions(True, 40), kind="sequence", positions=40),
    "position_fixed": Twin("sequence", [{"type": "position", "kind": "fixed"}], lambda: Positions(False)),
}

ATTENTION = {
    "attention": one("attention", Attention, kind="sequence", heads=4),
    "attention_causal": one("attention", lambda: Attention(causal=True), kind="sequence", heads=4, causal=True),
    "attention_dropout": one("attention", lambda: Attention(dropout=0.1), kind="sequence", heads=4, dropout=0.1),
    "attention_no_bias": one("attention", lambda: Attention(bias=False), kind="sequence", heads=4, bias=False),
    "attention_packed": one("attention", lambda: Attention(packed=True), kind="sequence", heads=4, packed=True),
    "attention_grouped": one("attention", lambda: Attention(kv_heads=2), kind="sequence", heads=4, kv_heads=2),
    "attention_grouped_packed": one("attention", lambda: Attention(kv_heads=2, packed=True), kind="sequence", heads=4,
                                    kv_heads=2, packed=True),
    "attention_of_memory": Twin("sequence", [{"type": "attention", "heads": 4, "inputs": ["first", "second"]}], Attention, 2),
    "multihead_attention": one("multihead_attention", lambda: TorchAttention(False), kind="sequence", heads=4,
                               weights=False),
    "multihead_attention_dropout": one("multihead_attention", lambda: TorchAttention(False, dropout=0.1), kind="sequence",
                                       heads=4, weights=False, dropout=0.1),
    "multihead_attention_weights": one("multihead_attention", lambda: TorchAttention(True), kind="sequence", heads=4),
    "multihead_attention_weights_dropout": one("multihead_attention", lambda: TorchAttention(True, dropout=0.1),
                                               kind="sequence", heads=4, dropout=0.1),
    "multihead_attention_no_bias": one("multihead_attention", lambda: TorchAttention(False, bias=False), kind="sequence",
                                       heads=4, weights=False, bias=False),
    "multihead_attention_of_memory": Twin(
        "sequence", [{"type": "multihead_attention", "heads": 4, "weights": False, "inputs": ["first", "second"]}],
        lambda: TorchAttention(False), 2),
    "multihead_attention_of_memory_weights": Twin(
        "sequence", [{"type": "multihead_attention", "heads": 4, "inputs": ["first", "second"]}],
        lambda: TorchAttention(True), 2),
}

RECURRENT = {
    "lstm": one("lstm", lambda: First(nn.LSTM(32, 24, batch_first=True)), kind="sequence", hidden=24),
    "lstm_stacked": one("lstm", lambda: First(nn.LSTM(32, 24, 2, batch_first=True, dropout=0.2, bidirectional=True)),
                        kind="sequence", hidden=24, layers=2, dropout=0.2, bidirectional=True),
    "lstm_no_bias": one("lstm", lambda: First(nn.LSTM(32, 24, bias=False)), kind="sequence", hidden=24, bias=False,
                        batch_first=False),
    "gru": one("gru", lambda: First(nn.GRU(32, 24, batch_first=True)), kind="sequence", hidden=24),
    "rnn": one("rnn", lambda: First(nn.RNN(32, 24, batch_first=True)), kind="sequence", hidden=24),
    "rnn_relu": one("rnn", lambda: First(nn.RNN(32, 24, nonlinearity="relu", batch_first=True)), kind="sequence", hidden=24,
                    nonlinearity="relu"),
}

LOSSES = {
    f"loss_{loss}": Twin("row", [{"type": "linear", "out": 20}], lambda: nn.Linear(48, 20), loss=loss)
    for loss in ("cross_entropy", "mse", "bce")
}

TABLE = {name: twin for part in (ACTIVATIONS, TOGETHER, NORMS, CONVOLUTIONS, POOLS, SHAPES, WEIGHTS, ATTENTION, RECURRENT,
                                 LOSSES)
         for name, twin in part.items()}
