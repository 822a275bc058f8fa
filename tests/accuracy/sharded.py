"""What docs/accuracy.md says of runs of several GPUs that share a model (tests/measured/sharded), which no fit sees.

    python3 sharded.py FOLDER    # alone: FOLDER holds answers of `plimsoll validate tests/measured/sharded/*.json --json`
"""
import sys
from pathlib import Path
from statistics import mean, median

from records import load
from table import HEAD, markdown, measured, percent, row

STAYS = ("allocated_after_step_mb", "allocated_after_mb")
PEAKS = ("peak_allocated_mb", "peak_reserved_mb", "peak_memory_gb", "peak_memory_gib")
LIBRARIES = ("nanotron", "torchtitan", "torchao")
PROGRAMS = ("fms-acceleration", "ml-engineering", "litgpt", "fsdp-qlora", "bigscience")
STEPS = ("llm-foundry", "torchtitan", "torchtitan-2024", "torchao", "fms-fsdp", "internevo", "vectorlm", "ml-engineering")


# Runs whose model is split over tensor, pipeline and data-parallel ranks.
THREE_AXES = ("nanotron", "vtrain", "bigscience", "megatron-bridge", "megatron-lm")


def of(sources, *quantities):
    return lambda l: l["source"] in sources and l["quantity"] in quantities


def ranged(takes):
    return lambda l: takes(l) and l["range"]


def p90(lines):
    errors = sorted(abs(l["error"]) for l in measured(lines))
    return errors[int(.9 * len(errors))] if errors else None


def middle(lines):
    errors = [abs(l["error"]) for l in measured(lines)]
    return median(errors) if errors else None


def average(lines):
    errors = [abs(l["error"]) for l in measured(lines)]
    return mean(errors) if errors else None


def right(ran):
    """Of facts "ran" or "did not fit": the share that is predicted so."""
    def share(lines):
        seen = [l["predicted"] == l["measured"] for l in lines if l["predicted"] is not None and l["measured"] == ran]
        return mean(seen) if seen else None
    return share


def inside(lines):
    ranged = [l for l in measured(lines) if l["range"]]
    return mean(l["range"][0] <= l["measured"] <= l["range"][1] for l in ranged) if ranged else None


# What, which lines, the figure, the bound, and whether it is the most that the figure may be.
ASKED = [
    ("bytes that stay: median error", of(LIBRARIES + PROGRAMS, *STAYS), middle, .01, True),
    ("peak allocated or reserved where the framework is a library: median error", of(LIBRARIES, *PEAKS), middle, .05, True),
    ("... 90 % below", of(LIBRARIES, *PEAKS), p90, .12, True),
    ("... where programs decide: median error", of(PROGRAMS, *PEAKS, "nvidia_smi_mb"), middle, .10, True),
    ("... ... 90 % below", of(PROGRAMS, *PEAKS, "nvidia_smi_mb"), p90, .25, True),
    ("... ... inside their range", ranged(of(PROGRAMS + ("internevo",), *PEAKS, "nvidia_smi_mb")), inside, .88, False),
    ("did not fit: predicted so", of(LIBRARIES + PROGRAMS, "fits"), right(0), .85, False),
    ("step, FSDP and ZeRO: mean error", of(STEPS, "total_ms"), average, .11, True),
    ("step, data x tensor x pipeline parallel: mean error", of(THREE_AXES, "total_ms"), average, .20, True),
    ("... steps inside their range", of(THREE_AXES, "total_ms"), inside, .88, False),
    ("steps of FSDP and ZeRO inside their range", of(STEPS, "total_ms"), inside, .88, False),
]


def predicted(lines, _):
    return len([l for l in lines if l["predicted"] is not None])


def asked(lines, bounds, counted):
    rows = []
    for what, takes, figure, bound, most in bounds:
        taken = [l for l in lines if takes(l)]
        value = figure(taken)
        met = "not judged here" if value is None else "met" if (value <= bound if most else value >= bound) else "missed"
        rows.append((what, f"{100 * bound:.0f} %", percent(value), counted(taken, figure), met))
    return markdown(["what", "target", "today", "n", ""], rows)


def by_source(lines):
    keys = sorted({(l["source"], l["quantity"]) for l in lines if l["predicted"] is not None})
    rows = [row(f"{source}, {quantity}", [l for l in lines if (l["source"], l["quantity"]) == (source, quantity)], marked=False)
            for source, quantity in keys]
    return markdown(HEAD[:10], [r[:10] for r in rows])


def reasons(lines):
    """Why records are skipped, by how many."""
    counts = {}
    for l in lines:
        if l["skipped"]:
            counts[l["source"], l["skipped"]] = counts.get((l["source"], l["skipped"]), 0) + 1
    return markdown(["source", "skipped because", "n"], [(s, why, n) for (s, why), n in sorted(counts.items(), key=lambda c: (c[0][0], -c[1]))])


def section(folder, title="Several GPUs that share a model", bounds=ASKED, counted=predicted):
    """FOLDER is called as that of the records; `counted`: lines and a figure, how many it is of."""
    lines = load(folder)
    if not lines:
        return []
    return [f"## {title}", "",
            f"These are the records of `tests/measured/{Path(folder).name}`. No fit uses them.", "",
            asked(lines, bounds, counted), "", by_source(lines), "", "Records that are not predicted:", "", reasons(lines), ""]


if __name__ == "__main__":
    print("\n".join(section(Path(sys.argv[1]))))
