"""Programs of one rank of several, as `torchrun` starts them: each builds its model, shares it, and returns its step.

CASES: name -> (program, inputs, ranks, rank). A stage of a pipeline is PyTorch's own, in two schedules, first, middle and last.
"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed import pipelining

from sharded_networks import MODELS, Block, Decoder
from sharded_models import Fsdp1, Fsdp2, TensorParallel

RANKS, STAGES, MICRO = 8, 3, 4
CASES = {}


def tokens(batch, length, vocabulary):
    return torch.randint(0, vocabulary, (batch, length))


NETWORKS = {   # three, whose tensors all divide by eight
    "perceptron": (lambda: MODELS["perceptron"][1](16)[0], torch.zeros(16, 256)),
    "decoder": (lambda: Decoder(3, 256, 8, 4096), tokens(4, 128, 4096)),
    "large-decoder": (lambda: Decoder(4, 512, 8, 16000), tokens(4, 256, 16000))}


def shared(library, network, **options):
    """A whole step, whose loss is the library's own where it shares the head."""
    def program():
        from torch.distributed.device_mesh import init_device_mesh
        case = {"ranks": RANKS, "keeps_gathered": False, "precision": "fp32", "sequence_parallel": network != "perceptron", **options}
        model = library.shard(NETWORKS[network][0](), init_device_mesh("cuda", (RANKS,)), case)
        update = torch.optim.AdamW(model.parameters(), foreach=not isinstance(library, TensorParallel))

        def step(x):
            outputs = model(x)
            with library.loss():
                loss = library.loss_of(outputs, None if x.is_floating_point() else x)
                loss.backward()
            del outputs, loss
            update.step()
            update.zero_grad()
        return step
    return program, (NETWORKS[network][1],), RANKS, 0


class Stage(nn.Module):
    """Of a decoder's blocks: the first has the embedding, the last the head."""

    def __init__(self, rank, width=64, vocabulary=512):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width) if rank == 0 else None
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(2)))
        self.head = nn.Linear(width, vocabulary, bias=False) if rank == STAGES - 1 else None

    def forward(self, x):
        x = self.blocks(x if self.embedding is None else self.embedding(x))
        return x if self.head is None else self.head(x)


def staged(schedule, rank, batch=8, length=32, width=64, vocabulary=512):
    ids = tokens(batch, length, vocabulary)

    def program():
        device, rows = torch.device("cuda", 0), batch // MICRO

        def told(last):
            return (torch.empty(rows, length, vocabulary if last else width, device="meta", requires_grad=True),)

        part = Stage(rank, width, vocabulary).to(device)
        given = (torch.empty(rows, length, dtype=torch.long, device="meta"),) if rank == 0 else told(False)
        stage = pipelining.PipelineStage(part, rank, STAGES, device, input_args=given, output_args=told(rank == STAGES - 1))
        passes = getattr(pipelining, schedule)(stage, n_microbatches=MICRO, loss_fn=lambda y, wanted: F.cross_entropy(y.flatten(0, 1), wanted.flatten()))
        update = torch.optim.AdamW(part.parameters())

        def step(ids):
            if rank == 0:
                passes.step(ids)
            elif rank == STAGES - 1:
                passes.step(target=ids, losses=[])
            else:
                passes.step()
            update.step()
            update.zero_grad()
        return step
    return program, (ids,), STAGES, rank


for _network in NETWORKS:
    for _name, _library in (("fsdp2", Fsdp2()), ("fsdp1", Fsdp1()), ("tp", TensorParallel())):
        CASES[f"{_network}_{_name}"] = shared(_library, _network)
CASES["large-decoder_fsdp2_mixed"] = shared(Fsdp2(), "large-decoder", precision="mixed-bf16", keeps_gathered=True)
for _schedule in ("ScheduleGPipe", "Schedule1F1B"):
    for _rank, _place in enumerate(("first", "middle", "last")):
        CASES[f"{_schedule.removeprefix('Schedule').lower()}_{_place}"] = staged(_schedule, _rank)
