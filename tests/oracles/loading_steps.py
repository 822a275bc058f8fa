"""What bringing weights to a GPU takes before the first step, asked of PyTorch's own FSDP1, FSDP2, load_state_dict() and half() on a
machine without a GPU: fake tensors, a fake process group and streams that are names alone.

    ORACLE_CAPABILITY=90 python loading_steps.py ../golden/sharded/loading.json

A case has a library, how its program loads (the words of --load), ranks and precision; the most bytes that are alive until the weights
are there, those that stay, and what the caching allocator then has reserved.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import itertools  # noqa: E402  (torch must come after the shim)
import json  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, fully_shard  # noqa: E402
from torch.distributed.fsdp._runtime_utils import _lazy_init  # noqa: E402
from torch.distributed.fsdp.wrap import ModuleWrapPolicy  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

import caching_allocator  # noqa: E402
from sharded_networks import MODELS, decoder  # noqa: E402
from sharded_trace import ShardedTrace, pretend_streams  # noqa: E402
from storage_trace import peak  # noqa: E402

CARD = "cuda:0"
LARGE = decoder("large-decoder", 2, 2048, 16, 64000, 64)   # what is broadcast of a unit is more than one array


def cases():
    for library, how, ranks in itertools.product(("fsdp1", "fsdp2"), ("units", "whole"), (2, 8)):
        yield {"library": library, "how": how, "ranks": ranks, "precision": "fp32"}
        yield {"library": library, "how": how, "ranks": ranks, "precision": "bf16"}
    for how, ranks in itertools.product(("units", "broadcast", "whole"), (2, 8)):
        yield {"library": "fsdp1", "how": how, "ranks": ranks, "precision": "mixed-bf16"}
    yield {"library": "none", "how": "checkpoint", "ranks": 1, "precision": "fp32"}
    yield {"library": "none", "how": "checkpoint", "ranks": 1, "precision": "bf16"}
    yield {"library": "none", "how": "fp32", "ranks": 1, "precision": "bf16"}


def come(module):
    """What Module.to() makes of a module's own weights, one after another: fake tensors cannot be set into others of another device."""
    for name, weight in module._parameters.items():
        if weight is not None:
            module._parameters[name] = torch.nn.Parameter(torch.empty(weight.shape, dtype=weight.dtype, device=CARD))


def all_come(module):
    for one in module.modules():
        if any(weight is not None and weight.is_meta for weight in one._parameters.values()):
            come(one)


def with_fsdp1(model, mesh, case):
    mixed = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if case["precision"] == "mixed-bf16" else None
    model = FullyShardedDataParallel(model, device_mesh=mesh, auto_wrap_policy=ModuleWrapPolicy({type(model.h[0])}), mixed_precision=mixed,
                                     use_orig_params=True, device_id=0, param_init_fn=come, sync_module_states=case["how"] == "broadcast")
    _lazy_init(model, model)   # as the first forward pass does
    return model


def with_fsdp2(model, mesh, _):
    for unit in [*model.h, model]:
        all_come(unit)   # as fully_shard() moves what is on the host
        fully_shard(unit, mesh=mesh)
    return model


def load(model, mesh, case):
    if case["how"] not in ("units", "broadcast"):
        all_come(model)
    if case["how"] == "checkpoint":
        model.load_state_dict({name: torch.empty_like(weight) for name, weight in model.state_dict().items()})
    if case["how"] == "fp32":
        for module in model.modules():
            for name, weight in module._parameters.items():
                if weight is not None:
                    module._parameters[name] = torch.nn.Parameter(weight.to(torch.bfloat16))
                del weight
    return {"fsdp1": with_fsdp1, "fsdp2": with_fsdp2, "none": lambda m, *_: m}[case["library"]](model, mesh, case)


def measure(build, case):
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["ranks"])
    try:
        mesh = init_device_mesh("cuda", (case["ranks"],))
        with torch.device("meta"):
            model, _ = build(1)
        if case["precision"] == "bf16" and case["how"] != "fp32":
            model = model.to(torch.bfloat16)
        with pretended_gpu.gpu():
            torch.cuda.is_available = lambda: True
            with ShardedTrace() as trace:
                model = load(model, mesh, case)
                highest, _, _ = peak(trace.events, [(0, "start")])
                living = {}
                for kind, number, size in trace.events:
                    living[number] = size if kind == "alloc" else 0
                reserved = caching_allocator.replay(trace.events)["reserved"]
            return {"peak": highest, "stays": sum(living.values()), "reserved": reserved}
    finally:
        dist.destroy_process_group()


def main():
    pretend_streams(16)
    lines, failures = [], []
    for name, (made, build) in {**MODELS, "large-decoder": LARGE}.items():
        done = []
        for case in cases():
            try:
                done.append({**case, **measure(build, case)})
            except Exception as error:
                failures.append(f"{name} {case}: {type(error).__name__}: {str(error)[:300]}")
        lines.append('{"name": %s, "config": %s, "cases": [\n%s]}' % (
            json.dumps(name), json.dumps(made, separators=(",", ":")), ",\n".join(json.dumps(one, separators=(",", ":")) for one in done)))
    Path(sys.argv[1]).write_text(json.dumps({"versions": {"torch": torch.__version__}})[:-1] + ', "models": [\n' + ",\n".join(lines) + "\n]}\n")
    print("\n".join(failures))


if __name__ == "__main__":
    main()
