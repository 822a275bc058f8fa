"""Writes the page of steps that miss what is asked of them: which records are to blame, with figures.

    python3 misses.py steps.md FOLDER    # FOLDER as for table.py

The reasons are reasons.json's, by source, framework, device, mode and model; every figure is computed here.
"""
import collections
import json
import sys
from pathlib import Path
from statistics import mean, median

from hosts import without_network
from records import CARDS_OF_ALGORITHMS, calibrated, load, named, on_several, training, uncalibrated

CLASSES = [  # title, lines, the largest mean error that is allowed; None where nothing is asked
    ("Steps and forward passes in fp32, cards whose kernels were measured", calibrated, .085),
    ("Steps and forward passes in fp32, cards in no calibration", uncalibrated, .11),
    ("Steps of several GPUs and of one measured beside them", on_several, None),
]
REASONS = json.loads((Path(__file__).parent / "reasons.json").read_text())["reasons"]
HEAD = ["source", "framework", "card", "mode", "n", "mean error", "bias (median)", "share of the class's error", "bound by the host"]


def percent(value):
    return f"{100 * value:.1f} %"


def place(l):
    return l["source"], l["run"].get("framework", ""), l["device"], l["run"].get("mode", "train")


def reasons_of(l):
    where = dict(zip(("source", "framework", "device", "mode"), place(l))) | {"model": l["model"]}
    return [i for i, r in enumerate(REASONS) if all(where[k] == v for k, v in r.items() if k in where)]


def host_bound(l):
    return bool(l["parts"]) and l["parts"]["host_ms"] > l["parts"]["gpu_ms"]


def mape(lines):
    return mean(abs(l["error"]) for l in lines)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, r)) + " |" for r in rows])


def summary(lines, left_out, must):
    parts = [("all", lines), ("host's terms fitted to the source's other networks", left_out), ("training steps", [l for l in lines if training(l)]), ("forward passes", [l for l in lines if not training(l)]),
             ("bound by the host", [l for l in lines if host_bound(l)]), ("bound by the device", [l for l in lines if not host_bound(l)])]
    return table(["records", "n", "median error", "mean error", f"at most {percent(must)} off"],
                 [(name, len(p), percent(median(abs(l["error"]) for l in p)), percent(mape(p)),
                   percent(sum(abs(l["error"]) <= must for l in p) / len(p))) for name, p in parts if p])


def blame(lines, must):
    """The groups of records that are further off than `must`, what they add to the class's error, and why they are."""
    groups = collections.defaultdict(list)
    for l in lines:
        groups[place(l)].append(l)
    worse = sorted((g for g in groups.values() if mape(g) > must), key=lambda g: -mape(g) * len(g))
    rest = [l for g in groups.values() if mape(g) <= must for l in g]
    total = sum(abs(l["error"]) for l in lines)
    rows, used = [], set()
    for g in worse:
        numbers = sorted({i for l in g for i in reasons_of(l)})
        used.update(numbers)
        rows.append((*place(g[0]), len(g), percent(mape(g)), percent(median(l["error"] for l in g)),
                     percent(sum(abs(l["error"]) for l in g) / total), percent(mean(host_bound(l) for l in g)),
                     " ".join(f"[{i + 1}]" for i in numbers)))
    text = [table(HEAD + ["why"], rows), ""]
    if rest:
        text += [f"The other {len(rest)} records of the class: {percent(mape(rest))}.", ""]
    for i in sorted(used):
        of = [l for l in lines if i in reasons_of(l)]
        text.append(f"- [{i + 1}] ({len(of)} records, mean error {percent(mape(of))}, bias {percent(median(l['error'] for l in of))}) {REASONS[i]['why']}")
    return text + [""]


def section(title, lines, left_out, must):
    asked = f"Asked: a mean error of at most {percent(must)}. " if must else ""
    limit = must or mape(lines)
    text = [f"## {title}", "", f"{asked}Reached: {100 * mape(lines):.2f} % of {len(lines)} records.", "", summary(lines, left_out, limit), ""]
    if not must or mape(lines) > must:
        text += ["To blame, the groups of records that are further off than that, by what they add:", ""] + blame(lines, limit)
    if must and left_out and mape(left_out) > must:
        text += [f"With the host's terms fitted to the source's other networks {100 * mape(left_out):.2f} % of {len(left_out)} records are reached. To blame there:", ""]
        text += blame(left_out, must)
    return text


def facts(lines):
    """What studies report beside whole steps: utilisations, shares, choices of algorithms."""
    rows = []
    for l in lines:
        reported = l["run"].get("value") if l["measured"] is None else l["measured"]
        if l["source"].startswith("seeds-") and l["kind"] != "memory" and reported is not None:
            r = l["run"]
            what = r.get("quantity") or " ".join(filter(None, (r.get("layer"), r.get("layer_type"), l["quantity"])))
            rows.append((l["source"], l["model"] or "", r.get("framework", ""), l["device"] or "", what, reported,
                         "–" if l["predicted"] is None else f"{l['predicted']:.4g}",
                         "–" if l["error"] is None else percent(l["error"]), l["skipped"] or ""))
    return ["## What studies report", "", table(["study", "model", "framework", "card", "what", "reported", "predicted", "error", "not predicted because"], rows), ""]


def percent_same(lines):
    return percent(mean(l["algorithm"]["same"] for l in lines))


def sides(run, *keys):
    return "x".join(str(run[k]) for k in keys)


