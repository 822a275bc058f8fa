"""What optimizers keep and hold: makes ../golden/memory/optimizers.json from the libraries' own code.

    python optimizers.py ../golden/memory/optimizers.json

Each optimizer steps twice on the CPU over parameters of several shapes and types. Of the second step it is recorded
which states there are, in the order of the parameters, and the most bytes of temporaries at once, rounded up as the
caching allocator does. Single numbers are left out of the temporaries: on a CPU those of the device and those of the
host look alike. Needs torch, bitsandbytes, lion-pytorch and torch_optimizer.
"""
import itertools
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import torch
from torch import optim

from storage_trace import StorageTrace, rounded

SHORT = {torch.float32: "f32", torch.bfloat16: "bf16", torch.uint8: "u8"}
SETS = {
    "of one type": ["f32[64,3,7,7]", "f32[64]", "f32[1000,512]", "f32[1000]", "f32[512,64,3,3]", "f32[30,17]", "f32[4096]",
                    "f32[17,300]", "f32[4095]", "f32[300,1200]"],
    "of two types": ["f32[700,400]", "bf16[800,600]", "f32[90]", "bf16[900]", "bf16[60,700]", "f32[50,40]"],
}


def lion(parameters, decay):
    from lion_pytorch import Lion
    return [Lion(parameters, weight_decay=decay)]


def lamb(parameters, decay):
    from torch_optimizer import Lamb
    return [Lamb(parameters, weight_decay=decay)]


def adam8bit(parameters, decay):
    import bitsandbytes
    return [bitsandbytes.optim.Adam8bit(parameters, weight_decay=decay)]


def muon(parameters, decay):
    """Muon takes matrices alone, and AdamW the rest, as its authors say."""
    matrices, others = ([p for p in parameters if (p.dim() == 2) is two] for two in (True, False))
    return [optim.Muon(matrices, weight_decay=decay), optim.AdamW(others, weight_decay=decay, foreach=True)]


def torch_optimizers():
    forms = {"": {"foreach": True}, "-fused": {"fused": True}, "-loop": {"foreach": False}}
    kinds = {"sgd": (optim.SGD, {}), "momentum": (optim.SGD, {"momentum": 0.9}), "adam": (optim.Adam, {}),
             "nesterov": (optim.SGD, {"momentum": 0.9, "nesterov": True}), "adamw": (optim.AdamW, {}),
             "rmsprop": (optim.RMSprop, {}), "adagrad": (optim.Adagrad, {})}
    for (name, (kind, options)), (form, flags) in itertools.product(kinds.items(), forms.items()):
        if form == "-fused" and name in ("rmsprop", "adagrad"):   # on the GPU there is none
            continue
        yield name + form, lambda p, decay, k=kind, o=options, f=flags: [k(p, lr=1e-3, weight_decay=decay, **o, **f)]
    yield "adafactor", lambda p, decay: [optim.Adafactor(p, weight_decay=decay)]


OPTIMIZERS = {**dict(torch_optimizers()), "adam8bit": adam8bit, "lion": lion, "lamb": lamb, "muon": muon}


class Trace(StorageTrace):
    """Storages of the CPU, without single numbers."""
    DEVICE = "cpu"

    def number(self, tensor):
        return None if tensor.dim() == 0 or tensor.untyped_storage().nbytes() <= 8 else super().number(tensor)


def parameter(text):
    kind, shape = text.rstrip("]").split("[")
    dtype = {short: dtype for dtype, short in SHORT.items()}[kind]
    made = torch.randn([int(n) for n in shape.split(",")]).to(dtype).requires_grad_()
    made.grad = torch.randn_like(made)
    return made


def type_of(tensor):
    return f"{SHORT[tensor.dtype]}[{','.join(map(str, tensor.shape))}]"


def states(parameter, optimizers, fused):
    """On the GPU: all but the counters of steps, which are the host's unless a fused kernel counts them."""
    for optimizer in optimizers:
        for name, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor) and (name != "step" or fused) and not name.startswith("qmap"):
                yield type_of(value)


def measure(name, types, decay):
    parameters = [parameter(text) for text in types]
    optimizers = OPTIMIZERS[name](parameters, decay)
    for optimizer in optimizers:
        optimizer.step()
    trace = Trace()
    trace.numbers(t for p in parameters for t in (p, p.grad))
    trace.numbers(v for o in optimizers for s in o.state.values() for v in s.values() if isinstance(v, torch.Tensor))
    before = len(trace.events)
    with trace, torch.no_grad():
        for optimizer in optimizers:
            optimizer.step()
    held = most = 0
    for kind, _, size in trace.events[before:]:
        held += size if kind == "alloc" else -size
        most = max(most, held)
    return {"states": [list(states(p, optimizers, name.endswith("-fused"))) for p in parameters], "temporaries": most}


def main():
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    cases = []
    for name, (what, types), decay in itertools.product(OPTIMIZERS, SETS.items(), (0, 0.01)):
        try:
            cases.append({"optimizer": name, "weight_decay": decay > 0, "parameters": types, **measure(name, types, decay)})
            print(name, what, decay, cases[-1]["temporaries"], flush=True)
        except Exception as error:
            print(name, what, decay, type(error).__name__, str(error)[:200], flush=True)
    versions = {name: version(name) for name in ("torch", "bitsandbytes", "lion-pytorch", "torch_optimizer")}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    Path(sys.argv[1]).write_text(json.dumps({"versions": versions})[:-1] + ',\n"cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
