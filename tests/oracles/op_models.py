"""One tiny model per operator: a trainable layer, the operator, tanh; the loss is the sum.

The layer before gives the operator an input that needs a gradient and that nobody else keeps; tanh keeps its own result
and hands a dense gradient back. So what is saved beyond the layer's input and tanh's result is the operator's doing.
"""
import torch
from torch import nn

import op_tables

BATCHES = (4, 9)


# Kind of model -> (shape of its input without the batch, a layer before the operator).
KINDS = {
    "row": ((48,), lambda: nn.Linear(48, 48)),
    "sequence": ((24, 32), lambda: nn.Linear(32, 32)),
    "map1": ((4, 64), lambda: nn.Conv1d(4, 8, 3, padding=1)),
    "map2": ((3, 16, 16), lambda: nn.Conv2d(3, 8, 3, padding=1)),
    "map3": ((2, 8, 8, 8), lambda: nn.Conv3d(2, 8, 3, padding=1)),
    "tokens": ((24,), nn.Identity),
}


class Probe(nn.Module):
    """tanh(operator(layer(x), ...)), with as many layers on the same x as the operator has operands."""

    def __init__(self, layers, operator):
        super().__init__()
        self.layers, self.operator = nn.ModuleList(layers), operator

    def forward(self, x):
        result = self.operator(*(layer(x) for layer in self.layers))
        parts = result if isinstance(result, (tuple, list)) else [result]
        return tuple(torch.tanh(part) for part in parts) if len(parts) > 1 else torch.tanh(parts[0])


def build(name, batch):
    """(module, inputs, loss) of an operator's model."""
    kind, operands, make = TABLE[name]
    shape, layer = KINDS[kind]
    model = Probe([layer() for _ in range(operands)], make())
    tokens = torch.randint(0, 100, (batch, *shape))
    return model, {"x": tokens if kind == "tokens" else torch.randn(batch, *shape)}, "sum"


def collect():
    """name -> (kind, number of operands, function that makes the operator)"""
    table = {}
    for kind, operands, entries in op_tables.ALL:
        for name, make in entries.items():
            assert name not in table, name
            table[name] = kind, operands, make
    return table


TABLE = collect()
RARE = {name for _, _, entries in op_tables.RARE for name in entries}


def write_golden(path, measure, versions, specs=None, modes=("momentum", "inference")):
    """Measures every model and writes one JSON file, a line per operator."""
    import json
    lines, failures = [], {}
    for spec in specs or [f"op:{name}" for name in TABLE]:
        name = spec.partition(":")[2]
        try:
            cases = [shorten(*measure(spec, batch, mode)[:2], mode) for batch in BATCHES for mode in modes]
        except Exception as error:  # an operator that fake tensors cannot run
            failures[name] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        lines.append(f"{json.dumps(name)}: " + json.dumps(cases, separators=(",", ":")))
    rare = [] if specs else sorted(RARE - set(failures))
    head = json.dumps({"versions": versions, "failed": failures, "rare": rare})[1:-1]
    path.write_text("{" + head + ',\n"operators": {\n' + ",\n".join(lines) + "\n}}\n")


def shorten(facts, case, mode):
    result = {key: case[key] for key in ("batch", "mode", "outputs")}
    peak = case["in_place"]
    if facts["loss"] != "sum":
        result["loss"] = facts["loss"]
    if mode == "inference":
        return {**result, "peak": peak["peak"]}
    saved = case["saved"]["after_loss"]
    result |= {"parameters": facts["parameters"]["bytes"], "saved": saved["bytes"], "saved_rounded": saved["bytes_rounded"],
               "saved_by_operator": facts["saved_by_module"]["bytes"].get("operator", 0),
               **{key: peak[key] for key in ("peak", "phase", "by_role", "reserved")}}
    if "out_of_place" in case:
        result["out_of_place_peak"] = case["out_of_place"]["peak"]
    return result
