"""Sums up lines of `validate --json` by class and puts the table between README.md's accuracy markers.

    python3 table.py README.md FOLDER-OF-JSON-FILES
"""
import json
import sys
from pathlib import Path
from statistics import mean, median

from hosts import without_machine, without_network
from records import CARDS_OF_ALGORITHMS, calibrated, is_step, load, named, on_several, training, uncalibrated

BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"
H100 = "h100-sxm-80gb"


def kernel(l, op):
    return l["kind"] == "kernel" and l["op"] == op


def recurrent(l):
    return kernel(l, "rnn")


def grouped(l):
    return int(l["run"].get("groups") or 1) > 1


def depthwise(l):
    return grouped(l) and l["run"]["groups"] == l["run"]["c"]


def rows(l, *ops):
    return l["kind"] == "kernel" and l["op"] in ops and (l["measured"] or 0) > .15


def against_pytorch(quantity, *forms, training=True):
    return lambda l: (l["kind"] == "oracle" and l["quantity"] == quantity and l["form"] in forms
                      and (l["mode"] != "inference") == training)


def in_file(source, *quantities):
    return lambda l: l["source"] == source and l["quantity"] in quantities


def scratch(quantity):
    return lambda l: l["kind"] == "workspace" and l["quantity"] == quantity


def of_today(**wanted):
    """Published steps of 2020 and later (tests/measured/steps2-*.json)."""
    return lambda l: (l["source"].startswith("steps2-") and l["quantity"] == "total_ms"
                      and all(str(l["run"].get(key)).startswith(value) for key, value in wanted.items()))


steps_on_h100 = in_file("h100-networks", "total_ms")
STATES = ("parameters_bytes", "buffers_bytes", "gradients_bytes", "optimizer_state_bytes")
BOTH = ("train-ts", "train-dy")
PROCESS = ("nvidia_smi_mb", "device_used_mb")

