"""What PyTorch takes of the host: the process at rest, its loader's workers, and the way to the card.

    python3 host.py > host.jsonl
"""

import json
import os
import time


def resident(process="self", private=False):
    """MiB in memory; `private`: of this process alone, as a forked worker's."""
    sums = {}
    for line in open(f"/proc/{process}/smaps_rollup"):
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            sums[words[0][:-1]] = int(words[1]) / 1024
    return sums["Private_Clean"] + sums["Private_Dirty"] if private else sums["Rss"]


def say(name, **fields):
    print(json.dumps({"kind": "host", "what": name, **fields}), flush=True)


say("interpreter", mib=resident())
import torch
say("import torch", mib=resident())
torch.zeros(1, device="cuda")
say("a tensor on the card", mib=resident())
import torchvision
net = torchvision.models.resnet50(weights=None).cuda()
say("resnet50 on the card", mib=resident())
x = torch.randn(32, 3, 224, 224, device="cuda")
optimizer = torch.optim.SGD(net.parameters(), .01, momentum=.9)
for _ in range(3):
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()
torch.cuda.synchronize()
say("three steps", mib=resident(), modules=os.environ.get("CUDA_MODULE_LOADING", "default"))


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return torch.randn(3, 224, 224), i % 1000


for pinned in (False, True):
    loader = torch.utils.data.DataLoader(Images(), batch_size=32, num_workers=4, pin_memory=pinned)
    batches = iter(loader)
    for _ in range(20):
        next(batches)
    time.sleep(1)
    workers = [w.pid for w in batches._workers]
    say("loader of 4 workers, batches of 32 images", pinned=pinned, process_mib=resident(),
        worker_rss=[round(resident(w), 1) for w in workers],
        worker_private=[round(resident(w, True), 1) for w in workers], batch_mib=32 * 3 * 224 * 224 * 4 / 2**20)
    del batches, loader

for mib in (1, 16, 128):
    for pinned in (False, True):
        source = torch.randn(mib << 18, pin_memory=pinned)
        target = torch.empty_like(source, device="cuda")
        target.copy_(source)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            target.copy_(source, non_blocking=pinned)
        torch.cuda.synchronize()
        say("copy to the card", mib=mib, pinned=pinned, gb_per_s=10 * mib * 2**20 / (time.perf_counter() - begin) / 1e9)
