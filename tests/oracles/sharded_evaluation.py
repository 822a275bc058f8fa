"""What one rank of FSDP2 and FSDP1 takes while transformers' Trainer evaluates between steps, asked as sharded_models.py asks, with the
loop of evaluation_steps.py:

    ORACLE_CAPABILITY=90 python sharded_evaluation.py ../golden/sharded/evaluation.json

`step` and `evaluation` are peaks of living bytes, `stays` what lives between them. `gathered` is eval_accumulation_steps: ranks gather each
other's logits as accelerate has it (utils/operations.py, _gpu_gather(): into one array of all).
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import importlib.metadata  # noqa: E402
import itertools  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import transformers  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import (FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard)  # noqa: E402
from torch.distributed.fsdp.wrap import ModuleWrapPolicy  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

import evaluation_steps  # noqa: E402
import family_steps  # noqa: E402
from optimizers import OPTIMIZERS  # noqa: E402
from recipes import Recipe  # noqa: E402
from sharded_models import kind_of  # noqa: E402
from sharded_trace import ShardedTrace, pretend_streams  # noqa: E402
from storage_trace import added_in_place  # noqa: E402

RANKS = 4
FAMILY = "llama"
CASES = [{"version": version, "precision": precision, "gathered": gathered}
         for version, precision, gathered in itertools.product((2, 1), ("fp32", "bf16", "mixed-bf16"), (0, evaluation_steps.BATCHES))]


def gather_all(tensor):
    whole = torch.empty(RANKS * tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    dist.all_gather_into_tensor(whole, tensor.contiguous())
    return whole.view(-1, *tensor.size()[1:])


class Loop(evaluation_steps.Loop):
    def __init__(self, model, optimizer, gathered):
        super().__init__(model, optimizer, gathered)
        self.gather_function = gather_all


def sharded(model, mesh, case):
    kind, blocks = kind_of(case), list(model.model.layers)
    if case["version"] == 1:
        policy = MixedPrecision(param_dtype=kind, reduce_dtype=torch.float32, buffer_dtype=kind) if kind else None
        return FullyShardedDataParallel(model, device_mesh=mesh, auto_wrap_policy=ModuleWrapPolicy({type(blocks[0])}), mixed_precision=policy,
                                        use_orig_params=True)
    policy = MixedPrecisionPolicy(param_dtype=kind, reduce_dtype=torch.float32) if kind else MixedPrecisionPolicy()
    for block in blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy)


def highest(events, first, last):
    """Most bytes that live at once between two positions of the events."""
    living = most = 0
    for at, (kind, _, size) in enumerate(events[:last]):
        living += size if kind == "alloc" else -size
        if at >= first:
            most = max(most, living)
    return most


def measure(case):
    class_name, values, _ = family_steps.FAMILIES[FAMILY]
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
    try:
        whole = "fp32" if kind_of(case) else case["precision"]
        work = Recipe(whole).typed(family_steps.workload(class_name, values, "sdpa"))
        mesh = init_device_mesh("cuda", (RANKS,))
        with pretended_gpu.gpu():
            torch.cuda.is_available = lambda: True
            work = pretended_gpu.on_gpu(work)
            with ShardedTrace() as trace:
                model = sharded(work.model.train(), mesh, case)
                optimizer = OPTIMIZERS["adam"](list(model.parameters()), 0)[0]
                trace.numbers(work.inputs.values())
                for _ in range(3):
                    model.train()
                    trace.enter_phase("step")
                    loss = model(**work.inputs).loss
                    trace.enter_phase("backward")
                    loss.backward()
                    trace.enter_phase("update")
                    optimizer.step()
                    del loss
                    optimizer.zero_grad()
                    trace.enter_phase("evaluation")
                    Loop(model, optimizer, case["gathered"]).evaluation_loop(evaluation_steps.batches(values["vocab_size"]), "Evaluation",
                                                                            prediction_loss_only=None if case["gathered"] else True)
                    trace.enter_phase("between")
        events, phases, _ = added_in_place(trace.events, trace.phases, trace.sums)
        at = {name: [place for place, phase in phases if phase == name][-1] for name in ("step", "evaluation", "between")}
        stays = sum(size if kind == "alloc" else -size for kind, _, size in events[:at["evaluation"]])
        return {**case, "stays": stays, "step": highest(events, at["step"], at["evaluation"]), "evaluation": highest(events, at["evaluation"], at["between"])}
    finally:
        dist.destroy_process_group()


def main():
    warnings.filterwarnings("ignore")
    pretend_streams(16)
    torch.cuda.empty_cache = lambda: None
    torch.Tensor.record_stream = lambda *_: None
    transformers.trainer_pt_utils.nested_numpify = lambda tensors: numpy.zeros(1)
    transformers.trainer.has_length = lambda dataset: False
    Loop.num_examples = lambda self, loader: evaluation_steps.EVALUATION_BATCH * evaluation_steps.BATCHES
    class_name, values, _ = family_steps.FAMILIES[FAMILY]
    config = {"model_type": getattr(transformers, class_name).config_class.model_type, **values}
    cases = [measure(case) for case in CASES]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "accelerate")}
    head = {"versions": versions, "ranks": RANKS, "batch": family_steps.BATCH, "sequence": family_steps.LENGTH,
            "evaluation_batch": evaluation_steps.EVALUATION_BATCH, "batches": evaluation_steps.BATCHES, "config": config}
    Path(sys.argv[1]).write_text(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