# What the table shows, in order: title, and which lines it takes.
CLASSES = [
    ("against PyTorch's own dispatch, training exports: weights, buffers, gradients, optimizer state",
     lambda l: any(against_pytorch(q, *BOTH)(l) for q in STATES)),
    ("... tensors saved for backward, TorchScript exporter", against_pytorch("saved_bytes", "train-ts")),
    ("... ... newer exporter", against_pytorch("saved_bytes", "train-dy")),
    ("... peak of live tensors, TorchScript exporter", against_pytorch("live_peak_bytes", "train-ts")),
    ("... ... newer exporter", against_pytorch("live_peak_bytes", "train-dy")),
    ("... phase of the peak, both", against_pytorch("peak_phase", *BOTH)),
    ("... peak of training, inference exports (batch norm folded), dropout given", against_pytorch("live_peak_bytes", "eval-ts")),
    ("... peak of inference, all exports", against_pytorch("live_peak_bytes", *BOTH, "eval-ts", training=False)),
    ("memory of the process (nvidia-smi)", lambda l: l["quantity"] in PROCESS),
    ("... PyTorch, timm's networks (GPUMemNet)", in_file("gpumemnet-timm-memory", *PROCESS)),
    ("... PyTorch, perceptrons (GPUMemNet)", in_file("gpumemnet-mlp-memory", *PROCESS)),
    ("... PyTorch, SchedTune", in_file("schedtune-memory", *PROCESS)),
    ("... PyTorch 2.11 on H100 (calibrate/measure)", in_file("h100-networks-memory", *PROCESS)),
    ("... ... on H200", in_file("h200-networks-memory", *PROCESS)),
    ("... five frameworks, inference (DLInfBench)", in_file("dlinfbench-memory", *PROCESS)),
    ("... Torch7 and PyTorch, DenseNets (G. Huang, G. Pleiss)", in_file("densenet-memory", *PROCESS)),
    ("... taken of the card, PyTorch and TensorFlow (Torres)", in_file("seeds-torres-memory", *PROCESS)),
    ("... what an image more takes, from batch 64 to 128 (GPUMemNet)", lambda l: l["quantity"] == "mb_per_image"),
    ("memory in tensors, as frameworks count it", lambda l: l["quantity"] in ("peak_allocated_mb", "train_memory_gb")),
    ("... Caffe2, detectors (Detectron's model zoo)", in_file("detectron-model-zoo", "train_memory_gb")),
    ("... TensorFlow (Salus)", in_file("salus-workloads-memory", "peak_allocated_mb")),
    ("... PyTorch 2.11 on H100, training", lambda l: in_file("h100-networks-memory", "peak_allocated_mb")(l) and training(l)),
    ("... ... forward passes", lambda l: in_file("h100-networks-memory", "peak_allocated_mb")(l) and not training(l)),
    ("share of feature maps in all memory (TBD)", in_file("seeds-tbd", "feature_map_fraction_of_memory_pct")),
    ("scratch memory of a convolution (errors: above 1 MiB): cuDNN 9.10's plans, engine and tile given, no tensor cores, 6.1, 7.0",
     lambda l: scratch("given")(l) and l["device"] != "sm_75"),
    ("... ... 7.5", lambda l: scratch("given")(l) and l["device"] == "sm_75"),
    ("... of its first plan, where the tables have the layer, 6.1 to 9.0", scratch("first")),
    ("... by the rule alone, 62 networks in five folds, fp32, 6.1 (exact: to 512 B): forward", scratch("rule fprop")),
    ("... ... backward to data", scratch("rule dgrad")),
    ("... ... backward to weights", scratch("rule wgrad")),
    ("... ... largest of a network at batch 32 (exact: to 4 MiB)", scratch("largest")),
    ("... above 1 MiB that an H100 gave out, TF32 and 16 bits", scratch("used")),
    ("storages of Torch7's modules, plain and shared (optnet)", in_file("optnet-memory", "total_mb")),
    ("memory of the host's process", lambda l: l["quantity"] == "host_mb" and l["device"] != "host"),
    ("memory of a host with all that ran on it, framework not named (Mahendran)", in_file("seeds-mahendran", "host_mb")),
    ("step or forward pass, one GPU", is_step),
    ("... on cards whose kernels were measured (TITAN X, Xp, P100, M40, 1080 Ti), fp32", calibrated),
    ("... ... training steps alone", lambda l: calibrated(l) and training(l)),
    ("... on cards in no calibration, fp32", uncalibrated),
    ("... ... training steps alone", lambda l: uncalibrated(l) and training(l)),
    ("... of PyTorch 2.11 on H100 (measured by calibrate/measure; kernels fitted alone), fp32 and TF32",
     lambda l: steps_on_h100(l) and "16" not in l["dtype"]),
    ("... ... in 16 bits", lambda l: steps_on_h100(l) and "16" in l["dtype"]),
    ("... ... on H200, whose kernels no fit has seen, all", in_file("h200-networks", "total_ms")),
    ("... published since 2020, machine not told; constants of what is carried to other cards chosen on these", of_today()),
    ("... ... RTX 3090", of_today(device="rtx-3090")),
    ("... ... RTX 4090", of_today(device="rtx-4090")),
    ("... ... A100", of_today(device="a100")),
    ("... ... V100", of_today(device="tesla-v100")),
    ("... ... RTX 2080 Ti", of_today(device="rtx-2080-ti")),
    ("... ... training", of_today(mode="train")),
    ("... ... inference", of_today(mode="inference")),
    ("... ... batches of 1 to 8", lambda l: of_today()(l) and l["run"]["batch"] <= 8),
    ("... in 16 bits", lambda l: is_step(l) and "16" in l["dtype"]),
    ("... in 64 bits", lambda l: is_step(l) and l["dtype"] == "fp64"),
    ("step, several GPUs and one beside them", on_several),
    ("forward part of a step", lambda l: l["quantity"] == "forward_ms"),
    ("backward part of a step", lambda l: l["quantity"] == "backward_ms"),
    ("one layer in a framework", lambda l: l["kind"] == "layer"),
    ("all-reduce", lambda l: l["kind"] == "scaling" and l["quantity"] == "time_ms"),
    ("element-wise kernels above 0.15 ms", lambda l: rows(l, "elementwise")),
    ("layer norm above 0.15 ms", lambda l: rows(l, "layernorm")),
    ("softmax above 0.15 ms", lambda l: rows(l, "softmax")),
    ("convolutions (calibrated on these)", lambda l: kernel(l, "conv") and l["device"] != H100),
    ("... cuDNN 9 on H100, fp32, TF32 and 16 bits", lambda l: kernel(l, "conv") and l["device"] == H100 and not grouped(l)),
    ("... ... depthwise", lambda l: kernel(l, "conv") and l["device"] == H100 and depthwise(l)),
    ("... ... other groups", lambda l: kernel(l, "conv") and l["device"] == H100 and grouped(l) and not depthwise(l)),
    ("matrix products (calibrated on these)", lambda l: kernel(l, "gemm") and l["device"] != H100),
    ("... CUDA 13 on H100, fp32, TF32 and 16 bits", lambda l: kernel(l, "gemm") and l["device"] == H100),
    ("recurrent layers (calibrated on these)", lambda l: recurrent(l) and l["device"] != H100),
    ("... cuDNN 9 on H100, each algorithm", lambda l: recurrent(l) and l["device"] == H100),
]

