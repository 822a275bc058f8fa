"""Networks that nothing here was built with: what a step takes on a card, against what their exports are estimated to take.

    python3 exports.py measure > ../../tests/accuracy/exports-h200.jsonl     on the card
    python3 exports.py export FOLDER                                         anywhere, by both exporters, as the README says
    python3 exports.py compare PLIMSOLL FOLDER FIGURES.jsonl                 what is off, in percent

Needs PyTorch, timm and transformers. Each network is measured and exported in a process of its own.
"""

import json
import os
import statistics
import subprocess
import sys
import time

TIMM = {  # images of a batch
    "coatnet_0_rw_224": 64, "poolformer_s12": 128, "nf_resnet50": 64, "regnety_032": 64, "res2net50_26w_4s": 64, "hrnet_w18": 64,
    "dpn68": 128, "rexnet_100": 128, "ghostnet_100": 256, "convit_small": 64, "pit_s_224": 128, "twins_svt_small": 64,
    "resmlp_24_224": 64, "mixer_b16_224": 64, "cspdarknet53": 64, "deit3_small_patch16_224": 128, "botnet26t_256": 64,
    "seresnext50_32x4d": 64, "crossvit_small_240": 64, "tf_efficientnetv2_s": 64,
}
TRANSFORMERS = {  # sequences of a batch, tokens of each
    "roberta": (32, 128), "electra": (32, 128), "albert": (32, 128), "opt": (8, 512), "gpt_neo": (8, 512),
}


def language_model(name):
    import transformers as t
    base = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    return {
        "roberta": lambda: t.RobertaForSequenceClassification(t.RobertaConfig(num_labels=10)),
        "electra": lambda: t.ElectraForSequenceClassification(t.ElectraConfig(num_labels=10, embedding_size=768, **base)),
        "albert": lambda: t.AlbertForSequenceClassification(t.AlbertConfig(num_labels=10, **base)),
        "opt": lambda: t.OPTForCausalLM(t.OPTConfig(use_cache=False)),
        "gpt_neo": lambda: t.GPTNeoForCausalLM(t.GPTNeoConfig(
            hidden_size=768, num_layers=12, attention_types=[[["global", "local"], 6]], num_heads=12, use_cache=False)),
    }[name]()


def batch_of(name):
    return TIMM.get(name) or TRANSFORMERS[name][0]


def built(name, batch):
    import torch
    if name in TIMM:
        import timm
        network = timm.create_model(name, pretrained=False)
        return network, (torch.randn(batch, *network.default_cfg["input_size"]),)

    class Logits(torch.nn.Module):
        """A network whose output is a tensor, as a graph's is."""

        def __init__(self):
            super().__init__()
            self.network = language_model(name)

        def forward(self, tokens):
            return self.network(input_ids=tokens).logits

    return Logits(), (torch.randint(0, 30000, (batch, TRANSFORMERS[name][1])),)


def measure(name):
    import torch
    network, inputs = built(name, batch_of(name))
    network = network.cuda().train()
    inputs = tuple(x.cuda() for x in inputs)
    optimizer = torch.optim.SGD(network.parameters(), .001, momentum=.9)
    with torch.no_grad():
        shape = network(*inputs).shape
    target = torch.randint(0, shape[-1], shape[:-1], device="cuda").reshape(-1)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(14):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(*inputs).reshape(-1, shape[-1]), target)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
        del loss
    print(json.dumps({"name": name, "batch": batch_of(name), "allocated_peak_bytes": torch.cuda.max_memory_allocated(),
                      "reserved_bytes": torch.cuda.max_memory_reserved(), "step_ms": 1000 * statistics.median(seconds[4:])}))


def export(name, exporter, folder):
    import torch
    network, inputs = built(name, 2)
    file = os.path.join(folder, f"{name}-{exporter}.onnx")
    if exporter == "dynamo":
        torch.onnx.export(network.train(), inputs, file, dynamo=True, optimize=False)
    else:
        torch.onnx.export(network, inputs, file, dynamo=False, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)


def estimated(binary, file, batch):
    done = subprocess.run([binary, "estimate", file, "--gpu", "h200", "--batch", str(batch), "--loss", "cross_entropy", "--json"],
                          capture_output=True, text=True)
    return json.loads(done.stdout)["result"] if done.stdout else None


def compare(binary, folder, figures):
    off = {"peak": [], "reserved": [], "step": []}
    for line in open(figures):
        run = json.loads(line)
        if "name" not in run:
            continue
        for exporter in ("dynamo", "torchscript"):
            file = os.path.join(folder, f"{run['name']}-{exporter}.onnx")
            if not os.path.exists(file):
                continue
            result = estimated(binary, file, run["batch"])
            if result is None:
                print(f"{run['name']:24} {exporter:12} refused")
                continue
            memory, clock = result["memory"], result["time"]
            # The batches measured lay on the card.
            step_ms = (clock["step_ns"] - clock["input_copy_ns"]) / 1e6
            errors = {"peak": memory["allocated_peak_bytes"] / run["allocated_peak_bytes"] - 1,
                      "reserved": memory["reserved_bytes"] / run["reserved_bytes"] - 1, "step": step_ms / run["step_ms"] - 1}
            for key, error in errors.items():
                off[key].append(abs(error))
            print(f"{run['name']:24} {exporter:12}" + "".join(f" {key} {100 * error:+6.1f} %" for key, error in errors.items()))
    for key, errors in off.items():
        print(f"{key}: {len(errors)} exports, median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %")


def each(*arguments):
    """This script for every network, each in its process."""
    for name in [*TIMM, *TRANSFORMERS]:
        subprocess.run([sys.executable, __file__, "one", arguments[0], name, *arguments[1:]], check=False)


if __name__ == "__main__":
    verb = sys.argv[1] if len(sys.argv) > 1 else ""
    if verb == "measure":
        each("measure")
    elif verb == "export":
        each("export", "dynamo", sys.argv[2])
        each("export", "torchscript", sys.argv[2])
    elif verb == "compare":
        compare(*sys.argv[2:5])
    elif verb == "one":
        {"measure": measure, "export": export}[sys.argv[2]](*sys.argv[3:])
    else:
        sys.exit(__doc__)
