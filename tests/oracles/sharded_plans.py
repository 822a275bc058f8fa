"""What one rank of a plan of several axes allocates, or of one whose blocks are checkpointed, asked as sharded_models.py asks:

    python sharded_plans.py hsdp ../golden/sharded/hsdp.json
    python sharded_plans.py fsdp-tp ../golden/sharded/fsdp-tp.json
    python sharded_plans.py tp-gathered ../golden/sharded/tp-gathered.json
    python sharded_plans.py checkpoint ../golden/sharded/checkpoint.json
    python sharded_plans.py autocast ../golden/sharded/autocast.json
    python sharded_plans.py lora ../golden/sharded/lora.json
    python sharded_plans.py lora-tp ../golden/sharded/lora-tp.json
    python sharded_plans.py qlora ../golden/sharded/qlora.json
    python sharded_plans.py offload ../golden/sharded/offload.json
    python sharded_plans.py offload-fsdp1 ../golden/sharded/offload-fsdp1.json
    python sharded_plans.py copies ../golden/sharded/copies.json

hsdp: groups of ranks that shard, which replicate each other. fsdp-tp: FSDP2 over ranks that are each several of tensor parallelism, as
torchtitan composes them (torchtitan/models/llama3/infra/parallelize.py). tp-gathered: each rank gathers all scores. checkpoint: blocks that run again in backward. autocast: FSDP's
mixed precision under autocast. offload: CPUOffloadPolicy, by which weights, gradients and states are the host's; offload-fsdp1: FSDP1's CPUOffload. lora: peft's adapters beside frozen
weights of the same units. lora-tp: those of layers that ranks share. qlora: the same beside weights in four bits (packed_linear.py). copies: the
optimizer has copies in 32 bits of parts in 16.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import contextlib  # noqa: E402  (torch must come after the shim)
import functools  # noqa: E402
import itertools  # noqa: E402

import torch  # noqa: E402
from peft import LoraConfig, inject_adapter_in_model  # noqa: E402
from optimizers import OPTIMIZERS  # noqa: E402
from packed_linear import PackedLinear  # noqa: E402
from sharded_models import Fsdp1, Fsdp2, Sharding, TensorParallel, kind_of, main  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily  # noqa: E402
from torch.distributed.device_mesh import DeviceMesh  # noqa: E402
from torch.distributed.fsdp import (CPUOffload, CPUOffloadPolicy, FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy,  # noqa: E402
                                    fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, _or_policy, lambda_auto_wrap_policy  # noqa: E402
from torch.distributed.tensor import DTensor, Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402
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


class GatheredScores(TensorParallel):
    """Of the head's parts each rank gathers all, and computes the usual loss (transformers' plans, "lm_head": "colwise_gather_output")."""
    loss = staticmethod(contextlib.nullcontext)
    scores = {"output_layouts": Replicate()}

    @staticmethod
    def cases(name):
        for case in TensorParallel.cases(name) if "decoder" in name else ():
            yield case | {"split_loss": "gathered"}


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
        model = Adapters.adapted(model, case)
        return Checkpointed.wrap(model, case) if case["checkpoint"] == "blocks" else model

    @staticmethod
    def adapted(model, case):
        with unset_fake_temporarily():
            model = inject_adapter_in_model(LoraConfig(r=case["lora_rank"], target_modules=["up", "down"]), model)
        for name, parameter in model.named_parameters():
            parameter.requires_grad = "lora_" in name
        return model


class SplitAdapters(TensorParallel):
    """Adapters of layers that ranks share as DTensor has it: of those whose outputs are parted the second matrix is too, of those whose inputs
    are the first one, as peft has them (peft/tuners/lora/model.py, _create_and_replace(), 0.21)."""

    @staticmethod
    def cases(name):
        ranks = {"mlp-decoder": (2, 8), "decoder": (2, 4)}.get(name, ())
        for number, checkpoint, precision in itertools.product(ranks, ("none", "blocks"), ("fp32", "bf16")):
            yield {"ranks": number, "sequence_parallel": False, "lora_rank": 8, "checkpoint": checkpoint, "precision": precision, "optimizer": "adam"}

    @staticmethod
    def wrap(model, case):
        return Adapters.adapted(model, case)

    def shard(self, model, mesh, case):
        for block in model.h:
            plan = {"up.base_layer": ColwiseParallel(), "up.lora_B.default": ColwiseParallel(),
                    "down.base_layer": RowwiseParallel(), "down.lora_A.default": RowwiseParallel()}
            if block.attention:
                plan |= {f"attention.{name}": ColwiseParallel() for name in ("query", "key", "value")} | {"attention.out": RowwiseParallel()}
                block.attention.heads //= case["ranks"]
                block.attention.kv_heads //= case["ranks"]
            parallelize_module(block, mesh, plan)
        parallelize_module(model, mesh, {"embedding": RowwiseParallel(input_layouts=Replicate()),
                                         "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)})
        for one in model.parameters():
            one.detach()   # those that nothing changed are seen here first
        return Checkpointed.wrap(model, case) if case["checkpoint"] == "blocks" else model

    @staticmethod
    def parameters(model):
        """Lists of an optimizer take no DTensors beside other tensors."""
        trained = [one for one in model.parameters() if one.requires_grad]
        return [{"params": [one for one in trained if isinstance(one, DTensor) == parted]} for parted in (True, False)]


class Quantized(Either):
    """Linear layers of blocks are stored in four bits, in the type that the others have; up and down have adapters. FSDP1 has each matrix of
    an adapter in a unit of its own (peft/utils/other.py, fsdp_auto_wrap_policy; train.py of AnswerDotAI/fsdp_qlora)."""

    @staticmethod
    def cases(name):
        if name not in ("mlp-decoder", "decoder"):
            return
        for version, ranks, checkpoint in itertools.product((2, 1), (2, 8), ("none", "blocks")):
            yield {"version": version, "ranks": ranks, "lora_rank": 8, "quantize": "nf4-double", "checkpoint": checkpoint, "keeps_gathered": False,
                   "precision": "bf16", "optimizer": "adam"}
        for ranks in (1, 4):
            yield {"version": 2, "ranks": ranks, "lora_rank": 8, "quantize": "nf4-double", "checkpoint": "blocks", "offload": "parameters",
                   "keeps_gathered": False, "precision": "bf16", "optimizer": "adam"}
        yield {"version": 1, "ranks": 4, "lora_rank": 8, "quantize": "nf4-double", "checkpoint": "blocks", "offload": "parameters",
               "keeps_gathered": False, "precision": "bf16", "optimizer": "adam"}

    @staticmethod
    def wrap(model, case):
        model = Adapters.adapted(model, case)
        for block in model.h:
            for name, module in list(block.named_modules()):
                if isinstance(module, nn.Linear) and "lora_" not in name:
                    parent, _, last = name.rpartition(".")
                    setattr(block.get_submodule(parent), last, PackedLinear(module, torch.bfloat16))
        return Checkpointed.wrap(model, case) if case["checkpoint"] == "blocks" else model

    def shard(self, model, mesh, case):
        if case["version"] == 1:
            def is_adapter(module):
                return not list(module.children()) and getattr(module, "weight", None) is not None and module.weight.requires_grad
            blocks = ModuleWrapPolicy({type(model.h[0])})
            policy = functools.partial(_or_policy, policies=[functools.partial(lambda_auto_wrap_policy, lambda_fn=is_adapter), blocks])
            return FullyShardedDataParallel(model, device_mesh=mesh, auto_wrap_policy=policy, use_orig_params=True,
                                            cpu_offload=CPUOffload(offload_params=True) if "offload" in case else None)
        offload = {"offload_policy": CPUOffloadPolicy()} if "offload" in case else {}
        for block in model.h:
            fully_shard(block, mesh=mesh, **offload)
        return fully_shard(model, mesh=mesh, **offload)


def follow_devices():
    """FSDP1 gives an array another device's data: a fake tensor's device is then that one's."""
    data = torch.Tensor.data

    def put(tensor, given):
        data.__set__(tensor, given)
        if isinstance(given, FakeTensor):
            tensor.fake_device = given.fake_device
    FakeTensor.data = property(data.__get__, put)


