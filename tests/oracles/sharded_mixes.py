"""What one rank of plans that combine several things allocates, asked as sharded_plans.py asks:

    python sharded_mixes.py mixes ../golden/sharded/mixes.json

Groups that replicate each other with checkpointed blocks, with adapters, or with several passes of which the last one exchanges; weights
that stay gathered in such passes; weights in the host's memory with checkpointed blocks or such passes; adapters of weights that stay
gathered, and of layers that ranks share under FSDP2; checkpointed blocks of such layers; adapters under FSDP1.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import torch  # noqa: E402  (torch must come after the shim)
from sharded_models import Fsdp1, Fsdp2, Sharding, TensorParallel, kind_of, main  # noqa: E402
from sharded_plans import Adapters, Checkpointed, SplitAdapters, pretend  # noqa: E402
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard  # noqa: E402
from torch.distributed.tensor.parallel import loss_parallel  # noqa: E402

PLAN = {"version": 2, "ranks": 4, "keeps_gathered": False, "checkpoint": "none", "precision": "mixed-bf16", "optimizer": "adam"}
LAST = {"accumulate": 2, "no_sync": True}
PLANS = {
    "groups, checkpointed": {"replicas": 2, "checkpoint": "blocks"},
    "groups, last pass": {"replicas": 2, **LAST},
    "groups, adapters": {"replicas": 2, "lora_rank": 8},
    "groups of FSDP1, last pass": {"version": 1, "replicas": 2, **LAST},
    "gathered, last pass": {"keeps_gathered": True, **LAST},
    "gathered, every pass": {"keeps_gathered": True, "accumulate": 2},
    "gathered, checkpointed": {"keeps_gathered": True, "checkpoint": "blocks"},
    "gathered, adapters": {"keeps_gathered": True, "lora_rank": 8},
    "host, checkpointed": {"offload": "parameters", "checkpoint": "blocks"},
    "host, last pass": {"offload": "parameters", **LAST},
    "adapters, last pass": {"lora_rank": 8, **LAST},
    "adapters of FSDP1": {"version": 1, "lora_rank": 8, "precision": "bf16"},
}
SPLIT = {"ranks": 2, "shards": 2, "keeps_gathered": False, "checkpoint": "none", "precision": "mixed-bf16", "optimizer": "adam"}
SPLIT_PLANS = {
    "split, adapters": {"sequence_parallel": False, "lora_rank": 8, "precision": "bf16"},
    "split, adapters, checkpointed": {"sequence_parallel": False, "lora_rank": 8, "precision": "bf16", "checkpoint": "blocks"},
    "split, checkpointed": {"sequence_parallel": True, "checkpoint": "blocks"},
    "split, last pass": {"sequence_parallel": True, **LAST},
}


class Mixes(Sharding):
    @staticmethod
    def cases(name):
        if name not in ("mlp-decoder", "decoder"):
            return
        for plan, case in PLANS.items():
            yield {"plan": plan, **PLAN, **case}
        for plan, case in SPLIT_PLANS.items():
            yield {"plan": plan, **SPLIT, **case}

    @staticmethod
    def mesh(case):
        if "shards" in case:
            return {"dp": case["shards"], "tp": case["ranks"]}
        return {"replicate": case["replicas"], "shard": case["ranks"]} if "replicas" in case else {"ranks": case["ranks"]}

    @staticmethod
    def wrap(model, case):
        return Adapters.adapted(model, case) if "lora_rank" in case else model

    def shard(self, model, mesh, case):
        if "shards" in case:
            split = SplitAdapters() if "lora_rank" in case else TensorParallel()
            model = split.shard(model, mesh["tp"], {**case, "checkpoint": "none"})
            mesh = mesh["dp"]
        if case["checkpoint"] == "blocks":
            model = Checkpointed.wrap(model, case)
        if "offload" in case:
            return self.offloaded(model, mesh, case)
        self.library = (Fsdp2 if case.get("version", 2) == 2 else Fsdp1)()
        return self.library.shard(model, mesh, case)

    def offloaded(self, model, mesh, case):
        self.library = Fsdp2()
        policy = MixedPrecisionPolicy(param_dtype=kind_of(case), reduce_dtype=torch.float32)
        for block in model.h:
            fully_shard(block, mesh=mesh, mp_policy=policy, offload_policy=CPUOffloadPolicy())
        return fully_shard(model, mesh=mesh, mp_policy=policy, offload_policy=CPUOffloadPolicy())

    def alone(self, model):
        return self.library.alone(model)

    @staticmethod
    def parameters(model):
        return [one for one in model.parameters() if one.requires_grad]

    @staticmethod
    def loss():
        return loss_parallel()   # of scores that are no parts it is the usual one


if __name__ == "__main__":
    pretend()
    main({"mixes": Mixes})
