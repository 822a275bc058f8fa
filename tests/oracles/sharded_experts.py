"""What one rank allocates whose blocks have experts that ranks share, asked of FSDP2 as sharded_models.py asks:

    python sharded_experts.py ../golden/sharded/experts.json
    python sharded_experts.py ../golden/sharded/experts-tp.json tp

Experts have a mesh of their own, of the ranks that have the same ones, where all else is shared among all (ShardPlacementResult), and the
next block is gathered ahead in both passes, as torchtitan has it (torchtitan/distributed/fsdp.py, apply_fsdp_to_decoder()). Weights are
large beside the samples, so that what is gathered when is what is highest. With tp each of the ranks that have an expert has a part of its
features (ExpertTensorParallel, torchtitan/distributed/expert_parallel.py): tokens are sent by all of these alike, and sums are made in place.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import itertools  # noqa: E402  (torch must come after the shim)
import sys  # noqa: E402

import sharded_models  # noqa: E402
import sharded_trace  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from sharded_networks import config  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import unset_fake_temporarily  # noqa: E402
from torch.distributed._functional_collectives import all_to_all_single_autograd  # noqa: E402
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard  # noqa: E402
from torch.distributed.fsdp._fully_shard._fsdp_common import FSDPMeshInfo, ShardPlacementResult  # noqa: E402
from torch.distributed.tensor import Shard  # noqa: E402
from transformers.distributed.parallel_utils import _AllReduceBackward  # noqa: E402

EXPERTS, CHOSEN = 8, 2


class Experts(nn.Module):
    """This rank's, each of a gated MLP: transformers/integrations/moe.py, grouped_mm_experts_forward()."""

    def __init__(self, number, width, inner):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.empty(number, 2 * inner, width))
        self.down_proj = nn.Parameter(torch.empty(number, width, inner))

    def forward(self, rows):
        ends = torch.empty(self.gate_up_proj.shape[0], dtype=torch.int32, device=rows.device)
        gate, up = torch._grouped_mm(rows, self.gate_up_proj.transpose(-2, -1), offs=ends).chunk(2, -1)
        return torch._grouped_mm(F.silu(gate) * up, self.down_proj.transpose(-2, -1), offs=ends)


class Block(nn.Module):
    def __init__(self, number, width, inner):
        super().__init__()
        self.gate, self.experts, self.group = nn.Parameter(torch.empty(EXPERTS, width)), Experts(number, width, inner), None
        self.tensor = None   # ranks that have parts of the same experts

    def forward(self, x):
        scores, chosen = torch.topk(F.softmax(F.linear(x, self.gate).float(), -1), CHOSEN)
        if self.tensor:
            x, scores = (_AllReduceBackward.apply(each, self.tensor) for each in (x, scores))
        order = torch.argsort(chosen.flatten())
        rows = x[order // CHOSEN]
        sent = all_to_all_single_autograd(rows, None, None, self.group)
        back = all_to_all_single_autograd(self.experts(sent[order])[order], None, None, self.group)
        weighted = back * scores.flatten()[order].unsqueeze(-1)
        mixed = weighted[torch.argsort(order)].view(x.shape[0], CHOSEN, -1).sum(1).to(x.dtype)
        return sharded_models.Summed.apply(mixed, self.tensor) if self.tensor else mixed


class Mixture(nn.Module):
    def __init__(self, blocks, number, width, inner):
        super().__init__()
        self.h = nn.ModuleList(Block(number, width, inner) for _ in range(blocks))

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return x


def mixture(name, blocks, width, inner):
    layers = [{"name": "h", "type": "repeat", "count": blocks, "layers": [
        {"name": "gate", "type": "router", "experts": EXPERTS, "chosen": CHOSEN},
        {"name": "experts", "type": "experts", "experts": EXPERTS, "inner": inner, "inputs": ["input", "gate", "gate:1"]}]}]

    def build(batch):
        return Mixture(blocks, EXPERTS // Sharded.shared, width, inner // Sharded.parts), torch.randn(batch, width)
    return config(name, {"name": "x", "shape": ["batch", width]}, layers), build


class Sharded(sharded_models.Sharding):
    models = {made[0]["name"]: made for made in (mixture("mixture", 4, 128, 256), mixture("two-experts", 2, 64, 512))}
    shared = 1   # ranks that share experts
    parts = 1    # of each expert

    @staticmethod
    def cases(_):
        for (experts, shards), precision in itertools.product(((2, 2), (4, 2), (2, 8)), ("bf16", "mixed-bf16")):
            yield {"ranks": experts, "shards": shards, "keeps_gathered": False, "precision": precision, "optimizer": "adam", "batch": 32}

    @staticmethod
    def mesh(case):
        Sharded.shared = case["ranks"]
        return {"efsdp": case["shards"], "ep": case["ranks"]}

    def shard(self, model, mesh, case):
        kind = sharded_models.kind_of(case)
        policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=torch.float32) if kind else MixedPrecisionPolicy()
        with unset_fake_temporarily():   # where ranks are is a question of values
            own, every = mesh["efsdp"], mesh["efsdp", "ep"]._flatten("fsdp")
        of_own, of_all = (FSDPMeshInfo(each, shard_mesh_dim=0) for each in (own, every))
        for block in model.h:
            block.group = mesh["ep"]
            block.tensor = mesh["tp"].get_group() if "tensor" in case else None
            experts = set(block.experts.parameters())
            inside = own.size() > block.experts.gate_up_proj.shape[0]

            def placed(parameter, experts=experts, inside=inside):
                if parameter in experts:
                    return ShardPlacementResult(placement=Shard(1 if inside else 0), mesh_info=of_own)
                return ShardPlacementResult(placement=Shard(0), mesh_info=of_all)
            fully_shard(block, mesh=every, mp_policy=policy, reshard_after_forward=True, shard_placement_fn=placed)
        fully_shard(model, mesh=every, mp_policy=policy)
        blocks = list(model.h)
        for one, following in zip(blocks, blocks[1:]):
            one.set_modules_to_forward_prefetch([following])
            following.set_modules_to_backward_prefetch([one])
        return model


class Split(Sharded):
    """Experts that ranks share, each split between ranks."""

    @staticmethod
    def cases(name):
        for case in Sharded.cases(name):
            yield {**case, "tensor": 2}

    @staticmethod
    def mesh(case):
        Sharded.parts = case["tensor"]
        return Sharded.mesh(case) | {"tp": case["tensor"]}


if __name__ == "__main__":
    sharded_trace.pretend_streams(16)
    torch.Tensor.record_stream = lambda *_: None
    sharded_models.write(sharded_models.Path(sys.argv[1]), Split() if "tp" in sys.argv[2:] else Sharded())
