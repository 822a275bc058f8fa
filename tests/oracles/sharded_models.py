"""What one rank of a sharded training step allocates, asked of PyTorch's own FSDP2, FSDP1 and tensor parallelism on a machine
without a GPU: fake tensors, a fake process group and streams that are names alone.

    python sharded_models.py fsdp2 ../golden/sharded/fsdp2.json
    python sharded_models.py fsdp1 ../golden/sharded/fsdp1.json
    python sharded_models.py tp ../golden/sharded/tp.json
    python sharded_models.py cp ../golden/sharded/cp.json
    python sharded_models.py losses ../golden/sharded/losses.json

Plans of two axes, and what is combined with sharding, are in sharded_plans.py.

A golden has models, each a config of ours beside the module it stands for, and cases of each: ranks, whether weights stay
gathered for the backward pass, whether what ranks hold alike is parted along the sequence, precision; bytes that stay between steps, the highest number alive in a steady step, with its
phase, and what the caching allocator reserves, whose pools are apart by stream.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import contextlib  # noqa: E402  (torch must come after the shim)
import itertools  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import (FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, ShardingStrategy,  # noqa: E402
                                    fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy  # noqa: E402
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor.experimental._context_parallel import _attention as context  # noqa: E402
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,  # noqa: E402
                                               loss_parallel, parallelize_module)
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

import loss_forms  # noqa: E402
from optimizers import OPTIMIZERS  # noqa: E402
from sharded_networks import MODELS, Decoder, decoder  # noqa: E402
from sharded_trace import ShardedTrace, figures, pretend_streams  # noqa: E402
from storage_trace import added_in_place  # noqa: E402
from workload import Workload  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def cases():
    for ranks in (2, 4, 8):
        for keep in (False, True):
            yield {"ranks": ranks, "keeps_gathered": keep, "precision": "fp32", "optimizer": "adam"}
        yield {"ranks": ranks, "keeps_gathered": False, "precision": "bf16", "optimizer": "adam"}
        yield {"ranks": ranks, "keeps_gathered": False, "precision": "mixed-bf16", "optimizer": "adam"}
    yield {"ranks": 4, "keeps_gathered": True, "precision": "mixed-bf16", "optimizer": "momentum"}
    yield {"ranks": 4, "keeps_gathered": False, "precision": "fp32", "optimizer": "momentum"}
    for no_sync in (False, True):
        yield {"ranks": 4, "keeps_gathered": False, "precision": "fp32", "optimizer": "adam", "accumulate": 2, "no_sync": no_sync}


def kind_of(case):
    """The type that weights are gathered in, where it is not theirs."""
    return TYPES[case["precision"].removeprefix("mixed-")] if "mixed" in case["precision"] else None


class Sharding:
    """What libraries of sharding have in common."""
    models = MODELS
    loss = staticmethod(contextlib.nullcontext)

    @staticmethod
    def cases(_):
        return cases()

    @staticmethod
    def mesh(case):
        return {"ranks": case["ranks"]}

    @staticmethod
    def wrap(model, case):
        return model

    @staticmethod
    def parameters(model):
        return list(model.parameters())

    @classmethod
    def optimizer(cls, model, case):
        return OPTIMIZERS[case["optimizer"]](cls.parameters(model), 0)[0]

    @staticmethod
    def part(x, ranks):
        """Of the inputs, what a rank is given."""
        return x

    @staticmethod
    def config(made):
        return made

    @staticmethod
    def forward(model, inputs, target):
        return model(*inputs)

    @staticmethod
    def loss_of(outputs, target):
        return F.cross_entropy(outputs.flatten(0, -2), target.flatten()) if target is not None else outputs.sum()


class Fsdp2(Sharding):
    def shard(self, model, mesh, case):
        kind = kind_of(case)
        policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=torch.float32) if kind else MixedPrecisionPolicy()
        for block in model.h:
            fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=not case["keeps_gathered"])
        return fully_shard(model, mesh=mesh, mp_policy=policy)

    @contextlib.contextmanager
    def alone(self, model):
        model.set_requires_gradient_sync(False)
        yield
        model.set_requires_gradient_sync(True)


class Fsdp1(Sharding):
    def shard(self, model, mesh, case):
        kind = kind_of(case)
        policy = MixedPrecision(param_dtype=kind, reduce_dtype=torch.float32, buffer_dtype=kind) if kind else None
        strategy = (ShardingStrategy.HYBRID_SHARD if mesh.ndim > 1 else
                    ShardingStrategy.SHARD_GRAD_OP if case["keeps_gathered"] else ShardingStrategy.FULL_SHARD)
        return FullyShardedDataParallel(model, device_mesh=mesh, auto_wrap_policy=ModuleWrapPolicy({type(model.h[0])}), mixed_precision=policy,
                                        sharding_strategy=strategy, use_orig_params=True)

    def alone(self, model):
        return model.no_sync()


class Summed(torch.autograd.Function):
    """_AllReduceForward, but no view of its input: Llama 4 adds to what it returns."""

    @staticmethod
    def forward(ctx, x, group):
        dist.all_reduce(x, group=group)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class WithLoss(nn.Module):
    """A decoder that computes its loss, as a library's patch of its forward pass does: what is in no block is the root's."""

    def __init__(self, model, form):
        super().__init__()
        self.model, self.form, self.h = model, form, model.h

    def forward(self, tokens, labels):
        x = self.model.embedding(tokens)
        for block in self.model.h:
            x = block(x)
        return loss_forms.FORMS[self.form](self.model.norm(x), self.model.head, labels)


class Losses(Sharding):
    """FSDP2's and FSDP1's, where the loss is one of loss_forms.py."""

    @staticmethod
    def cases(name):
        if name not in ("mlp-decoder", "decoder"):
            return
        for version, form, precision in itertools.product((2, 1), ("fused", "chunked", "chunked-linear", "fused-linear"), ("fp32", "bf16", "mixed-bf16")):
            yield {"version": version, "form": form, "ranks": 4, "keeps_gathered": False, "precision": precision, "optimizer": "adam"}

    @staticmethod
    def wrap(model, case):
        return WithLoss(model, case["form"])

    def shard(self, model, mesh, case):
        return (Fsdp2 if case["version"] == 2 else Fsdp1)().shard(model, mesh, case)

    @staticmethod
    def forward(model, inputs, target):
        return model(*inputs, target)

    @staticmethod
    def loss_of(outputs, target):
        return outputs


class TensorParallel(Sharding):
    """DTensor, as torchtitan lays it out: columns, then rows, of each block; rows of the embedding, columns of the head, whose
    outputs stay apart for the loss (torchtitan/models/llama3/infra/parallelize.py, apply_tp)."""
    loss = staticmethod(loss_parallel)
    scores = {"output_layouts": Shard(-1), "use_local_output": False}

    @staticmethod
    def cases(name):
        ranks = {"perceptron": (2, 8), "mlp-decoder": (2, 8), "decoder": (2, 4)}.get(name, ())
        for number, precision in itertools.product(ranks, ("fp32", "bf16")):   # norms that are no DTensors no optimizer takes beside them
            yield {"ranks": number, "sequence_parallel": name != "perceptron", "precision": precision, "optimizer": "adam"}

    def shard(self, model, mesh, case):
        sequence = case["sequence_parallel"]
        apart = {"output_layouts": Shard(1)} if sequence else {}
        for block in model.h:
            if isinstance(block, nn.Sequential):
                parallelize_module(block, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
                continue
            gathered = {"input_layouts": Shard(1)} if sequence else {}
            plan = {"up": ColwiseParallel(**gathered), "down": RowwiseParallel(**apart)}
            if block.attention:
                plan |= {f"attention.{name}": ColwiseParallel() for name in ("query", "key", "value")}
                plan["attention.out"] = RowwiseParallel(**apart)
                block.attention.heads //= case["ranks"]
                block.attention.kv_heads //= case["ranks"]
            if sequence:
                plan |= {"norm2": SequenceParallel()}
                plan |= {"norm1": SequenceParallel(), "attention": PrepareModuleInput(
                    input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))} if block.attention else {}
            parallelize_module(block, mesh, plan)
        if isinstance(model, Decoder):
            plan = {"embedding": RowwiseParallel(input_layouts=Replicate(), **apart),
                    "head": ColwiseParallel(**self.scores, **({"input_layouts": Shard(1)} if sequence else {}))}
            parallelize_module(model, mesh, plan | ({"norm": SequenceParallel()} if sequence else {}))
        return model


class ContextParallel(Fsdp2):
    """Sequences in parts: each rank is given its own, and PyTorch's dispatcher runs attention over all of them. It replaces the function
    of the name that it is given, which on a card ends in flash attention. These ranks share what is kept, as torchtitan has it."""
    models = {made[0]["name"]: made for made in (
        decoder("attention-decoder", 2, 128, 4, 16, 256),   # attention is the highest, not the loss
        decoder("decoder", 4, 128, 4, 1024, 64))}

    @staticmethod
    def cases(_):
        for number, kind in itertools.product((2, 4, 8), ("ring", "allgather")):
            yield {"ranks": number, "cp_kind": kind, "keeps_gathered": False, "precision": "bf16", "optimizer": "adam", "batch": 32}

    def shard(self, model, mesh, case):
        context.set_rotate_method({"ring": "alltoall"}.get(case["cp_kind"], case["cp_kind"]))

        def scaled_dot_product_attention(q, k, v, is_causal=False, dropout_p=0.0, **_):
            return torch.ops.aten._scaled_dot_product_flash_attention.default(q, k, v, dropout_p, is_causal)[0]
        F.scaled_dot_product_attention = scaled_dot_product_attention
        context._enable_context_parallel_dispatcher_impl(seq_dim=2, mesh=mesh)
        return super().shard(model, mesh, case)

    @staticmethod
    def part(x, ranks):
        return x[:, :x.shape[1] // ranks].contiguous()

    @staticmethod
    def config(made):
        """Of the whole sequence, whose length is a setting."""
        (given,) = made["inputs"]
        batch, sequence = given["shape"]
        return made | {"parameters": {"batch": 4, "sequence": sequence}, "inputs": [given | {"shape": [batch, "sequence"]}]}


def measure(build, library, case, batch):
    extents = library.mesh(case)
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=math.prod(extents.values()))
    try:
        model, x = build(batch)
        x = library.part(x, case["ranks"])
        if case["precision"] in TYPES:
            model, x = model.to(TYPES[case["precision"]]), x.to(TYPES[case["precision"]]) if x.is_floating_point() else x
        mesh = init_device_mesh("cuda", tuple(extents.values()), mesh_dim_names=tuple(extents))
        with pretended_gpu.gpu():
            torch.cuda.is_available = lambda: True
            return run(model, x, mesh, library, case)
    finally:
        dist.destroy_process_group()


def run(model, x, mesh, library, case):
    work = pretended_gpu.on_gpu(Workload(library.wrap(model, case), {"x": x}))
    with ShardedTrace() as trace:
        model = library.shard(work.model, mesh, case)
        optimizer = library.optimizer(model, case)
        tokens = not work.inputs["x"].is_floating_point()
        target = torch.empty_like(work.inputs["x"]) if tokens else None
        inputs = trace.numbers([*work.inputs.values(), *([target] if tokens else [])])
        passes = case.get("accumulate", 1)
        for _ in range(3):
            for number in range(passes):
                with library.alone(model) if case.get("no_sync") and number < passes - 1 else contextlib.nullcontext():
                    trace.enter_phase("forward")
                    outputs = library.forward(model, work.inputs.values(), target)
                    trace.enter_phase("loss")
                    with library.loss():
                        loss = library.loss_of(outputs, target)
                        trace.enter_phase("backward")
                        loss.backward()
            trace.enter_phase("update")
            optimizer.step()
            del outputs, loss
            loss_forms.HELD.clear()
            optimizer.zero_grad()
            trace.enter_phase("between")
    events, phases, _ = added_in_place(trace.events, trace.phases, trace.sums)
    return figures(trace.streams, events, phases, inputs)


def write(path, library):
    lines, failures = [], []
    for name, (made, build) in library.models.items():
        done = []
        for case in library.cases(name):
            try:
                batch = case.get("batch", 4)
                done.append({**case, "batch": batch, **measure(build, library, case, batch)})
            except Exception as error:
                failures.append(f"{name} {case}: {type(error).__name__}: {str(error)[:300]}")
        lines.append('{"name": %s, "config": %s, "cases": [\n%s]}' % (
            json.dumps(name), json.dumps(library.config(made), separators=(",", ":")), ",\n".join(json.dumps(one, separators=(",", ":")) for one in done)))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"versions": {"torch": torch.__version__}})[:-1] + ', "models": [\n' + ",\n".join(lines) + "\n]}\n")
    print("\n".join(failures))


def main(libraries):
    pretend_streams(16)
    torch.Tensor.record_stream = lambda *_: None
    write(Path(sys.argv[2]), libraries[sys.argv[1]]())


if __name__ == "__main__":
    main({"fsdp2": Fsdp2, "fsdp1": Fsdp1, "tp": TensorParallel, "cp": ContextParallel, "losses": Losses})