class FlatOffloaded(Sharding):
    """CPUOffload: FSDP1's arrays, gradients and states in the host's memory."""

    @staticmethod
    def cases(name):
        for precision in ("fp32", "bf16", "mixed-bf16"):
            yield {"version": 1, "ranks": 4, "offload": "parameters", "keeps_gathered": False, "precision": precision, "optimizer": "adam"}

    def shard(self, model, mesh, case):
        kind = kind_of(case)
        policy = MixedPrecision(param_dtype=kind, reduce_dtype=torch.float32, buffer_dtype=kind) if kind else None
        return FullyShardedDataParallel(model, device_mesh=mesh, auto_wrap_policy=ModuleWrapPolicy({type(model.h[0])}), mixed_precision=policy,
                                        use_orig_params=True, cpu_offload=CPUOffload(offload_params=True))


class CopiedUpdate:
    """An optimizer of copies in 32 bits: it makes gradients of theirs, and theirs of both are none after it. What InternEvo's
    FSDPadaptOptimizer does (InternLM/InternEvo, internlm/solver/optimizer/fsdp_optimizer.py, v0.2.1dev20231121), without its norm."""

    def __init__(self, parameters, optimizer):
        self.parameters = [one for one in parameters if local(one).numel()]
        self.copies = [local(one).detach().float() for one in self.parameters]
        self.optimizer = OPTIMIZERS[optimizer](self.copies, 0)[0]

    def step(self):
        wide = [local(one.grad).to(torch.float32) for one in self.parameters]
        for copy, gradient in zip(self.copies, wide):
            copy.grad = gradient
        del wide, copy, gradient
        self.optimizer.step()
        with torch.no_grad():
            for one, copy in zip(self.parameters, self.copies):
                copy.grad = None
                local(one).copy_(copy)

    def zero_grad(self):
        for one in self.parameters:
            one.grad = None


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


