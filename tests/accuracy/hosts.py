"""What a machine and a framework add to a step, fitted to measured steps on one GPU, and how far off a network or a
machine is that was left out of the fit.

    python3 hosts.py FOLDER

FOLDER holds the answers of `plimsoll validate FILE --json`, by the machines that sources are known by or by none. For each source, machine (a source has one for each card),
framework and mode: the microseconds of one dispatch, the milliseconds of a step, the GB/s of the input's way to the device
and the milliseconds of a parameter array, which hwdb/hosts/*.json carry, by mean |ln(predicted / measured)|; then the
error of each network predicted by a fit to the others.

Few records cannot tell four terms apart, so a fit stays near the framework's row of hwdb/hosts/generic.json where they
say nothing. That row was drawn from many sources, the network that is left out among them.
"""
import collections
import functools
import json
import math
import sys
from pathlib import Path
from statistics import mean, median

from records import is_step, load

SMOOTH = 2.5  # as kSmooth in estimator/time/step_time.cc
TERMS = [
    [.002 * 1.15**i for i in range(32)],                                         # ms of a dispatch, to 0.15
    [0, .05, .1, .2, .3, .5, .7, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20],  # ms of a step
    [.3, .4, .5, .6, .8, 1, 1.25, 1.6, 2, 2.5, 3, 4, 5, 6, 8, 10, 12],           # GB/s of the input
    [0, .02, .03, .05, .07, .085, .1, .125, .15, .2, .25],                       # ms of a parameter array
]
STARTS = [(.01, .3, 4, 0), (.03, 1, 2, .1)]
FLOORS = [.002, .3, .01, .03]  # below these two values of a term are the same
# What a record weighs against a term's distance from its usual value: of 0, 0.1, 0.3, 0.4, 0.5, 0.7 and 1 the one with the
# least error of networks left out.
TOWARDS_USUAL = .4
HWDB = Path(__file__).parents[2] / "hwdb"


def number(quantity):
    value, unit = quantity.split()
    return float(value) * {"us": 1e-3, "ms": 1, "GB/s": 1}[unit]


def version(text):
    return [int(part) for part in str(text or 0).split(".")[:2] if part.isdigit()]


def input_path(framework):
    """Where its batches lie: in "pageable" or "pinned" memory."""
    paths = [p["input_path"]["value"] for f in sorted((HWDB / "frameworks").glob("*.json"))
             if (p := json.loads(f.read_text()))["framework"] == framework and "input_path" in p]
    return paths[0] if paths else "pageable"


RELEASES = {"12": 2025, "10": 2024, "9": 2022, "8.9": 2022, "8": 2020, "7.5": 2018, "7": 2017, "6": 2016, "5": 2015, "3": 2014}


def card_year(device):
    """In which cards of its compute capability were first sold, as release_year() of hwdb/host.cc."""
    for path in (HWDB / "devices").glob("*.json"):
        card = json.loads(path.read_text())
        if device in (card["id"], *card["aliases"]):
            capability = card["compute_capability"]["value"]
            return RELEASES.get(capability) or RELEASES[capability.split(".")[0]]
    raise KeyError(device)


@functools.cache
def slower(device):
    """Than the reference machine is the one that is taken to stand around a card (Host::speed)."""
    host = json.loads((HWDB / "hosts/generic.json").read_text())
    return host["per_year"]["value"] ** (host["year"]["value"] - card_year(device))


def usual(run):
    """The terms of a record's framework on a machine that is not known; none where the framework has none."""
    host = json.loads((HWDB / "hosts/generic.json").read_text())
    names = {r["framework"] for r in host["dispatch"] if r["framework"] in run.get("framework", "").lower()}
    if not names:
        return None
    rows = [r for r in host["dispatch"] if r["framework"] == max(names, key=len)]
    row = ([r for r in rows if version(r["since"]) <= version(run.get("framework_version"))] or rows)[-1]
    fixed = row.get("per_forward", row["per_step"]) if run.get("mode") == "inference" else row["per_step"]
    path = row.get("input_path") or host[f"{input_path(row['framework'])}_copy"]["value"]
    launch = row.get("per_forward_launch", row["per_launch"]) if run.get("mode") == "inference" else row["per_launch"]
    age = slower(run["device"])
    return [number(launch) * age, number(fixed) * age, number(path), number(row["per_array"]) * age]


