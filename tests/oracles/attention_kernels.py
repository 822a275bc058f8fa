"""Which attention kernel PyTorch takes, and what memory a step then needs, by head size, type and compute capability.

    for c in 61 75 80 86 90; do ORACLE_CAPABILITY=$c python attention_kernels.py ../golden/memory/attention.json; done

One attention layer of four heads over STEPS positions; the loss is the sum. Each run adds its capability's lines.
"""
import pretended_gpu

if __name__ == "__main__":
    pretended_gpu.enter()

import json  # noqa: E402  (torch must come after the shim)
import os  # noqa: E402
import sys  # noqa: E402
from itertools import product  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import memory_oracle  # noqa: E402
import workloads  # noqa: E402
from recipes import Recipe  # noqa: E402
from storage_trace import StorageTrace  # noqa: E402

BATCH, HEADS, STEPS, WIDTH = 8, 4, 44, 64
KERNELS = {"efficient": "memory_efficient", "flash": "flash", "cudnn": "library"}


class Attention(nn.Module):
    def __init__(self, head, kind):
        super().__init__()
        self.options = {"is_causal": kind == "causal", "dropout_p": 0.1 if kind == "dropout" else 0.0}
        self.query, self.key, self.value = (nn.Linear(WIDTH, HEADS * head) for _ in range(3))
        self.output = nn.Linear(HEADS * head, WIDTH)

    def forward(self, x, mask=None):
        def heads(layer):
            return layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        # No names: they would hold what they name until the function returns.
        return self.output(F.scaled_dot_product_attention(heads(self.query), heads(self.key), heads(self.value), mask,
                                                          **self.options).transpose(1, 2).flatten(2))


def build(head, kind):
    inputs = {"x": torch.randn(BATCH, STEPS, WIDTH)}
    if kind == "mask":
        inputs["mask"] = torch.randn(STEPS, STEPS)
    return workloads.Workload(Attention(head, kind), inputs, "sum")


class Watching(StorageTrace):
    """A trace that also sees which kernel ran."""
    kernel = "separate"

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        for word, kernel in KERNELS.items():
            if f"{word}_attention" in str(operator):
                Watching.kernel = kernel
        return super().__torch_dispatch__(operator, types, args, kwargs)


def cases(capability):
    """(head size, precision, kind, mode)"""
    yield from product((32, 33, 36, 40, 66, 100, 200, 256), ("fp32", "fp16", "bf16"), ("plain",), ("momentum",))
    yield from product((36, 64), ("fp32", "fp16", "amp-fp16", "amp-bf16"), ("mask", "causal", "dropout"), ("momentum",))
    yield from product((100, 136), ("fp16", "amp-bf16"), ("plain", "mask"), ("inference",))
    if capability == 86:
        yield from product((208, 248), ("fp16",), ("plain", "dropout"), ("momentum", "inference"))


def main(path):
    capability = int(os.environ["ORACLE_CAPABILITY"])
    rows = json.loads(path.read_text())["cases"] if path.exists() else []
    rows = [row for row in rows if row["capability"] != capability]
    memory_oracle.StorageTrace = Watching
    for head, precision, kind, mode in cases(capability):
        Watching.kernel = "separate"
        workloads.load = lambda *_, head=head, kind=kind: build(head, kind)
        _, case, _ = memory_oracle.measure("", BATCH, mode, Recipe(precision))
        row = {"capability": capability, "head": head, "precision": precision, "kind": kind, "mode": mode,
               "kernel": Watching.kernel}
        if mode != "inference":
            row["saved"] = case["saved"]["after_loss"]["bytes_rounded"]
        rows.append({**row, "peak": case["in_place"]["peak"], "phase": case["in_place"]["phase"]})
    head = json.dumps({"versions": {"torch": torch.__version__, "cudnn": torch._C._cudnn.getRuntimeVersion()}})[:-1]
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in sorted(rows, key=lambda row: row["capability"]))
    path.write_text(f'{head},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