class Copies(Either):
    @staticmethod
    def cases(name):
        for version, ranks, optimizer in itertools.product((2, 1), (2, 4), ("adam", "adam-loop")) if "decoder" in name else ():
            yield {"version": version, "ranks": ranks, "master_copies": True, "keeps_gathered": False, "precision": "mixed-bf16", "optimizer": optimizer}

    @staticmethod
    def wrap(model, case):
        return model.to(torch.bfloat16)

    def shard(self, model, mesh, case):
        return super().shard(model, mesh, case | {"precision": "bf16"})

    @classmethod
    def optimizer(cls, model, case):
        return CopiedUpdate(cls.parameters(model), case["optimizer"])


class Offloaded(Sharding):
    """Weights, gradients and states in the host's memory, which a trace of the card does not see."""

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


def pretend():
    """What these libraries ask of a card, its memory and values, which fake tensors have not."""
    torch.Tensor.pin_memory = lambda tensor, *_: tensor   # a question about the host
    torch.Tensor.data_ptr = lambda tensor: tensor.untyped_storage()._cdata   # FSDP1 asks whether an array is another's (_catch_all_reshard)
    computed_for_real(DeviceMesh, "_concatenate")
    torch.cuda.is_bf16_supported = lambda *_, **__: True
    follow_devices()


if __name__ == "__main__":
    pretend()
    main({"hsdp": Hybrid, "fsdp-tp": ShardedTensorParallel, "tp-gathered": GatheredScores, "checkpoint": Checkpointed, "autocast": Autocast, "lora": Adapters, "lora-tp": SplitAdapters, "qlora": Quantized, "offload": Offloaded, "offload-fsdp1": FlatOffloaded,
          "copies": Copies})
