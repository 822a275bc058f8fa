"""Sums up lines of `validate --json` by class and puts the table between README.md's accuracy markers.

    python3 table.py README.md FOLDER-OF-JSON-FILES
"""
import json
import sys
from pathlib import Path
from statistics import mean, median

BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"

# What the table shows, in order: title, and which lines it takes.
CLASSES = [
    ("peak of live tensors, against PyTorch's own dispatch", lambda l: l["quantity"] == "live_peak_bytes"),
    ("tensors saved for backward, the same", lambda l: l["quantity"] == "saved_bytes"),
    ("memory of the process (nvidia-smi)", lambda l: l["quantity"] in ("nvidia_smi_mb", "device_used_mb")),
    ("memory in tensors, as frameworks count it", lambda l: l["quantity"] in ("peak_allocated_mb", "train_memory_gb")),
    ("step or forward pass, one GPU", lambda l: l["quantity"] == "total_ms" and l["kind"] == "model"),
    ("step, several GPUs and one beside them", lambda l: l["quantity"] == "total_ms" and l["kind"] == "scaling"),
    ("forward part of a step", lambda l: l["quantity"] == "forward_ms"),
    ("backward part of a step", lambda l: l["quantity"] == "backward_ms"),
    ("one layer in a framework", lambda l: l["kind"] == "layer"),
    ("all-reduce", lambda l: l["kind"] == "scaling" and l["quantity"] == "time_ms"),
    ("convolutions (calibrated on these)", lambda l: l["kind"] == "kernel" and l["op"] == "conv"),
    ("matrix products (calibrated on these)", lambda l: l["kind"] == "kernel" and l["op"] == "gemm"),
    ("recurrent layers (calibrated on these)", lambda l: l["kind"] == "kernel" and l["op"] == "rnn"),
]


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
    return "\n".join(head + [row(title, taken) for title, takes in CLASSES if (taken := [l for l in lines if takes(l)])])


def main(readme, folder):
    lines = [l for path in sorted(Path(folder).glob("*.json")) for l in json.loads(path.read_text())["records"]]
    text = table(lines)
    print(text)
    page = Path(readme)
    page_text = page.read_text() if page.exists() else ""
    if BEGIN not in page_text or END not in page_text:
        sys.exit(f"{readme} has no markers {BEGIN} and {END}")
    before, rest = page_text.split(BEGIN, 1)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")


main(*sys.argv[1:3])
