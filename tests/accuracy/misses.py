"""Which records are to blame where less is reached than is asked, with figures, and what studies report beside steps.

The reasons are reasons.json's, by source, framework, device, mode and model (one value or a list); every figure is computed here.
"""
import collections
import json
import math
from pathlib import Path
from statistics import mean, median

from records import CARDS_OF_ALGORITHMS, named, read_from
from table import inside, markdown, percent

REASONS = json.loads((Path(__file__).parent / "reasons.json").read_text())["reasons"]
HEAD = ["source", "framework", "card", "mode", "n", "mean error", "bias (median)", "share of the class's error", "bound by the host"]


def place(l):
    return l["source"], l["run"].get("framework", ""), l["device"], l["run"].get("mode", "train")


def reasons_of(l):
    where = dict(zip(("source", "framework", "device", "mode"), place(l))) | {"model": l["model"]}
    return [i for i, r in enumerate(REASONS) if all(where[k] in (v if isinstance(v, list) else [v]) for k, v in r.items() if k in where)]


def host_bound(l):
    return bool(l["parts"]) and l["parts"]["host_ms"] > l["parts"]["gpu_ms"]


def mape(lines):
    return mean(abs(l["error"]) for l in lines)


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
    text = [markdown(HEAD + ["why"], rows), ""]
    if rest:
        text += [f"The other {len(rest)} records of the class: {percent(mape(rest))}.", ""]
    for i in sorted(used):
        of = [l for l in lines if i in reasons_of(l)]
        text.append(f"- [{i + 1}] ({len(of)} records, mean error {percent(mape(of))}, bias {percent(median(l['error'] for l in of))}) {REASONS[i]['why']}")
    return text + [""]


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
                         "a constant was read from it" if read_from(l) else "–" if l["error"] is None else percent(l["error"]), l["skipped"] or ""))
    return ["## What studies report", "", markdown(["study", "model", "framework", "card", "what", "reported", "predicted", "error", "not predicted because"], rows), ""]


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
                 markdown(["card", "images", "filters", "measured", "chosen", "further", "rows"], [(*k, n) for k, n in sorted(missed.items())]), ""]
    return text


def odd_shapes(lines):
    """NeuSight's convolutions of random sides and channels, by how long they take."""
    cards = ("tesla-p4", "tesla-p100-pcie-16gb", "tesla-v100-pcie-32gb")
    of = [l for l in lines if l["kind"] == "kernel" and l["op"] == "conv" and l["device"] in cards and l["run"]["cudnn"] == "8.9"]
    shapes = collections.defaultdict(dict)
    for l in of:
        shapes[tuple(l["run"][k] for k in ("n", "c", "h", "k"))][l["device"]] = l["measured"]
    if not of:
        return []
    rows = []
    for low, high in ((0, .5), (.5, 1), (1, 3), (3, 10), (10, 1000)):
        within = [l for l in of if low <= l["measured"] < high]
        ratios = [at[cards[0]] / at[cards[1]] for at in shapes.values() if cards[0] in at and low <= at.get(cards[1], -1) < high]
        rows.append((f"{low} to {high} ms" if high < 1000 else f"{low} ms and more", len(within), percent(mape(within)),
                     percent(median(l["error"] for l in within)), percent(sum(abs(l["error"]) for l in within) / sum(abs(l["error"]) for l in of)),
                     f"{median(ratios):.2f} ({len(ratios)})" if ratios else "–"))
    return ["## Convolutions of random odd shapes", "",
            f"NeuSight's {len(of)} forward passes with cuDNN 8 (P4, P100, V100; 3x3, channels that are no multiples of anything), predicted by the "
            "shipped fits. "
            "Where a shape takes long, the P4 takes about twice as long for it as the P100, as their peaks "
            "have it; where it is short, little longer: a part of what was timed is not the kernel, and no record says what.", "",
            markdown(["measured", "n", "mean error", "bias (median)", "share of the error", "P4 over P100, one shape (pairs)"], rows), ""]


def narrowest(lines, share):
    """Upper over lower of the narrowest range around predictions, one for all, that so many records lie in."""
    off = sorted(l["measured"] / l["predicted"] for l in lines)
    held = math.ceil(share * len(off))
    return min(off[i + held - 1] / off[i] for i in range(len(off) - held + 1))


def widths_of_memory(lines):
    """How wide ranges of memory are, by framework, where one source ran several, and of TensorFlow's tensors."""
    of = collections.defaultdict(list)
    for l in lines:
        if l["source"] in ("dlinfbench-memory", "salus-workloads-memory") and l["range"]:
            what = "tensors (Salus)" if l["quantity"] == "peak_allocated_mb" else "process (DLInfBench)"
            of[l["run"]["framework"], what].append(l)
    rows = []
    for (framework, what), ranged in sorted(of.items()):
        over = [l["range"][1] / l["range"][0] for l in ranged]
        rows.append((framework, what, len(ranged), percent(inside(ranged)), f"{median(over):.2f}", percent(mean(r <= 1.5 for r in over)),
                     f"{narrowest(ranged, .85):.2f}"))
    return ["## How wide ranges of memory are", "",
            "Ranges that hold for 95 of 100, of what a process takes where there is room and of what TensorFlow's allocator has handed out. Caffe's blobs "
            "are there from the start and its scratch memory is 8 MiB. MXNet plans its tensors too, but algorithms that it times leave up to 1 GiB of scratch "
            "memory, and of a process of 500 MiB the context is most, known to 100 MiB on cards that nobody measured. What TensorFlow takes grows by regions "
            "that double: a tensor that asks for a byte more takes twice as much, and no range of 1.5 is right for it. Its tensors stand beside the scratch "
            "memory of whichever algorithm was shortest when each was tried, up to 4 GiB: 1.8 GiB more in OverFeat at a batch of 25, none in ResNets. By "
            "neither a verdict goes, but by what a step needs, whose range is a figure of its own. The last column is "
            "what one range around all predictions would need to hold for 85 of 100.", "",
            markdown(["framework", "what", "n", "inside its range", "upper over lower (median)", "at most 1.5", "narrowest for 85 %"], rows), ""]
