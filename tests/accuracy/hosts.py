"""What a machine and a framework add to a step, fitted to measured steps on one GPU, and how far off a network is that
was left out of the fit.

    python3 hosts.py FOLDER

FOLDER holds the answers of `plimsoll validate FILE --json`; run where the files' names hold. For each source and framework: the seconds of one dispatch
and those of a step, which hwdb/hosts/*.json carry, by mean |ln(predicted / measured)|; then the error of each network
predicted by a fit to the others.
"""
import collections
import json
import math
import sys
from pathlib import Path
from statistics import mean, median

SMOOTH = 2.5  # as kSmooth in estimator/time/step_time.cc
LAUNCH = [.002 * 1.15**i for i in range(30)]  # ms, to 0.13
STEP = [0, .05, .1, .2, .3, .5, .7, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20]


def step(parts, launch, fixed, factor=1.0):
    gpu, host = factor * parts["gpu_ms"], launch * parts["launches"]
    return (gpu**SMOOTH + host**SMOOTH) ** (1 / SMOOTH) + fixed + parts["copy_ms"]


def fit(lines):
    def loss(launch, fixed):
        return mean(min(1.5, abs(math.log(step(l["parts"], launch, fixed) / l["measured"]))) for l in lines)
    return min(((loss(a, c), a, c) for a in LAUNCH for c in STEP))[1:]


def left_out(lines):
    errors = []
    for network in sorted({l["model"] for l in lines}):
        others = [l for l in lines if l["model"] != network]
        if others:
            terms = fit(others)
            errors += [abs(step(l["parts"], *terms) / l["measured"] - 1) for l in lines if l["model"] == network]
    return errors


def main(folder):
    groups, files = collections.defaultdict(list), {}
    for path in sorted(Path(folder).glob("*.json")):
        for l in json.loads(path.read_text())["records"]:
            if not l.get("parts") or l["error"] is None:
                continue
            if l["file"] not in files:
                files[l["file"]] = json.loads(Path(l["file"]).read_text())["records"]
            run = files[l["file"]][l["index"]]
            if run.get("n_gpus", 1) == 1:
                groups[Path(l["file"]).stem, run.get("mode", "train"), run.get("framework", "")].append(l)
    print(f"{'source':32}{'mode':>10}{'framework':>20}{'n':>5}{'launch us':>11}{'step ms':>9}{'error':>8}{'left out':>10}{'median':>8}")
    for key, lines in groups.items():
        launch, fixed = fit(lines)
        own = mean(abs(step(l["parts"], launch, fixed) / l["measured"] - 1) for l in lines)
        out = left_out(lines) or [float("nan")]
        print(f"{key[0]:32}{key[1]:>10}{key[2]:>20}{len(lines):5}{1e3 * launch:11.1f}{fixed:9.2f}{100 * own:7.1f}%"
              f"{100 * mean(out):9.1f}%{100 * median(out):7.1f}%")


if __name__ == "__main__":
    main(sys.argv[1])