# Steps whose host's terms are fitted to the source's other networks; steps as if nothing was known of the machine, where the
# framework's usual terms stand in, and its other machines' median (hosts.py). The kernels of the cards in no calibration
# are in no fit either way.
LEFT_OUT = [
    ("step, one GPU, host's terms from the other networks: measured cards, fp32", "networks", calibrated),
    ("... ... training steps alone", "networks", lambda l: calibrated(l) and training(l)),
    ("... cards in no calibration, fp32", "networks", uncalibrated),
    ("... ... training steps alone", "networks", lambda l: uncalibrated(l) and training(l)),
    ("step, one GPU, on a machine that is not known: measured cards, fp32", "unknown", calibrated),
    ("... cards in no calibration, fp32", "unknown", uncalibrated),
    ("step, one GPU, host's terms the median of other machines': measured cards, fp32", "machines", calibrated),
    ("... cards in no calibration, fp32", "machines", uncalibrated),
]

# Kernels predicted by fits that did not see them: five-fold, as the calibrations record it.
TENSOR = ("tf32_tensor", "f16_tensor")
ELEMENTWISE = ("add", "mul", "div", "pow", "relu", "gelu", "tanh")
FIVE_FOLD = [
    ("matrix products, left out of the fit", "gemm", None, 0, 1199),
    ("... CUDA 12, random odd sizes", "gemm", None, 1200, 1299),
    ("... CUDA 13 on H100", "gemm", None, 1300, 9999),
    ("... ... TF32 and 16 bits", "gemm", None, 1300, 9999, TENSOR),
    ("convolutions forward, left out", "conv", "forward", 0, 799),
    ("... cuDNN 8, random odd sizes", "conv", "forward", 800, 899),
    ("convolutions backward to data, left out", "conv", "backward_data", 0, 799),
    ("convolutions backward to weights, left out", "conv", "backward_weights", 0, 799),
    ("convolutions of cuDNN 9 on H100, all passes, left out", "conv", None, 900, 9999),
    ("... TF32 and 16 bits", "conv", None, 900, 9999, TENSOR),
    ("... depthwise, whatever they multiply in", "depthwise", None, 900, 9999, ("any",)),
    ("... of several groups, one shape of eight left out", "grouped", None, 900, 9999, ("any",)),
    ("element-wise kernels above 0.15 ms, left out", "rows", ELEMENTWISE, 800, 899),
    ("layer norm above 0.15 ms, left out", "rows", "layer_norm", 800, 899),
    ("softmax above 0.15 ms, left out", "rows", "softmax", 800, 899),
    ("memory-bound kernels above 0.15 ms on H100, left out", "rows", None, 900, 9999),
    ("recurrent layers, left out", "recurrent", None, 0, 899),
    ("... cuDNN 9 on H100", "recurrent", None, 900, 9999),
    ("... ... in one persistent kernel", "persistent", None, 900, 9999),
]


