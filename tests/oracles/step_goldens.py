"""What steps of step_cases.py take, asked of PyTorch itself; and their records, as plimsoll.from_step() makes them.

    ORACLE_BUILD=FOLDER python step_goldens.py figures FILE       peak and residents of each, at two batches
    python step_goldens.py records FOLDER FILE                   compares records with FILE and writes them
    ORACLE_BUILD=FOLDER python step_goldens.py networks FILE [NAME ...]   the same figures of step_networks.py, step_graphs.py and step_libraries.py, at one batch
    python step_goldens.py compare FILE [NAME ...]               and their records beside them; what differs is noted in FILE

`figures` and `networks` run the steps under the oracle's own shim and its own trace: nothing of the recorder is in it.
"""
import sys

import pretended_gpu

if __name__ == "__main__" and sys.argv[1] in ("figures", "networks"):
    pretended_gpu.enter()

import gzip  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import torch  # noqa: E402

import caching_allocator  # noqa: E402
import step_cases  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from storage_trace import StorageTrace, added_in_place, peak, rounded  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_pre_hook  # noqa: E402
from torch.utils._pytree import tree_leaves, tree_structure, tree_unflatten  # noqa: E402

BATCHES = (6, 24)   # the recorder sees 6, 12, 18, and 7 or 30


def figures_of(make, batch):
    """Peak of live bytes of a steady step; bytes of what stays, of gradients at the first update, and of what autograd keeps at most."""
    modules, inputs, program = make(batch)
    with pretended_gpu.gpu():
        work = pretended_gpu.on_gpu(SimpleNamespace(model=torch.nn.ModuleList(modules), inputs=dict(enumerate(tree_leaves(inputs)))), attributes=False)
        modules, inputs = list(work.model), tree_unflatten(list(work.inputs.values()), tree_structure(inputs))
        foreach()
        torch.cuda.amp.common.amp_definitely_not_available = lambda: False
        FakeTensorMode.avoid_device_init = True   # an empty constant that goes to the card would be copied there
        libraries = sys.modules.get("transformers.utils.import_utils")   # it keeps masks of tensors without values that a run leaves out
        if libraries is not None:
            libraries.is_fake_tensor = lambda _: False
        # No gradient is infinite, which the number 1 would mean.
        torch.amp.GradScaler._maybe_opt_step = lambda scaler, optimizer, *_, **__: optimizer.step()
        trace = StepTrace()
        marks = Marks(trace, work.model)
        with trace:
            trace.numbers([*as_moved(work.model), *work.inputs.values()])
            step = program(*modules)
            step(*inputs)
            step(*inputs)
            begin = len(trace.events)
            before = sum(size if kind == "alloc" else -size for kind, _, size in trace.events)
            sums = len(trace.sums)
            marks.begin()
            with marks.saving:
                step(*inputs)
        sums = [(at - begin, total, older) for at, total, older in trace.sums[sums:]]
        stays = [("alloc", number, size) for number, size in living(trace.events[:begin])]
        events = stays + trace.events[begin:]
        sums = [(at + len(stays), total, older) for at, total, older in sums]
        assert sum(size for _, _, size in stays) == before
        kept, phases, _ = added_in_place(events, [(0, "start")], sums)
        return {"batch": batch, **marks.figures(), "peak": peak(kept, phases)[0], "allocated": caching_allocator.replay(kept)["allocated"]}


def as_moved(module):
    """Parameters and buffers as Module.to() moves them: of children first."""
    for child in module.children():
        yield from as_moved(child)
    yield from (t for t in (*module._parameters.values(), *module._buffers.values()) if t is not None)