def algorithms(lines):
    """Convolutions for which autotuning would choose otherwise than the library did; the same shape is measured more than once."""
    text = ["## Algorithms of convolutions", "",
            "Forward passes in fp32 whose algorithm DeepBench names, and what the formulas would choose: the least time. Precomputed offsets "
            "and tiles count as details of one method. `further` is the formulas' time of the algorithm that was measured over that of the "
            "one chosen: most misses are near ties of the two Winograds.", ""]
    for title, cards in CARDS_OF_ALGORITHMS:
        of = [l for l in lines if named(l) and l["device"] in cards]
        if not of:
            continue
        missed = collections.Counter()
        for l in of:
            c, r = l["algorithm"], l["run"]
            if not c["same"]:
                further = "not known for it" if c["ratio"] is None else percent(c["ratio"] - 1)
                missed[l["device"], f"{r['n']}x{r['c']}x{sides(r, 'h', 'w')}", f"{r['k']} of {sides(r, 'r', 's')}",
                       c["measured"], c["predicted"], further] += 1
        near = sum(l["algorithm"]["ratio"] is not None and l["algorithm"]["ratio"] < 1.2 for l in of if not l["algorithm"]["same"])
        text += [f"{title}: {percent_same(of)} of {len(of)} the same; {near} of the {sum(missed.values())} others within 20 %.", "",
                 table(["card", "images", "filters", "measured", "chosen", "further", "rows"], [(*k, n) for k, n in sorted(missed.items())]), ""]
    return text


def odd_shapes(lines):
    """NeuSight's convolutions of random sides and channels, by how long they take."""
    cards = ("tesla-p4", "tesla-p100-pcie-16gb", "tesla-v100-pcie-32gb")
    of = [l for l in lines if l["kind"] == "kernel" and l["op"] == "conv" and l["device"] in cards and l["run"]["cudnn"] == "8.9"]
    shapes = collections.defaultdict(dict)
    for l in of:
        shapes[tuple(l["run"][k] for k in ("n", "c", "h", "k"))][l["device"]] = l["measured"]
    rows = []
    for low, high in ((0, .5), (.5, 1), (1, 3), (3, 10), (10, 1000)):
        within = [l for l in of if low <= l["measured"] < high]
        ratios = [at[cards[0]] / at[cards[1]] for at in shapes.values() if cards[0] in at and low <= at.get(cards[1], -1) < high]
        rows.append((f"{low} to {high} ms" if high < 1000 else f"{low} ms and more", len(within), percent(mape(within)),
                     percent(median(l["error"] for l in within)), percent(sum(abs(l["error"]) for l in within) / sum(abs(l["error"]) for l in of)),
                     f"{median(ratios):.2f} ({len(ratios)})" if ratios else "–"))
    return ["## Convolutions of random odd shapes", "",
            f"NeuSight's {len(of)} forward passes with cuDNN 8 (P4, P100, V100; 3x3, channels that are no multiples of anything), predicted by the "
            "shipped fits; README.md has them left out. Of convolutions forward at most 15 % is asked, which DeepBench's keep and these do not. "
            "Where a shape takes long, the P4 takes about twice as long for it as the P100, as their peaks "
            "have it; where it is short, little longer: a part of what was timed is not the kernel, and no record says what.", "",
            table(["measured", "n", "mean error", "bias (median)", "share of the error", "P4 over P100, one shape (pairs)"], rows), ""]


# What is asked of kernels left out of their fit, mean error by class and pass.
ASKED = {"gemm": .15, "conv forward": .15, "conv backward_data": .15, "conv backward_weights": .19, "depthwise forward": .15,
         "depthwise backward_data": .15, "depthwise backward_weights": .19, "grouped forward": .15, "grouped backward_data": .15,
         "grouped backward_weights": .19, "recurrent": .16, "persistent": .16, "rows layer_norm": .08, "rows softmax": .1, "rows": .04}


def asked_of(kernel_class, part):
    key = f"{kernel_class} {part}"
    return next((limit for name, limit in ASKED.items() if key.startswith(name)), None)


def fits():
    """Fits whose left-out kernels miss what is asked of their class; one that serves several architectures stands once."""
    rows, seen = [], set()
    for path in sorted(Path("hwdb/calibrations").glob("sm_*.json")):
        for fit in json.loads(path.read_text())["fits"]:
            for part, score in fit["passes"].items():
                name = (fit.get("correction", {}).get("file") or path.stem + fit["kernel_class"], part)
                limit = asked_of(fit["kernel_class"], part)
                if score["error"] > limit and name not in seen:
                    rows.append((path.stem, f"{fit['kernel_class']} {part}", fit["arithmetic"], f"{fit['library'] // 100}.{fit['library'] % 100}", score["kernels"],
                                 percent(limit), percent(score["error"]), percent(score["median"]), percent(score["formula"])))
                seen.add(name)
    return ["## Fits of kernels", "",
            "Kernels in fp32 up to cuDNN 7 and CUDA 11 keep in all what is asked of their class (README.md). These are the fits of which a "
            "part does not, each kernel left out in one of five folds. Medians far below the means say that a minority of shapes is far off. "
            "Where the formulas alone do as badly, no measured shape lies near enough to correct those, or (memory-bound and grouped kernels) "
            "no correction is learnt.", "",
            table(["calibration", "kernels", "arithmetic", "library", "n", "asked", "mean error", "median error", "formulas alone"], rows), ""]


def main(page, folder):
    lines = load(folder)
    text = ["# Steps that are missed, and why", "", "Made by `./dev accuracy`; the reasons are in `reasons.json`, the figures are computed.", ""]
    fitted = without_network(lines)
    for title, takes, must in CLASSES:
        text += section(title, [l for l in lines if takes(l) and l["error"] is not None], [l for l in fitted if takes(l)], must)
    Path(page).write_text("\n".join(text + odd_shapes(lines) + fits() + algorithms(lines) + facts(lines)))


main(*sys.argv[1:3])
