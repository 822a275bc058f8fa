"""What steps of step_cases.py take, asked of PyTorch itself; and their records, as plimsoll.from_step() makes them.

    ORACLE_BUILD=FOLDER python step_goldens.py figures FILE       peak and residents of each, at two batches
    python step_goldens.py records FOLDER FILE                   compares records with FILE and writes the first of each kind

`figures` runs the steps under the oracle's own shim and its own trace: nothing of the recorder is in it.
"""
import sys

import pretended_gpu

if __name__ == "__main__" and sys.argv[1] == "figures":
    pretended_gpu.enter()

import json  # noqa: E402
from pathlib import Path  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import torch  # noqa: E402

import step_cases  # noqa: E402
from storage_trace import StorageTrace, added_in_place, peak  # noqa: E402

BATCHES = (6, 24)   # the recorder sees 6, 12, 18, and 7 or 30


def figures_of(make, batch):
    modules, inputs, program = make(batch)
    with pretended_gpu.gpu():
        work = pretended_gpu.on_gpu(SimpleNamespace(model=torch.nn.ModuleList(modules), inputs=dict(enumerate(inputs))))
        modules, inputs = list(work.model), list(work.inputs.values())
        foreach()
        step = program(*modules)
        trace = StepTrace()
        mark_phases(trace)
        with trace:
            trace.numbers([*work.model.parameters(), *work.model.buffers(), *inputs])
            step(*inputs)
            step(*inputs)
            begin = len(trace.events)
            before = sum(size if kind == "alloc" else -size for kind, _, size in trace.events)
            sums = len(trace.sums)
            step(*inputs)
        sums = [(at - begin, total, older) for at, total, older in trace.sums[sums:]]
        stays = [("alloc", number, size) for number, size in living(trace.events[:begin])]
        events = stays + trace.events[begin:]
        sums = [(at + len(stays), total, older) for at, total, older in sums]
        assert sum(size for _, _, size in stays) == before
        kept, phases, _ = added_in_place(events, [(0, "start")], sums)
        return {"batch": batch, "peak": peak(kept, phases)[0]}


def living(events):
    alive = {}
    for kind, number, size in events:
        if kind == "alloc":
            alive[number] = size
        else:
            del alive[number]
    return alive.items()


def foreach():
    """Fake tensors are not recognised as the card's, whose optimizers work on lists."""
    from torch._subclasses.fake_tensor import FakeTensor
    for module in (sys.modules["torch.optim.optimizer"], sys.modules["torch.utils._foreach_utils"]):
        if FakeTensor not in module._foreach_supported_types:
            module._foreach_supported_types.append(FakeTensor)


def mark_phases(trace):
    """In which phase the engine is, and whether a block runs again inside it: with gradients on, as backward itself does not."""
    backward = mark_phases.plain

    def marked(*arguments, **named):
        trace.enter_phase("backward")
        backward(*arguments, **named)
        trace.enter_phase("other")
    torch.autograd.backward = marked


mark_phases.plain = torch.autograd.backward


class StepTrace(StorageTrace):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.recomputing = torch.is_grad_enabled()
        return super().__torch_dispatch__(operator, types, args, kwargs)


def write_figures(path):
    table = {name: [figures_of(make, batch) for batch in BATCHES] for name, make in step_cases.cases()}
    rows = ",\n".join(f'  "{name}": {json.dumps(row)}' for name, row in table.items())
    Path(path).write_text(f'{{\n "torch": "{torch.__version__.split("+")[0]}",\n "steps": {{\n{rows}\n }}\n}}\n')


def write_records(folder, path):
    import plimsoll

    wanted = json.loads(Path(path).read_text())["steps"]
    other = 0
    for name, make in step_cases.cases():
        modules, inputs, program = make(BATCHES[0])
        model = plimsoll.from_step(program(*modules), inputs)
        if name.endswith("_1"):
            model.save(Path(folder) / f"{name[:-2]}.plimsoll.json.gz")
        found = [peak_of(model, row["batch"]) for row in wanted[name]]
        same = found == [row["peak"] for row in wanted[name]]
        other += not same
        print(f"{'equal' if same else 'OTHER':6}{name:34}{found} {[row['peak'] for row in wanted[name]]}", flush=True)
    sys.exit(other > 0)


def peak_of(model, batch):
    return model.estimate(gpu="a100-sxm4-80gb", batch=batch).to_dict()["result"]["memory"]["live_peak_bytes"]


if __name__ == "__main__":
    write_figures(sys.argv[2]) if sys.argv[1] == "figures" else write_records(*sys.argv[2:])
