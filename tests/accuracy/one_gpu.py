"""What docs/accuracy.md says of models that are fine-tuned on one GPU (tests/measured/one_gpu), which no fit sees.

    python3 one_gpu.py FOLDER    # alone: FOLDER holds answers of `plimsoll validate tests/measured/one_gpu/*.json --json`
"""
import sys
from pathlib import Path
from statistics import mean

import sharded
from sharded import average, inside, middle, p90, predicted, right

STAYS = ("allocated_after_mb", "allocated_after_step_mean_gib")
ALLOCATED = ("peak_allocated_mb", "peak_allocated_gb", "peak_memory_gb", "peak_memory_gib")
RESERVED = ("torch max_memory_reserved", "printed GB; reserved")  # how counters of such records begin
HOPPER_AND_AMPERE = ("a100", "h100")


def is_reserved(l):
    return l["run"].get("memory_counter", "").startswith(RESERVED)


def peaks(l):
    return l["quantity"] in ALLOCATED and not is_reserved(l)


def cards(l):
    return l["quantity"] == "nvidia_smi_mb" or (l["quantity"] in ALLOCATED and is_reserved(l))


def steps(l):
    return l["quantity"] == "total_ms" and l["device"].startswith(HOPPER_AND_AMPERE)


def ended(lines):
    """Of runs that ended, each once: the share that is predicted to fit."""
    runs = {(l["file"], l["index"]): l["fits"] for l in lines if l["fits"] is not None}
    return mean(runs.values()) if runs else None


def ran(l):
    return l["quantity"] != "fits"


# What, which lines, the figure, the bound, and whether it is the most that the figure may be.
ASKED = [
    ("bytes that stay between steps: median error", lambda l: l["quantity"] in STAYS, middle, .01, True),
    ("peak allocated: median error", peaks, middle, .06, True),
    ("... 90 % below", peaks, p90, .20, True),
    ("card or reserved: median error", cards, middle, .08, True),
    ("... 90 % below", cards, p90, .20, True),
    ("card inside its range", lambda l: cards(l) and l["range"], inside, .88, False),
    ("ran: predicted so", ran, ended, .97, False),
    ("did not fit: predicted so", lambda l: l["quantity"] == "fits", right(0), .85, False),
    ("step on A100 and H100: mean error", steps, average, .12, True),
    ("steps inside their range", steps, inside, .88, False),
]


def counted(lines, figure):
    if figure is ended:
        return len({(l["file"], l["index"]) for l in lines if l["fits"] is not None})
    return predicted(lines, figure)


def section(folder):
    return sharded.section(folder, "Fine-tuning on one GPU", ASKED, counted)


if __name__ == "__main__":
    print("\n".join(section(Path(sys.argv[1]))))
