"""From networks.jsonl to the measured-run files of tests/measured: times of steps, and memory.

    python3 pack_networks.py h100 networks.jsonl ../../tests/measured
    python3 pack_networks.py h100 graphs.jsonl ../../tests/measured graphs
"""

import json
import pathlib
import sys

MIB = 1 << 20
# What the script calls them, and the built-in models; networks of others are left out.
MODELS = {"inception_v3": "torchvision/inception_v3", "googlenet": "torchvision/googlenet"}
NOT_BUILT_IN = ("distilbert", "gpt2-medium")
ENVIRONMENT = {"framework": "pytorch", "framework_version": "2.11.0", "cuda": "13.0", "cudnn": "9.19.0"}
CARDS = {"h100": ("h100-sxm-80gb", "H100 80GB HBM3 (SXM)"), "h200": ("h200", "H200")}
GRAPHS = ("With cuda_graphs, forward and backward are captured by torch.cuda.make_graphed_callables, without autocast's cache of weights. ")
NOTES = ("One {} of a virtual machine with 16 processors, driver 580.159.04, November 2026; "
         "calibrate/measure/networks.py: every run a process of its own, synthetic batches on the device, cross "
         "entropy, torchvision 0.26 and transformers 5.17 (BERT and GPT-2 with their language heads). fp32 is "
         "PyTorch's default, which lets convolutions take TF32; modules loaded lazily. ")
TIME = "total_ms: ten steps queued without a wait, after sixteen; gpu_ms: the kernels' own time in one more step. "
MEMORY = ("peak_allocated_mb: PyTorch's allocator, over four steps; nvidia_smi_mb: memory in use on the card (cuMemGetInfo) "
          "after them, which no other process used. ")


def updates(run):
    """Whether parameters were updated, as the peaks tell: where no later step takes more than the first, the optimizer has made no
    state. A loss scaler that finds infinite gradients skips every update; its scale was not recorded."""
    skipped = run["dtype"] == "amp-fp16" and run["peak_allocated"] - run["peak_allocated_first"] < MIB
    return run["mode"] == "train" and not skipped


def key(card, run):
    record = {"device": CARDS[card][0], **ENVIRONMENT, "model": MODELS.get(run["model"], run["model"]), "batch": run["batch"],
              "dtype": {"pytorch": "fp32"}.get(run["dtype"], run["dtype"]),
              "mode": "inference" if run["mode"] == "inference" else "train" if updates(run) else "train_no_update", "input_copy": False,
              "host": card + "-vm"}
    if "tokens" in run:
        record |= {"input": [run["tokens"]], "sequence": "sequence"}
    if updates(run):
        record["optimizer"] = run["optimizer"]
    if "layout" in run:
        record["layout"] = run["layout"]
    if run.get("autotuned"):
        record["cudnn_benchmark"] = True
    if run.get("cuda_graphs"):
        record["cuda_graphs"] = True
    return record


def write(card, path, kind, title, notes, records):
    source = {"title": title, "repository": "plimsoll", "files": ["calibrate/measure/networks.py"],
              "notes": notes.format(CARDS[card][1]).strip()}
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in records)
    path.write_text(f'{{"source": {json.dumps(source)},\n "kind": "{kind}",\n "records": [\n{lines}\n]}}\n')


def main():
    card, lines, folder = sys.argv[1], open(sys.argv[2]), pathlib.Path(sys.argv[3])
    of, name = ("networks", "networks") if len(sys.argv) < 5 else ("networks without and with CUDA graphs", sys.argv[4])
    runs = [json.loads(line) for line in lines]
    # Convolutions without TF32 are no precision that Plimsoll is asked for.
    runs = [r for r in runs if r["kind"] == "network" and r["dtype"] != "fp32" and r["model"] not in NOT_BUILT_IN]
    notes = NOTES + (GRAPHS if any(r.get("cuda_graphs") for r in runs) else "")
    write(card, folder / f"{card}-{name}.json", "model", f"Steps of {of} on an {card.upper()}", notes + TIME,
          [{**key(card, r), "total_ms": round(r["queued_ms"], 3), "gpu_ms": round(r["gpu_ms"], 3)} for r in runs])
    write(card, folder / f"{card}-{name}-memory.json", "memory", f"Memory of {of} on an {card.upper()}", notes + MEMORY,
          [{**key(card, r), "module_loading": "lazy", "peak_allocated_mb": round(r["peak_allocated"] / MIB, 3),
            "nvidia_smi_mb": round(r["used"] / MIB, 1), "unit": "MiB"} for r in runs])


if __name__ == "__main__":
    main()
