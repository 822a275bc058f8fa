"""Writes tests/golden/ddp/buckets.json: the buckets into which PyTorch's DistributedDataParallel
puts gradients. Needs torch and torchvision; no GPU."""

import json
import pathlib

import torch
import torchvision
from torch._C._distributed_c10d import _compute_bucket_assignment_by_size as assign
from torch._C._distributed_c10d import _DEFAULT_FIRST_BUCKET_BYTES as FIRST

OUT = pathlib.Path(__file__).parent.parent / "golden" / "ddp" / "buckets.json"
MIB = 1 << 20


def case(name, sizes, cap, half=()):
    types = [torch.float16 if half and half[i] else torch.float32 for i in range(len(sizes))]
    tensors = [torch.empty(n, dtype=t, device="meta") for n, t in zip(sizes, types)]
    buckets = [sum(sizes[i] * tensors[i].element_size() for i in bucket)
               for bucket in assign(tensors, [FIRST, cap])[0]]
    return {"model": name, "cap": cap, "half": list(half), "buckets": buckets, "parameters": sizes}


def main():
    models = []
    for name in ("resnet18", "vgg16", "mobilenet_v2", "vit_b_16"):
        with torch.device("meta"):
            model = getattr(torchvision.models, name)()
        sizes = [p.numel() for p in model.parameters() if p.requires_grad][::-1]
        models.append(case(name, sizes, 25 * MIB))
        if name == "resnet18":
            models.append(case("resnet18, 5 MiB", sizes, 5 * MIB))
            models.append(case("resnet18, mixed", sizes, 25 * MIB, [i % 2 for i in range(len(sizes))]))
    source = ("torch._C._distributed_c10d._compute_bucket_assignment_by_size of torch "
              f"{torch.__version__}, torchvision {torchvision.__version__}: trainable parameters last "
              "first, limits of the first bucket and of the others; mixed has every other parameter in "
              "half precision")
    lines = ",\n".join("  " + json.dumps(m) for m in models)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(f'{{\n "schema": "plimsoll.bucket-golden", "version": 1,\n "source": '
                   f'{json.dumps(source)},\n "first_bytes": {FIRST},\n "models": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
