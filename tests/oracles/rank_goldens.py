"""What programs of rank_cases.py take on their rank, asked of PyTorch itself; and their records, as plimsoll.from_step() makes them.

    ORACLE_BUILD=FOLDER ORACLE_CAPABILITY=90 python rank_goldens.py figures FILE [NAME ...]
    python rank_goldens.py records FOLDER FILE [NAME ...]        compares stays, peak and sends with FILE, and writes each record

Figures: bytes that stay between steps, the highest number alive in the third step, what its rank sends and receives, in order, and what the caching
allocator reserves of each stream over three steps; with_building, also while the program built the whole of its model on the card, which is how it builds it here. Gradients that meet are added in place, as in a run that nobody listens to.
"""
import sys

import pretended_gpu

if __name__ == "__main__" and sys.argv[1] == "figures":
    pretended_gpu.enter()

import contextlib  # noqa: E402
import gzip  # noqa: E402
import json  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from storage_trace import added_in_place, peak, rounded  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

import rank_cases  # noqa: E402
from sharded_trace import ShardedTrace, pretend_streams, reserved_by_stream  # noqa: E402

SENDS = {"c10d::send": "send", "c10d::recv_": "receive"}


class RankTrace(ShardedTrace):
    def __init__(self):
        super().__init__()
        self.sent = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if operator._schema.name in SENDS:
            self.sent.append([SENDS[operator._schema.name], sum(t.numel() * t.element_size() for t in args[0])])
        return super().__torch_dispatch__(operator, types, args, kwargs)


def passes_are_marked(trace):
    """Where the engine adds up gradients."""
    run = torch.autograd.backward

    def backward(*arguments, **named):
        trace.enter_phase("backward")
        try:
            return run(*arguments, **named)
        finally:
            trace.enter_phase("forward")
    return run, backward


def meshes_hold_numbers():
    """Ranks of a mesh are read."""
    module = torch.distributed.device_mesh
    plain = module.init_device_mesh

    def made(*arguments, **named):
        with torch.utils._python_dispatch._disable_current_modes():
            return plain(*arguments, **named)
    module.init_device_mesh = made


def figures_of(program, inputs, ranks, rank):
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
    try:
        with pretended_gpu.gpu():
            torch.cuda.is_available = lambda: True
            inputs = [torch.empty(x.shape, dtype=x.dtype, device="cuda") for x in inputs]
            with RankTrace() as trace:
                held = trace.numbers(inputs)
                with torch.device("cuda"):
                    step = program()
                built = len(trace.events)
                plain, torch.autograd.backward = passes_are_marked(trace)
                try:
                    for number in range(3):
                        begin, sums = len(trace.events), len(trace.sums)
                        trace.sent.clear()
                        step(*inputs)
                finally:
                    torch.autograd.backward = plain
        return steady(trace, built, begin, held)
    finally:
        dist.destroy_process_group()


def steady(trace, built, begin, held):
    events, phases, _ = added_in_place(trace.events, [(0, "start"), (built, "steps"), (begin, "step")], trace.sums)
    built, begin = phases[1][0], phases[2][0]
    alive = living(events[:begin])
    return {"stays": sum(size for number, size in alive.items() if number not in held), "peak": peak(placed(alive) + events[begin:], [(0, "")])[0], "sent": trace.sent,
            "reserved_by_stream": reserved_by_stream(placed(living(events[:built])) + events[built:], trace.streams),
            "with_building": reserved_by_stream(events, trace.streams)}


def living(events):
    alive = {number: size for kind, number, size in events if kind == "alloc"}
    for kind, number, _ in events:
        if kind == "free":
            del alive[number]
    return alive


def placed(alive):
    return [("alloc", number, size) for number, size in alive.items()]


def of_record(record):
    """The same of a record, without what its allocator reserves."""
    storages, sent = record["storages"], [[kind, size] for kind, _, size in record["collectives"] if kind in SENDS.values()]
    inputs = sum(rounded(size) for size, role, _, _ in storages if role == "input")
    events = [("alloc", number, rounded(row[0])) for number, row in enumerate(storages) if row[2]]
    for kind, what, *_ in record["events"]:
        if kind in "+-":
            events.append(("alloc" if kind == "+" else "free", what, rounded(storages[what][0])))
    begin = next((at for at, (kind, what, phase, node) in enumerate(record["events"]) if (kind, phase, node) != ("+", "forward", -1)), 0)
    before = sum(rounded(row[0]) for row in storages if row[2]) + sum(rounded(storages[what][0]) for _, what, *_ in record["events"][:begin])
    return {"stays": before - inputs, "peak": peak(events, [(0, "")])[0], "sent": sent}


def chosen(names):
    return {name: case for name, case in rank_cases.CASES.items() if not names or name in names}


def figures(path, names):
    pretend_streams(rank_cases.RANKS)
    meshes_hold_numbers()
    torch.Tensor.record_stream = lambda *_: None
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    FakeTensorMode.avoid_device_init = True   # what is moved to the card would be copied there
    torch.random.fork_rng = lambda *_, **__: contextlib.nullcontext()   # a generator of the card has no state
    torch.nn.Module.to = lambda module, *_, **__: module   # it lies there
    for module in (sys.modules["torch.optim.optimizer"], sys.modules["torch.utils._foreach_utils"]):
        module._foreach_supported_types.append(FakeTensor)
    found = {name: figures_of(*case) for name, case in chosen(names).items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())
    path.write_text('{\n "versions": {"torch": "%s"},\n "cases": {\n%s\n}}\n' % (torch.__version__.partition("+")[0], lines))


def records(folder, path, names):
    import plimsoll
    wanted = json.loads(path.read_text())["cases"]
    for name, (program, inputs, ranks, rank) in chosen(names).items():
        model = plimsoll.from_step(program, inputs, {}, world_size=ranks, rank=rank, capability=(9, 0))
        found = of_record(json.loads(gzip.decompress(Path(model.path).read_bytes())))
        model.save(folder / f"{name}.plimsoll.json.gz")
        differs = {key: (wanted[name][key], value) for key, value in found.items() if wanted[name][key] != value}
        print(name, "equal" if not differs else differs, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "figures":
        figures(Path(sys.argv[2]), sys.argv[3:])
    else:
        with contextlib.suppress(KeyboardInterrupt):
            records(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