def five_fold(title, kernel_class, wanted, oldest, newest, arithmetic=("f32",)):
    """One row: fits weighted by their kernels; a fit that serves several architectures counts once."""
    seen = {}
    for path in sorted((Path(__file__).parents[2] / "hwdb/calibrations").glob("sm_*.json")):
        for fit in json.loads(path.read_text())["fits"]:
            meant = fit["kernel_class"] == kernel_class and oldest <= fit["library"] <= newest
            if meant and fit["arithmetic"] in arithmetic and fit["measured"]:
                for name, score in fit["passes"].items():
                    if wanted is None or name.startswith(wanted):
                        seen[fit.get("correction", {}).get("file", path.stem), name] = score
    n = sum(s["kernels"] for s in seen.values())
    weighted = lambda key: sum(s["kernels"] * s[key] for s in seen.values()) / n
    cells = [title, str(n), "0", "–", percent(weighted("median")), percent(weighted("error")), "–", "–", "90 % by construction", "–"]
    return "| " + " | ".join(cells) + " |"


def percent(value):
    if value is None:
        return "–"
    return f"{100 * value:.{1 if value == 0 or abs(value) >= .0005 else 4}f} %"


def row(title, lines):
    errors = [l["error"] for l in lines if l["error"] is not None]
    ranged = [l for l in lines if l["predicted"] is not None and l["range"]]
    inside = [l for l in ranged if l["range"][0] <= l["measured"] <= l["range"][1]]
    absolute = sorted(abs(e) for e in errors)
    counted = [l["exact"] for l in lines if l.get("exact") is not None]  # the rest is measured
    widths = [(l["range"][1] - l["range"][0]) / 2 / l["predicted"] for l in ranged
              if l["error"] is not None and l["predicted"]]
    cells = [title, str(len(counted) or len(errors)), str(sum(1 for l in lines if l["skipped"])),
             percent(mean(counted) if counted else None),
             percent(median(absolute) if errors else None), percent(mean(absolute) if errors else None),
             percent(absolute[int(.95 * len(absolute))] if errors else None), percent(median(errors) if errors else None),
             percent(len(inside) / len(ranged) if ranged else None), percent(median(widths) if widths else None)]
    return "| " + " | ".join(cells) + " |"


def slopes(lines):
    """What one image more takes, where a network was measured at batch 64 and at 128."""
    networks = {}
    for l in lines:
        if l["source"] == "gpumemnet-timm-memory" and l["error"] is not None:
            networks.setdefault((l["device"], l["model"], str(l["run"]["input"])), {})[l["run"]["batch"]] = l
    for runs in networks.values():
        if 64 in runs and 128 in runs:
            measured, predicted = ((runs[128][k] - runs[64][k]) / 64 for k in ("measured", "predicted"))
            yield runs[128] | {"quantity": "mb_per_image", "measured": measured, "predicted": predicted, "range": None,
                               "error": predicted / measured - 1}


def algorithms(title, lines):
    """One row: how often autotuning chooses as the library did."""
    same = mean(l["algorithm"]["same"] for l in lines)
    cells = [title, str(len(lines)), "0", percent(same), "–", "–", "–", "–", "–", "–"]
    return "| " + " | ".join(cells) + " |"


def table(lines, unknown):
    lines = lines + list(slopes(lines))
    head = ["| what | n | skipped | exact | median error | mean error | 95 % below | bias (median) | inside its range | half its width (median) |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    body = [row(title, taken) for title, takes in CLASSES if (taken := [l for l in lines if takes(l)])]
    fits = {"networks": without_network(lines), "unknown": unknown, "machines": without_machine(unknown)}
    out = [row(title, [l for l in fits[what] if takes(l)]) for title, what, takes in LEFT_OUT]
    choices = [algorithms(f"convolution algorithm, forward, fp32: {title}", taken)
               for title, cards in CARDS_OF_ALGORITHMS if (taken := [l for l in lines if named(l) and l["device"] in cards])]
    return "\n".join(head + body + out + [five_fold(*f) for f in FIVE_FOLD] + choices)


def main(readme, folder):
    text = table(load(folder), load(Path(folder) / "unknown"))
    print(text)
    page = Path(readme)
    page_text = page.read_text() if page.exists() else ""
    if BEGIN not in page_text or END not in page_text:
        sys.exit(f"{readme} has no markers {BEGIN} and {END}")
    before, rest = page_text.split(BEGIN, 1)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")


main(*sys.argv[1:3])
