"""Rows of accuracy: what the default command answers against what was measured.

A class (classes.py) gives one row of the default's answers; where what a source alone tells (its machine) moves them, a
second row with the flag that tells it. Beside both stands the roofline of datasheet figures.
"""
import json
from pathlib import Path
from statistics import mean, median

from classes import CLASSES, FIVE_FOLD, SHOWN, saw
from records import CARDS_OF_ALGORITHMS, compiled, is_step, named, read_from

HEAD = ["what", "n", "skipped", "exact", "median error", "mean error", "95 % below", "bias (median)", "inside its range",
        "half its width (median)", "roofline's mean error", "roofline is nearer", "its coefficients saw these"]
TOLD = "--source-machines"


def percent(value):
    if value is None:
        return "–"
    return f"{100 * value:.{1 if value == 0 or abs(value) >= .0005 else 4}f} %"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, r)) + " |" for r in rows])


def measured(lines):
    return [l for l in lines if l["error"] is not None]


def mape(lines):
    errors = [abs(l["error"]) for l in measured(lines)]
    return mean(errors) if errors else None


def inside(lines):
    ranged = [l for l in lines if l["predicted"] is not None and l["range"]]
    return mean(l["range"][0] <= l["measured"] <= l["range"][1] for l in ranged) if ranged else None


def against_roofline(lines):
    """Its mean error, and the share of records that it is nearer to."""
    rooflined = [l for l in measured(lines) if l.get("roofline")]
    if not rooflined:
        return None, None
    errors = [abs(l["roofline"] / l["measured"] - 1) for l in rooflined]
    return mean(errors), mean(r < abs(l["error"]) for r, l in zip(errors, rooflined))


def row(title, lines, marked=True):
    errors = [l["error"] for l in measured(lines)]
    absolute = sorted(map(abs, errors))
    counted = [l["exact"] for l in lines if l.get("exact") is not None]  # the rest is measured
    widths = [(l["range"][1] - l["range"][0]) / 2 / l["predicted"] for l in measured(lines) if l["range"] and l["predicted"]]
    roofline, nearer = against_roofline(lines)
    seen = sorted({word for l in lines for word in saw(l)}) if marked else []
    return [title, len(counted) or len(errors), sum(1 for l in lines if l["skipped"]), percent(mean(counted) if counted else None),
            percent(median(absolute) if errors else None), percent(mape(lines)),
            percent(absolute[int(.95 * len(absolute))] if errors else None), percent(median(errors) if errors else None),
            percent(inside(lines)), percent(median(widths) if widths else None), percent(roofline), percent(nearer),
            ", ".join(seen) or "–"]


def slopes(lines):
    """What one image more takes, where a network was measured at batch 64 and at 128."""
    networks = {}
    for l in lines:
        if l["source"] == "gpumemnet-timm-memory" and l["error"] is not None:
            networks.setdefault((l["device"], l["model"], str(l["run"]["input"])), {})[l["run"]["batch"]] = l
    for runs in networks.values():
        if 64 in runs and 128 in runs:
            m, p = ((runs[128][k] - runs[64][k]) / 64 for k in ("measured", "predicted"))
            yield runs[128] | {"quantity": "mb_per_image", "measured": m, "predicted": p, "range": None, "error": p / m - 1}


def compiled_gains(lines):
    """How much sooner a compiled network is through a sample than one that runs by operators."""
    steps = [l for l in lines if l["quantity"] == "total_ms" and l["error"] is not None]
    per_sample = lambda l, what: l[what] / l["run"]["batch"]
    for l in filter(compiled, steps):
        same = [e for e in steps if not compiled(e) and e["source"].startswith("steps2-")
                and all(e["run"].get(k) == l["run"].get(k) for k in ("device", "model", "mode", "layout", "dtype", "framework_version"))]
        eager = min(same, key=lambda e: abs(e["run"]["batch"] - l["run"]["batch"]), default=None)
        if eager:
            m, p = (per_sample(eager, what) / per_sample(l, what) for what in ("measured", "predicted"))
            yield l | {"quantity": "compiled_gain", "measured": m, "predicted": p, "range": None, "roofline": None, "error": p / m - 1}


