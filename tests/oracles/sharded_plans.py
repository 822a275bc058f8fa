"""What one rank of a plan of several axes allocates, or of one whose blocks are checkpointed, asked as sharded_models.py asks:

    python sharded_plans.py hsdp ../golden/sharded/hsdp.json
    python sharded_plans.py fsdp-tp ../golden/sharded/fsdp-tp.json
    python sharded_plans.py checkpoint ../golden/sharded/checkpoint.json
    python sharded_plans.py autocast ../golden/sharded/autocast.json
    python sharded_plans.py lora ../golden/sharded/lora.json
    python sharded_plans.py offload ../golden/sharded/offload.json

hsdp: groups of ranks that shard, which replicate each other. fsdp-tp: FSDP2 over ranks that are each several of tensor parallelism, as
torchtitan composes them (torchtitan/models/llama3/infra/parallelize.py). checkpoint: blocks that run again in backward. autocast: FSDP's
mixed precision under autocast. offload: CPUOffloadPolicy, by which weights, gradients and states are the host's. lora: peft's adapters beside frozen
weights of the same units.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import itertools  # noqa: E402  (torch must come after the shim)

import torch  # noqa: E402
from peft import LoraConfig, inject_adapter_in_model  # noqa: E402
from sharded_models import Fsdp1, Fsdp2, Sharding, TensorParallel, kind_of, main  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import unset_fake_temporarily  # noqa: E402
from torch.distributed.device_mesh import DeviceMesh  # noqa: E402
from torch.distributed.fsdp import (CPUOffloadPolicy, FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy,  # noqa: E402
                                    fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy  # noqa: E402
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper  # noqa: E402


def computed_for_real(cls, name):
    """Where ranks are in a mesh is a question of values, which fake tensors have not."""
    made = getattr(cls, name)

    def real(*args, **kwargs):
        with unset_fake_temporarily():
            return made(*args, **kwargs)
    setattr(cls, name, staticmethod(real))


class Either(Sharding):
    """FSDP2's or FSDP1's."""

    def shard(self, model, mesh, case):
        return (Fsdp2 if case["version"] == 2 else Fsdp1)().shard(model, mesh, case)


class Hybrid(Either):
    @staticmethod
    def cases(name):
        for version, precision in itertools.product((2, 1), ("fp32", "bf16", "mixed-bf16")):
            yield {"version": version, "ranks": 4, "replicas": 2, "keeps_gathered": False, "precision": precision, "optimizer": "adam"}

    @staticmethod
    def mesh(case):
        return {"replicate": case["replicas"], "shard": case["ranks"]}


class ShardedTensorParallel(TensorParallel):
    @staticmethod
    def cases(name):
        ranks = {"mlp-decoder": (2, 4), "decoder": (2, 4)}.get(name, ())
        for number, precision in itertools.product(ranks, ("fp32", "bf16", "mixed-bf16")):
            yield {"ranks": number, "shards": 2, "sequence_parallel": True, "keeps_gathered": False, "precision": precision, "optimizer": "adam"}

    @staticmethod
    def mesh(case):
        return {"dp": case["shards"], "tp": case["ranks"]}

    def shard(self, model, mesh, case):
        return Fsdp2().shard(super().shard(model, mesh["tp"], case), mesh["dp"], case)


class Autocast(Either):
    """As accelerate has it: FSDP gathers and sums in 16 bits what is kept in 32, and forward pass and loss run under autocast
    (accelerate/utils/dataclasses.py, FullyShardedDataParallelPlugin.set_mixed_precision(); accelerator.py, prepare_model())."""

    @staticmethod
    def cases(name):
        for version in (2, 1):
            yield {"version": version, "ranks": 4, "keeps_gathered": False, "precision": "mixed-amp-bf16", "optimizer": "adam"}

    def shard(self, model, mesh, case):
        half = torch.bfloat16
        if case["version"] == 1:
            policy = MixedPrecision(param_dtype=half, reduce_dtype=half, buffer_dtype=half)
            return FullyShardedDataParallel(model, device_mesh=mesh, auto_wrap_policy=ModuleWrapPolicy({type(model.h[0])}), mixed_precision=policy,
                                            use_orig_params=True)
        policy = MixedPrecisionPolicy(param_dtype=half, reduce_dtype=half, output_dtype=half)
        for block in model.h:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        return fully_shard(model, mesh=mesh, mp_policy=policy)

    @staticmethod
    def forward(model, inputs, target):
        with torch.autocast("cuda", torch.bfloat16):
            return model(*inputs)

    @staticmethod
    def loss_of(outputs, target):
        with torch.autocast("cuda", torch.bfloat16):
            return Sharding.loss_of(outputs, target)


class Checkpointed(Either):
    @staticmethod
    def cases(name):
        if name == "perceptron":
            return
        for version, precision in itertools.product((2, 1), ("fp32", "bf16", "mixed-bf16")):
            yield {"version": version, "ranks": 4, "checkpoint": "blocks", "keeps_gathered": False, "precision": precision, "optimizer": "adam"}

    @staticmethod
    def wrap(model, case):
        wrapped = (checkpoint_wrapper(block, checkpoint_impl=CheckpointImpl.NO_REENTRANT, preserve_rng_state=False) for block in model.h)
        model.h = nn.ModuleList(wrapped)
        return model


class Adapters(Fsdp2):
    """Linear layers of blocks have adapters, which alone are trained."""

    @staticmethod
    def cases(name):
        if name == "perceptron":
            return
        for ranks, checkpoint, precision in itertools.product((2, 8), ("none", "blocks"), ("fp32", "mixed-bf16")):
            yield {"ranks": ranks, "lora_rank": 8, "checkpoint": checkpoint, "keeps_gathered": False, "precision": precision, "optimizer": "adam"}

    @staticmethod
    def wrap(model, case):
        with unset_fake_temporarily():
            model = inject_adapter_in_model(LoraConfig(r=case["lora_rank"], target_modules=["up", "down"]), model)
        for name, parameter in model.named_parameters():
            parameter.requires_grad = "lora_" in name
        return Checkpointed.wrap(model, case) if case["checkpoint"] == "blocks" else model


class Offloaded(Sharding):
    """Weights, gradients and states in the host's memory, which a trace of the card does not see. FSDP1 gives an array another device's
    data, which fake tensors do not follow: it is not among them."""

    @staticmethod
    def cases(name):
        made = {"version": 2, "ranks": 4, "offload": "parameters", "keeps_gathered": False, "optimizer": "adam"}
        for precision in ("fp32", "bf16", "mixed-bf16"):
            yield made | {"precision": precision}
        for precision in ("fp32", "mixed-bf16"):
            yield made | {"ranks": 1, "precision": precision}
        yield made | {"keeps_gathered": True, "precision": "mixed-bf16"}
        yield made | {"accumulate": 2, "precision": "mixed-bf16"}

    def shard(self, model, mesh, case):
        kind = kind_of(case)
        policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=torch.float32) if kind else MixedPrecisionPolicy()
        for block in model.h:
            fully_shard(block, mesh=mesh, mp_policy=policy, offload_policy=CPUOffloadPolicy(), reshard_after_forward=not case["keeps_gathered"])
        return fully_shard(model, mesh=mesh, mp_policy=policy, offload_policy=CPUOffloadPolicy())


if __name__ == "__main__":
    torch.Tensor.pin_memory = lambda tensor, *_: tensor   # a question about the host
    computed_for_real(DeviceMesh, "_concatenate")
    torch.cuda.is_bf16_supported = lambda *_, **__: True
    main({"hsdp": Hybrid, "fsdp-tp": ShardedTensorParallel, "checkpoint": Checkpointed, "autocast": Autocast, "lora": Adapters, "offload": Offloaded})
