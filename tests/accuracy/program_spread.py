"""How far published runs of training programs are from the memory that is predicted for them.

    python3 program_spread.py FOLDER…    # of answers of `plimsoll validate tests/measured/{one_gpu,sharded}/*.json --json`

The 95 % intervals of measured over predicted are MemorySpread's of estimator/request/trainer.cc: of what runs little
else than steps, and of other programs. Then, with each program left out, how many of its runs the others' interval holds.
"""
import sys
from statistics import mean

from records import load
from sharded import PEAKS

STEPS = ("nanotron", "torchtitan", "torchao", "torchtune")


def interval(ratios):
    ratios = sorted(ratios)
    off = round(.025 * (len(ratios) - 1))
    return ratios[off], ratios[-1 - off]


def inside(ratios, bounds):
    return mean(bounds[0] <= r <= bounds[1] for r in ratios)


def main():
    runs = {}
    for folder in sys.argv[1:]:
        for l in load(folder):
            if l["predicted"] and l["quantity"] in (*PEAKS, "nvidia_smi_mb"):
                runs.setdefault(l["source"], []).append(l["measured"] / l["predicted"])
    for what, of in (("steps", [s for s in runs if s in STEPS]), ("other programs", [s for s in runs if s not in STEPS])):
        low, high = interval([r for s in of for r in runs[s]])
        print(f"{what}: {len(of)} programs, {sum(len(runs[s]) for s in of)} figures, {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %")
        held = [(len(runs[s]), inside(runs[s], interval([r for o in of if o != s for r in runs[o]]))) for s in of if len(of) > 1]
        print(f"  each left out: {100 * sum(n * share for n, share in held) / sum(n for n, _ in held):.0f} % of its figures inside")


if __name__ == "__main__":
    main()