def sample(l):
    """What of a line the terms multiply: device ms, dispatches, GB copied, parameter arrays; and the measured ms."""
    p, r = l["parts"], l["run"]
    shape = r["input"] if isinstance(r.get("input"), list) else [3, 224, 224]
    size = 2 if "16" in l["dtype"] else 8 if "64" in l["dtype"] else 4
    copied = math.prod(shape) * (r.get("batch") or 1) * size / 1e9 if p["copy_ms"] > 0 else 0
    arrays = p["parameter_arrays"] if r.get("framework") == "mxnet" else 0
    return p["gpu_ms"], p["launches"], copied, arrays, l["measured"]


def step(s, terms):
    gpu, launches, copied, arrays, _ = s
    host = terms[0] * launches
    copy, update = 1e3 * copied / terms[2], terms[3] * arrays
    around = max(copy, update) if arrays else copy  # MXNet copies while it updates
    return (gpu**SMOOTH + host**SMOOTH) ** (1 / SMOOTH) + terms[1] + around


def loss(samples, terms, near):
    error = mean(min(1.5, abs(math.log(step(s, terms) / s[4]))) for s in samples)
    if near is None:
        return error
    distance = sum(abs(math.log((t + floor) / (n + floor))) for t, n, floor in zip(terms, near, FLOORS))
    return error + TOWARDS_USUAL / len(samples) * distance


def descend(samples, terms, near):
    used = [True, True, any(s[2] for s in samples), any(s[3] for s in samples)]
    terms = [t if u else n for t, u, n in zip(terms, used, near or [g[0] for g in TERMS])]
    for _ in range(4):
        before = list(terms)
        for i, grid in enumerate(TERMS):
            if used[i]:
                terms[i] = min(grid, key=lambda v: loss(samples, terms[:i] + [v] + terms[i + 1:], near))
        if terms == before:
            break
    return terms


def fit(lines):
    samples, near = [sample(l) for l in lines], usual(lines[0]["run"])
    return min((descend(samples, start, near) for start in STARTS), key=lambda terms: loss(samples, terms, near))


def group(lines, *keys):
    """Steps by place; not those whose recurrent layers are loops, where an operator has a cost of its own."""
    groups = collections.defaultdict(list)
    for l in lines:
        loops = l["run"].get("cudnn_rnn") == "No" or "nmt" in (l["model"] or "")
        if is_step(l) and l.get("parts") and l["error"] is not None and not loops:
            r = l["run"]
            place = {"source": l["source"], "device": l["device"], "mode": r.get("mode", "train"), "framework": r.get("framework", "")}
            groups[tuple(place[k] for k in keys)].append(l)
    return groups


def moved(l, predicted):
    """The line with another prediction, and its range around that."""
    ratio = predicted / l["predicted"]
    return l | {"predicted": predicted, "error": predicted / l["measured"] - 1,
                "range": [ratio * r for r in l["range"]] if l["range"] else None}


def left_out(lines, by, *keys):
    """Each line of a group predicted by terms that are fitted to those of the group with another `by`; groups of one
    `by` are left out themselves."""
    result = []
    for members in group(lines, *keys).values():
        for value in sorted({l[by] for l in members}):
            others = [l for l in members if l[by] != value]
            if others:
                terms = fit(others)
                result += [moved(l, step(sample(l), terms)) for l in members if l[by] == value]
    return result


def without_network(lines):
    return left_out(lines, "model", "source", "device", "mode", "framework")


def main(folder):
    lines = load(folder)
    print(f"{'source':32}{'device':>22}{'mode':>17}{'framework':>22}{'n':>5}{'us':>7}{'ms':>7}{'GB/s':>7}{'array':>7}"
          f"{'now':>8}{'error':>8}{'left out':>10}{'median':>8}")
    for key, members in sorted(group(lines, "source", "device", "mode", "framework").items()):
        terms = fit(members)
        own = mean(abs(step(sample(l), terms) / l["measured"] - 1) for l in members)
        out = [abs(l["error"]) for l in without_network(members)] or [float("nan")]
        now = mean(abs(l["error"]) for l in members)
        print(f"{key[0]:32}{key[1]:>22}{key[2]:>17}{key[3]:>22}{len(members):5}{1e3 * terms[0]:7.1f}{terms[1]:7.2f}{terms[2]:7.2f}"
              f"{terms[3]:7.3f}{100 * now:7.1f}%{100 * own:7.1f}%{100 * mean(out):9.1f}%{100 * median(out):7.1f}%")


if __name__ == "__main__":
    main(sys.argv[1])
