"""Training steps and forward passes of whole networks in PyTorch: time, tensors, allocator, card.
Every run is a process of its own, so that its memory is its own.

    python3 networks.py --seconds 500 > networks.jsonl
"""

import argparse
import json
import os
import statistics
import time
import traceback

import torch
import torch.nn.functional as F
import torchvision
import transformers

from timing import kernels_of

MIB = 1 << 20


def image_network(name):
    size = 299 if name == "inception_v3" else 224
    options = {"aux_logits": False, "init_weights": False} if name in ("inception_v3", "googlenet") else {}
    net = torchvision.models.get_model(name, weights=None, **options)
    return net, lambda batch: torch.randn(batch, 3, size, size, device="cuda"), 1000


def language_network(name, tokens):
    kinds = {
        "bert-base": lambda: transformers.BertForMaskedLM(transformers.BertConfig()),
        "bert-large": lambda: transformers.BertForMaskedLM(transformers.BertConfig(
            hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)),
        "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)),
        "gpt2-medium": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_embd=1024, n_layer=24, n_head=16, use_cache=False)),
        "distilbert": lambda: transformers.DistilBertForMaskedLM(transformers.DistilBertConfig()),
    }
    net = kinds[name]()
    return net, lambda batch: torch.randint(0, 30000, (batch, tokens), device="cuda"), net.config.vocab_size


def nvml_bytes():
    """What the driver says this process and the whole card hold."""
    import pynvml
    pynvml.nvmlInit()
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    info = pynvml.nvmlDeviceGetMemoryInfo(card)
    mine = sum(p.usedGpuMemory or 0 for p in pynvml.nvmlDeviceGetComputeRunningProcesses(card))
    return {"process": mine, "used": info.used}


def used():
    free, total = torch.cuda.mem_get_info()
    return total - free


def language_model(hidden, layers, tokens):
    """Zaremba et al.'s: an embedding, an LSTM, the vocabulary; as builtin:lstm-lm."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(10000, hidden)
            self.lstm = torch.nn.LSTM(hidden, hidden, layers)
            self.output = torch.nn.Linear(hidden, 10000)

        def forward(self, words):
            return self.output(self.lstm(self.embedding(words.t()))[0])

    return Net(), lambda batch: torch.randint(0, 10000, (batch, tokens), device="cuda"), 10000


class Output(torch.nn.Module):
    """A network whose output is a tensor, as a graph's is."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        out = self.net(x)
        return out.logits if hasattr(out, "logits") else out


def measure(run, steps_only=False):
    """One run's figures; called in a fresh process. `steps_only`: memory of three steps, no times."""
    torch.set_float32_matmul_precision("highest")
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    result = {"idle_context": used() - torch.cuda.memory_reserved()}
    torch.backends.cudnn.benchmark = run.get("autotuned", False)
    if run["dtype"] == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
    if run["dtype"] == "fp32":
        torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    for name in ("kaiming_normal_", "kaiming_uniform_", "normal_", "trunc_normal_", "uniform_", "xavier_uniform_"):
        setattr(torch.nn.init, name, lambda t, *a, **k: t)
    if run["model"] == "lstm":
        net, make, classes = language_model(run["hidden"], run["layers"], run["tokens"])
    elif run.get("tokens"):
        net, make, classes = language_network(run["model"], run["tokens"])
    else:
        net, make, classes = image_network(run["model"])
    net = net.cuda()
    with torch.no_grad():
        for p in net.parameters():
            p.normal_(0, .02) if p.dim() > 1 else p.fill_(1 if p.dim() else 0)
    training = run["mode"] == "train"
    net.train(training)
    if not training:
        net.requires_grad_(False)
    half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(run["dtype"])
    if half:
        net.to(half)
    if run.get("layout") == "nhwc":
        net = net.to(memory_format=torch.channels_last)
    optimizer = None
    if training:
        optimizer = {"momentum": lambda: torch.optim.SGD(net.parameters(), .001, momentum=.9),
                     "sgd": lambda: torch.optim.SGD(net.parameters(), .001),
                     "adam": lambda: torch.optim.Adam(net.parameters(), 1e-5),
                     "adamw": lambda: torch.optim.AdamW(net.parameters(), 1e-5)}[run["optimizer"]]()
    x = make(run["batch"])
    if half and x.is_floating_point():
        x = x.to(half)
    if run.get("layout") == "nhwc":
        x = x.to(memory_format=torch.channels_last)
    target = x if run.get("tokens") else torch.randint(0, classes, (run["batch"],), device="cuda")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    result["before_step"] = torch.cuda.memory_allocated()
    amp = {"amp-fp16": torch.float16, "amp-bf16": torch.bfloat16}.get(run["dtype"])
    scaler = torch.amp.GradScaler("cuda", enabled=amp == torch.float16)
    if run.get("cuda_graphs"):
        # Weights that autocast keeps would outlive the capture.
        with torch.autocast("cuda", dtype=amp or torch.float16, enabled=amp is not None, cache_enabled=False):
            net = torch.cuda.make_graphed_callables(Output(net), (x.clone(),))

    def forward():
        with torch.autocast("cuda", dtype=amp or torch.float16, enabled=amp is not None):
            out = net(x)
            return out.logits if hasattr(out, "logits") else out

    def train():
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=amp or torch.float16, enabled=amp is not None):
            out = net(x)
            out = out.logits if hasattr(out, "logits") else out
            loss = F.cross_entropy(out.view(-1, classes), target.view(-1))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    step = train if training else torch.no_grad()(forward)
    step()
    torch.cuda.synchronize()
    result["peak_allocated_first"] = torch.cuda.max_memory_allocated()
    for _ in range(2 if steps_only else 3):
        step()
    torch.cuda.synchronize()
    result["peak_allocated"] = torch.cuda.max_memory_allocated()
    result["peak_reserved"] = torch.cuda.max_memory_reserved()
    result["reserved"] = torch.cuda.memory_reserved()
    result["used"] = used()
    if steps_only:
        return result
    try:
        result["nvml"] = nvml_bytes()
    except Exception as e:
        result["nvml"] = str(e)
    times = []
    for _ in range(12):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    result["step_ms"] = statistics.median(times) * 1e3
    begin = time.perf_counter()
    for _ in range(10):
        step()
    submitted = time.perf_counter() - begin
    torch.cuda.synchronize()
    result["queued_ms"] = (time.perf_counter() - begin) * 100
    result["submitted_ms"] = submitted * 100
    result |= kernels_of(step)
    return result