class Marks:
    """What a step has at its moments: gradients and states at each update, kept tensors where a backward pass begins."""

    def __init__(self, trace, model):
        self.trace, self.model, self.optimizers = trace, model, {}
        self.hook = register_optimizer_step_pre_hook(self._update)
        self.saving = torch.autograd.graph.saved_tensors_hooks(self._keep, lambda tensor: tensor)
        mark_phases(trace, self._backward)
        self.begin()

    def begin(self):
        """Of the steady step."""
        self.resident, self.kept, self.saved, self.gradients = self.trace.living(), {}, 0, {}

    def _keep(self, tensor):
        number = self.trace.number(tensor)
        if number is not None and number not in self.resident:
            self.kept[number] = None
        return tensor.detach()

    def _backward(self):
        self.saved = max(self.saved, sum(rounded(self.trace.exact[n]) for n in self.kept.keys() & self.trace.living()))

    def _update(self, optimizer, *_):
        self.optimizers[id(optimizer)] = optimizer
        held = [p for one in self.optimizers.values() for group in one.param_groups for p in group["params"]] + list(self.model.parameters())
        self.gradients |= dict.fromkeys(self.trace.numbers([part for p in held if p.grad is not None for part in parts_of(p.grad)]))

    def figures(self):
        self.hook.remove()
        states = [t for optimizer in self.optimizers.values() for t in tree_leaves(list(optimizer.state.values())) if isinstance(t, torch.Tensor)]
        parameters = [*self.model.parameters(), *(p for optimizer in self.optimizers.values() for group in optimizer.param_groups for p in group["params"])]
        return {"parameters": bytes_of(self.trace, parameters), "gradients": sum(rounded(self.trace.exact[n]) for n in self.gradients), "states": bytes_of(self.trace, states), "saved": self.saved}


def parts_of(tensor):
    return [tensor] if tensor.layout == torch.strided else [tensor._indices(), tensor._values()]


def bytes_of(trace, tensors):
    return sum(rounded(trace.exact[n]) for n in trace.numbers([t for t in tensors if t.device.type == "cuda"]))


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


def mark_phases(trace, hear):
    """In which phase the engine is, and whether a block runs again inside it: with gradients on, as backward itself does not."""
    def marks(plain):
        def marked(*arguments, **named):
            hear()
            before = trace.phases[-1][1]
            trace.enter_phase("backward")
            result = plain(*arguments, **named)
            trace.enter_phase(before)
            return result
        return marked
    torch.autograd.backward, torch.autograd.grad = map(marks, mark_phases.plain)


mark_phases.plain = torch.autograd.backward, torch.autograd.grad