def shipped_fits():
    for path in sorted((Path(__file__).parents[2] / "hwdb/calibrations").glob("sm_*.json")):
        yield from json.loads(path.read_text())["fits"]


def coefficients():
    """Of all shipped fits, as `plimsoll version` counts them: terms in use that are no facts, and clocks of cards."""
    facts = {"split", "few_columns"}
    return sum(len(fit["clocks"]) + sum(value != 0 and term not in facts for term, value in fit["terms"].items()) for fit in shipped_fits())


def five_fold_score(kernel_class, wanted, oldest, newest, arithmetic=("f32",)):
    """Kernels, median and mean error of fits, weighted by their kernels; one that serves several architectures counts once."""
    seen = {}
    for fit in shipped_fits():
        meant = fit["kernel_class"] == kernel_class and oldest <= fit["library"] <= newest
        if meant and fit["arithmetic"] in arithmetic and fit["measured"]:
            for name, score in fit["passes"].items():
                if wanted is None or name.startswith(wanted):
                    seen[json.dumps(fit["terms"]), name] = score
    n = sum(s["kernels"] for s in seen.values())
    weighted = lambda key: sum(s["kernels"] * s[key] for s in seen.values()) / n
    return n, weighted("median"), weighted("error"), weighted("roofline")


def five_fold(title, *which):
    n, middle, average, roofline = five_fold_score(*which)
    return [title, n, 0, "–", percent(middle), percent(average), "–", "–", "90 % by construction", "–", percent(roofline), "–", "–"]


def algorithms(title, lines):
    """How often autotuning chooses as the library did."""
    return [title, len(lines), 0, percent(mean(l["algorithm"]["same"] for l in lines))] + ["–"] * 8 + ["kernels"]


def moved(lines, told):
    """The told lines of the same records, where some of them come out otherwise."""
    by_record = {(l["file"], l["index"], l["quantity"]): l for l in told}
    of_same = [by_record[key] for l in lines if (key := (l.get("file"), l.get("index"), l["quantity"])) in by_record]
    return of_same if any(t["predicted"] != l["predicted"] for t, l in zip(of_same, lines)) else []


def all_rows(lines, told):
    """By title, in order; `lines` as answered by default, `told` with what sources tell of their machines."""
    lines = lines + list(slopes(lines)) + list(compiled_gains(lines))
    rows = []
    lines = [l for l in lines if not read_from(l)]
    for title, takes in CLASSES:
        if taken := [l for l in lines if takes(l)]:
            rows.append((title, row(title, taken)))
            if of_same := moved(taken, told):
                rows.append((None, row(f"{title}; told: `{TOLD}`", of_same)))
    rows += [(None, five_fold(*f)) for f in FIVE_FOLD]
    rows += [(None, algorithms(f"convolution algorithm, forward, fp32: {title}", taken))
             for title, cards in CARDS_OF_ALGORITHMS if (taken := [l for l in lines if named(l) and l["device"] in cards])]
    return rows


def left_out_rows(folds):
    """Steps on one GPU with what is judged left out of every fit."""
    rows = []
    for title, takes in CLASSES:
        for of in ("source", "card", "network"):
            if folds.get(of) and (taken := [l for l in folds[of] if is_step(l) and takes(l)]):
                rows.append(row(f"{title}: {of} left out", taken, marked=False)[:12])
    return rows


def for_readme(rows):
    """Five of the default's rows, with the columns that a user looks for."""
    columns = [1, 4, 5, 8, 10]
    return markdown(["what", *(HEAD[c] for c in columns)],
                    [[SHOWN[title], *(cells[c] for c in columns)] for title, cells in rows if title in SHOWN])