def runs():
    image = ["resnet50", "vgg16", "densenet121", "mobilenet_v2", "vit_b_16", "efficientnet_b0", "alexnet",
             "convnext_tiny", "resnet18", "inception_v3", "resnext50_32x4d", "swin_t", "regnet_y_8gf",
             "squeezenet1_1", "shufflenet_v2_x1_0", "mobilenet_v3_large", "googlenet", "resnet152", "vgg11_bn",
             "mnasnet1_0", "wide_resnet50_2", "efficientnet_v2_s"]
    language = [("bert-base", 128, 32), ("gpt2", 1024, 4), ("bert-large", 512, 4), ("distilbert", 128, 64),
                ("gpt2-medium", 512, 8)]
    first = {"mode": "train", "optimizer": "momentum", "dtype": "pytorch", "batch": 32}
    every = [{**first, "model": m} for m in image]
    for m, tokens, batch in language:
        every.append({**first, "model": m, "tokens": tokens, "batch": batch, "optimizer": "adamw"})
        every.append({**first, "model": m, "tokens": tokens, "batch": batch, "optimizer": "adamw", "dtype": "amp-bf16"})
    every += [{**first, "model": m, "batch": 64, "dtype": "amp-fp16", "optimizer": "adam"} for m in image[:14]]
    every += [{**first, "model": m, "batch": 128} for m in image[:10]]
    every += [{**first, "model": m, "mode": "inference", "dtype": d, "batch": b} for m in image[:8]
              for d, b in (("fp16", 1), ("fp16", 64), ("pytorch", 64))]
    every += [{**first, "model": m, "dtype": "fp32"} for m in image[:8]]
    every += [{**first, "model": m, "tokens": t, "batch": b, "optimizer": "adamw", "dtype": "tf32"}
              for m, t, b in language[:3]]
    every += [{**first, "model": m, "batch": 128, "dtype": "amp-bf16", "layout": "nhwc"} for m in image[:6]]
    every += [{**first, "model": m, "batch": 64, "autotuned": True} for m in image[:6]]
    every += [{**first, "model": m, "batch": 64, "dtype": "amp-fp16", "autotuned": True} for m in image[:4]]
    every += [{**first, "model": m, "batch": 256, "dtype": "bf16", "optimizer": "sgd"} for m in image[:4]]
    every += [{**first, "model": "lstm", "hidden": h, "layers": l, "tokens": 35, "batch": b, "dtype": d}
              for h, l, b in ((650, 2, 20), (1500, 2, 20), (1024, 1, 64), (512, 1, 64), (1024, 2, 128))
              for d in ("pytorch", "amp-fp16")]
    return every + graphed_runs(first)


def graphed_runs(first):
    """The same steps without and with their passes captured as CUDA graphs, where the host is what they wait for."""
    small = [("resnet50", 4), ("resnet50", 32), ("mobilenet_v2", 8), ("efficientnet_b0", 8), ("densenet121", 4), ("vit_b_16", 4),
             ("swin_t", 4), ("resnet18", 8), ("shufflenet_v2_x1_0", 16), ("mobilenet_v3_large", 8)]
    pairs = [{**first, "model": m, "batch": b} for m, b in small]
    pairs += [{**first, "model": m, "batch": 8, "dtype": "amp-bf16"} for m in ("resnet50", "efficientnet_b0")]
    pairs += [{**first, "model": m, "tokens": t, "batch": b, "optimizer": "adamw", "dtype": d} for m, t, b, d in (
        ("bert-base", 128, 4, "pytorch"), ("bert-base", 128, 4, "amp-bf16"), ("gpt2", 256, 1, "pytorch"), ("bert-large", 128, 4, "amp-bf16"))]
    return [{**run, **extra} for run in pairs for extra in ({}, {"cuda_graphs": True})]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10000)
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    torch.set_num_threads(8)
    for index, run in list(enumerate(runs()))[arguments.first:arguments.first + arguments.count]:
        if time.monotonic() > end:
            print(json.dumps({"kind": "stopped", "at": index}), flush=True)
            return
        begin = time.monotonic()
        child = os.fork()  # the libraries are read once; the card is opened in the child alone
        if child == 0:
            try:
                line = {"kind": "network", "index": index, **run, **measure(run)}
            except Exception as e:
                line = {"kind": "failed", "index": index, **run, "error": str(e)[:300],
                        "place": traceback.format_exc()[-300:]}
            line["wall_s"] = round(time.monotonic() - begin, 2)
            print(json.dumps(line), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
