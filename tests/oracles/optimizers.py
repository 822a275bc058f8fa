"""What optimizers keep and hold: makes ../golden/memory/optimizers.json from the libraries' own code.

    python optimizers.py ../golden/memory/optimizers.json
    python optimizers.py ../golden/memory/optimizers.json TORCH_2_0   # those of PyTorch 2.0, beside the others

TORCH_2_0 is a folder with the package torch of 2.0.1, any platform's (`pip download --no-deps torch==2.0.1`, unpacked): its
optimizers are Python alone, which today's tensors run. Each optimizer steps twice on the CPU over parameters of several shapes and types. Of the second step it is recorded
which states there are, in the order of the parameters, and the most bytes of temporaries at once, rounded up as the
caching allocator does. Single numbers are left out of the temporaries: on a CPU those of the device and those of the
host look alike. Needs torch, bitsandbytes, lion-pytorch and torch_optimizer.
"""
import importlib.util
import itertools
import json
import sys
import types
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


def loaded(name, path, **options):
    spec = importlib.util.spec_from_file_location(name, path, **options)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def torch_2_0_optimizers(folder):
    """By lists, as PyTorch 2.0 has them; its tensors are grouped by a function of its own."""
    optimizers = Path(folder) / "torch" / "optim"
    groups = loaded("torch_2_0_groups", Path(folder) / "torch" / "utils" / "_foreach_utils.py")
    sys.modules["torch_2_0"] = types.ModuleType("torch_2_0")
    sys.modules["torch_2_0"].__path__ = [str(optimizers)]
    for name, kind in (("adam", "Adam"), ("adamw", "AdamW")):
        module = loaded(f"torch_2_0.{name}", optimizers / f"{name}.py")
        module._group_tensors_by_device_and_dtype = groups._group_tensors_by_device_and_dtype
        yield name + "-2.0", lambda p, decay, k=getattr(module, kind): [k(p, lr=1e-3, weight_decay=decay, foreach=True)]


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


def measure(name, made, texts, decay):
    parameters = [parameter(text) for text in texts]
    optimizers = made(parameters, decay)
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


def measured(optimizers):
    for (name, made), (what, texts), decay in itertools.product(optimizers.items(), SETS.items(), (0, 0.01)):
        try:
            case = {"optimizer": name, "weight_decay": decay > 0, "parameters": texts, **measure(name, made, texts, decay)}
            print(name, what, decay, case["temporaries"], flush=True)
            yield case
        except Exception as error:
            print(name, what, decay, type(error).__name__, str(error)[:200], flush=True)


def main():
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    path = Path(sys.argv[1])
    if len(sys.argv) > 2:
        golden = json.loads(path.read_text())
        versions = {**golden["versions"], "torch-2.0": "2.0.1"}
        cases = [case for case in golden["cases"] if not case["optimizer"].endswith("-2.0")]
        cases += measured(dict(torch_2_0_optimizers(sys.argv[2])))
    else:
        versions = {name: version(name) for name in ("torch", "bitsandbytes", "lion-pytorch", "torch_optimizer")}
        cases = list(measured(OPTIMIZERS))
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    path.write_text(json.dumps({"versions": versions})[:-1] + ',\n"cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
