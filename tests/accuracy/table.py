"""Sums up lines of `validate --json` by class and puts the table between README.md's accuracy markers.

    python3 table.py README.md FOLDER-OF-JSON-FILES
"""
import json
import sys
from pathlib import Path
from statistics import mean, median

from hosts import without_card, without_network
from records import calibrated, is_step, load, on_several, training, uncalibrated

BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"


def rows(l, *ops):
    return l["kind"] == "kernel" and l["op"] in ops and (l["measured"] or 0) > .15


# What the table shows, in order: title, and which lines it takes.
CLASSES = [
    ("peak of live tensors, against PyTorch's own dispatch", lambda l: l["quantity"] == "live_peak_bytes"),
    ("tensors saved for backward, the same", lambda l: l["quantity"] == "saved_bytes"),
    ("memory of the process (nvidia-smi)", lambda l: l["quantity"] in ("nvidia_smi_mb", "device_used_mb")),
    ("memory in tensors, as frameworks count it", lambda l: l["quantity"] in ("peak_allocated_mb", "train_memory_gb")),
    ("step or forward pass, one GPU", is_step),
    ("... on cards whose kernels were measured (TITAN X, Xp, P100, M40, 1080 Ti), fp32", calibrated),
    ("... ... training steps alone", lambda l: calibrated(l) and training(l)),
    ("... on cards in no calibration, fp32", uncalibrated),
    ("... ... training steps alone", lambda l: uncalibrated(l) and training(l)),
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
    ("convolutions (calibrated on these)", lambda l: l["kind"] == "kernel" and l["op"] == "conv"),
    ("matrix products (calibrated on these)", lambda l: l["kind"] == "kernel" and l["op"] == "gemm"),
    ("recurrent layers (calibrated on these)", lambda l: l["kind"] == "kernel" and l["op"] == "rnn"),
]

# Steps whose host's terms are fitted to the source's other networks, or to its other cards (hosts.py). The kernels of the
# cards in no calibration are in no fit either way.
LEFT_OUT = [
    ("step, one GPU, host's terms from the other networks: measured cards, fp32", without_network, calibrated),
    ("... cards in no calibration, fp32", without_network, uncalibrated),
    ("step, one GPU, host's terms from the other cards: measured cards, fp32", without_card, calibrated),
    ("... cards in no calibration, fp32", without_card, uncalibrated),
]

# Kernels predicted by fits that did not see them: five-fold, as the calibrations record it.
FIVE_FOLD = [
    ("matrix products, left out of the fit", "gemm", None, 0, 1199),
    ("... CUDA 12, random odd sizes", "gemm", None, 1200, 9999),
    ("convolutions forward, left out", "conv", "forward", 0, 799),
    ("... cuDNN 8, random odd sizes", "conv", "forward", 800, 9999),
    ("convolutions backward to data, left out", "conv", "backward_data", 0, 799),
    ("convolutions backward to weights, left out", "conv", "backward_weights", 0, 799),
    ("recurrent layers, left out", "recurrent", None, 0, 9999),
]


def five_fold(title, kernel_class, wanted, oldest, newest):
    """One row: fits weighted by their kernels; a fit that serves several architectures counts once."""
    seen = {}
    for path in sorted((Path(__file__).parents[2] / "hwdb/calibrations").glob("sm_*.json")):
        for fit in json.loads(path.read_text())["fits"]:
            meant = fit["kernel_class"] == kernel_class and oldest <= fit["library"] <= newest
            if meant and fit["arithmetic"] == "f32" and fit["measured"]:
                for name, score in fit["passes"].items():
                    if wanted in (None, name):
                        seen[fit.get("correction", {}).get("file", path.stem), name] = score
    n = sum(s["kernels"] for s in seen.values())
    weighted = lambda key: sum(s["kernels"] * s[key] for s in seen.values()) / n
    cells = [title, str(n), "0", percent(weighted("median")), percent(weighted("error")), "–", "90 % by construction"]
    return "| " + " | ".join(cells) + " |"


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


def row(title, lines):
    errors = [l["error"] for l in lines if l["error"] is not None]
    ranged = [l for l in lines if l["error"] is not None and l["range"]]
    inside = [l for l in ranged if l["range"][0] <= l["measured"] <= l["range"][1]]
    absolute = [abs(e) for e in errors]
    cells = [title, str(len(errors)), str(sum(1 for l in lines if l["skipped"])),
             percent(median(absolute) if errors else None), percent(mean(absolute) if errors else None),
             percent(median(errors) if errors else None),
             percent(len(inside) / len(ranged) if ranged else None)]
    return "| " + " | ".join(cells) + " |"


def table(lines):
    head = ["| what | n | skipped | median error | mean error | bias (median) | inside its range |",
            "|---|--:|--:|--:|--:|--:|--:|"]
    body = [row(title, taken) for title, takes in CLASSES if (taken := [l for l in lines if takes(l)])]
    fits = {leave: leave(lines) for leave in (without_network, without_card)}
    out = [row(title, [l for l in fits[leave] if takes(l)]) for title, leave, takes in LEFT_OUT]
    return "\n".join(head + body + out + [five_fold(*f) for f in FIVE_FOLD])


def main(readme, folder):
    text = table(load(folder))
    print(text)
    page = Path(readme)
    page_text = page.read_text() if page.exists() else ""
    if BEGIN not in page_text or END not in page_text:
        sys.exit(f"{readme} has no markers {BEGIN} and {END}")
    before, rest = page_text.split(BEGIN, 1)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")


main(*sys.argv[1:3])