class StepTrace(StorageTrace):
    """Where an operator asks for values, a mask selects every element."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.recomputing = torch.is_grad_enabled()
        if operator is torch.ops.aten.nonzero.default:
            return self._seen(args[0].new_empty((args[0].numel(), args[0].dim()), dtype=torch.int64))
        if operator in (torch.ops.aten.index.Tensor, torch.ops.aten.index_put.default, torch.ops.aten.index_put_.default):
            args = (args[0], [at for index in args[1] for at in self._places(index)], *args[2:])
        return super().__torch_dispatch__(operator, types, args, kwargs)

    def _seen(self, tensor):
        self.number(tensor)
        return tensor

    def _places(self, index):
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            return [index]
        return self._seen(index.new_empty((index.numel(), index.dim()), dtype=torch.int64)).unbind(1)

    def number(self, tensor):
        if tensor.layout != torch.strided:
            return [super(StepTrace, self).number(part) for part in parts_of(tensor)][-1]
        return super().number(tensor)


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
        model.save(Path(folder) / f"{name.removesuffix('_1')}.plimsoll.json.gz")
        found = [peak_of(model, row["batch"]) for row in wanted[name]]
        same = found == [row["peak"] for row in wanted[name]]
        other += not same
        print(f"{'equal' if same else 'OTHER':6}{name:34}{found} {[row['peak'] for row in wanted[name]]}", flush=True)
    sys.exit(other > 0)


def peak_of(model, batch):
    return model.estimate(gpu="a100-sxm4-80gb", batch=batch).to_dict()["result"]["memory"]["live_peak_bytes"]


def networks(names):
    import step_graphs  # noqa: F401
    import step_libraries  # noqa: F401
    import step_loops  # noqa: F401
    import step_networks

    torch.manual_seed(0)
    warnings.filterwarnings("ignore")
    return step_networks.cases(names)


BATCH = 3   # of networks


def write_networks(path, *names):
    path = Path(path)
    known = json.loads(path.read_text()) if path.exists() else {}
    table, differs = known.get("steps", {}), known.get("differs", {})
    for name, make in networks(names):
        began = time.time()
        try:
            row = figures_of(make, BATCH)
        except Exception as fault:
            row = {"fault": f"{type(fault).__name__}: {str(fault)[:300]}"}
        print(f"{name:40}{time.time() - began:6.1f} s {row.get('fault', '')}", flush=True)
        table[name] = row
        write_table(path, table, differs)


LIBRARIES = ("timm", "torchvision", "transformers", "diffusers", "segmentation_models_pytorch", "torchaudio", "torch_geometric", "monai", "peft")


def write_table(path, steps, differs):
    """PyTorch's figures of each network, and [recorded, PyTorch's] of those in which a record differs."""
    from importlib import metadata, util

    versions = {"torch": torch.__version__.split("+")[0], **{name: metadata.version(name) for name in LIBRARIES if util.find_spec(name)}}
    rows = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in steps.items())
    path.write_text(f'{{\n "versions": {json.dumps(versions)},\n "differs": {json.dumps(differs)},\n "steps": {{\n{rows}\n }}\n}}\n')


# In blocks of the caching allocator, of which large ones are not split for less than 1 MiB: what lies where before the step is not the same.
FIGURES = {"parameters": 0, "gradients": 0, "states": 0, "saved": 0, "peak": 0, "allocated": 0.005}


def same(key, found, wanted):
    return found is not None and abs(found - wanted) <= FIGURES[key] * wanted


def compare_networks(path, *names):
    import plimsoll

    known = json.loads(Path(path).read_text())
    wanted, differs = known["steps"], known.get("differs", {})
    other = 0
    for name, make in networks(names):
        began = time.time()
        try:
            modules, inputs, program = make(BATCH)
            model = plimsoll.from_step(program(*modules), inputs, {})
            found = {"batch": BATCH, **figures_in(model), "peak": peak_of(model, None)}
        except Exception as fault:
            found = {"fault": f"{type(fault).__name__}: {str(fault)[:300]}", "trace": getattr(fault, "trace", "")}
        row = wanted.get(name, {})
        wrong = {key: (found.get(key), row[key]) for key in FIGURES if key in row and not same(key, found.get(key), row[key])}
        other += bool(wrong) or "fault" in found
        said = found.get("fault") or ("" if not wrong else str(wrong))
        print(f"{'OTHER' if wrong or 'fault' in found else 'equal':6}{name:40}{time.time() - began:6.1f} s {said}", flush=True)
        if "fault" in found and len(names) == 1:
            print(found["trace"])
        differs.pop(name, None)
        if "fault" in found:
            differs[name] = found["fault"].splitlines()[0]
        elif wrong:
            differs[name] = wrong
        write_table(Path(path), wanted, differs)
    sys.exit(other > 0)


def figures_in(model):
    """What a record says, as the oracle says it."""
    record = json.loads(gzip.decompress(Path(model.path).read_bytes()))
    rows = record["storages"]
    of = {role: sum(rounded(row[0]) for row in rows if row[1] == role) for role in ("parameter", "gradient", "optimizer_state")}
    return {"parameters": of["parameter"], "gradients": of["gradient"], "states": of["optimizer_state"],
            "saved": sum(rounded(rows[number][0]) for number, _ in record["saved"]), "allocated": caching_allocator.replay(events_of(record))["allocated"]}


def events_of(record):
    """As caching_allocator.py has them, from what stays on."""
    rows, ends = record["storages"], {"+": "alloc", "-": "free"}
    events = [("alloc", number, rounded(row[0])) for number, row in enumerate(rows) if row[2]]
    return events + [(ends[kind], what, rounded(rows[what][0])) for kind, what, *_ in record["events"] if kind in ends]


VERBS = {"figures": write_figures, "records": write_records, "networks": write_networks, "compare": compare_networks}
if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
