"""Predictions of steps with what is judged left out of every fit: a source, a card or a network at a time.

    python3 folds.py PLIMSOLL FOLDER OUT.json    # run from the root; FOLDER is an empty one to work in

Of the default command's answer three things are fitted to measured steps or kernels, and here anew in each fold, by
folders for `--hwdb`:

- what a framework costs a host of which nothing is known (hwdb/hosts/generic.json): the product answers with these terms
  times each of FACTORS, and for each row of the file the factor is taken that is best on the records that stay in;
- kernels of the card that is left out: every fit goes that saw one of its kind, also where siblings share it;
- the width of the range: such that nine of ten records that stay in lie inside.

What is carried from one architecture to another has constants in code that are not refitted (their effect: .1 point of
the shown steps).
"""
import collections
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean

from hosts import HWDB, version
from records import is_step, load

FACTORS = [.6, .8, 1, 1.25, 1.6]
# Cards of one chip share their kernels' times.
FAMILIES = [("v100",), ("p100",), ("gtx-titan-x", "tesla-m40"), ("titan-x-pascal",), ("titan-xp",), ("gtx-1080-ti",), ("tesla-p4",), ("h100",)]


def scaled(row, factor):
    """A framework's row of a host with its times of launches and steps multiplied."""
    def times(value):
        number, unit = value.split()
        return f"{float(number) * factor:.4g} {unit}"
    return {k: times(v) if k.startswith("per_") and isinstance(v, str) and re.fullmatch(r"[\d.]+ [um]s", v) else v for k, v in row.items()}


def name_of(row):
    return f"{row['framework']}-{row['since']}"


def host_folder(folder, factor_of):
    """A folder for --hwdb whose unknown host has the terms of each framework's row times a factor."""
    host = json.loads((HWDB / "hosts/generic.json").read_text())
    host["dispatch"] = [scaled(row, factor_of(name_of(row))) for row in host["dispatch"]]
    (folder / "hosts").mkdir(parents=True)
    (folder / "hosts/generic.json").write_text(json.dumps(host))
    return folder


def drop_kernels(folder, family):
    """... and no fit of kernels that saw a card of a family."""
    (folder / "calibrations").mkdir(parents=True)
    for path in sorted((HWDB / "calibrations").glob("sm_*.json")):
        calibration = json.loads(path.read_text())
        of_family = lambda fit: any(card in name for card in family for name in fit["clocks"])
        calibration["fits"] = [fit for fit in calibration["fits"] if not of_family(fit)]
        (folder / "calibrations" / path.name).write_text(json.dumps(calibration))


def rows_of_host():
    return json.loads((HWDB / "hosts/generic.json").read_text())["dispatch"]


def host_row(run, rows):
    """Which row of the unknown host prices a record, as hwdb/host.h chooses."""
    framework = run.get("framework", "pytorch").lower()
    names = {r["framework"] for r in rows if r["framework"] in framework}
    if not names:
        return framework
    of_it = [r for r in rows if r["framework"] == max(names, key=len)]
    given = run.get("framework_version")
    return name_of(([r for r in of_it if given is None or version(r["since"]) <= version(given)] or of_it[:1])[-1])


def steps_alone(paths, folder, wanted=lambda run: True):
    """Copies of measured files with their steps on one GPU alone."""
    folder.mkdir()
    files = []
    for path in paths:
        text = json.loads(path.read_text())
        kind = text.get("kind")
        text["records"] = [r for r in text.get("records", []) if isinstance(r, dict) and r.get("kind", kind) == "model"
                           and r.get("n_gpus", 1) == 1 and "total_ms" in r and wanted(r)]
        if text["records"]:
            (folder / path.name).write_text(json.dumps(text))
            files.append(folder / path.name)
    return files


def ask(plimsoll, files, hwdb, out):
    out.mkdir()
    with (out / "runs.json").open("w") as stdout:
        subprocess.run([plimsoll, "validate", *files, "--allow-skipped", "--json", "--hwdb", hwdb], stdout=stdout,
                       stderr=subprocess.DEVNULL, check=False)
    return [l for l in load(out) if is_step(l) and l["error"] is not None and l["range"]]


def residual(l):
    return math.log(l["measured"] / l["predicted"])


def widening(lines):
    """By what the half widths of ranges are multiplied for nine of ten lines to lie inside."""
    def needed(l):
        r = residual(l)
        return abs(r) / max(1e-3, abs(math.log(l["range"][1 if r > 0 else 0] / l["predicted"])))
    ratios = sorted(map(needed, lines))
    return ratios[int(.9 * (len(ratios) - 1) + .5)] if ratios else 1


def widened(l, scale):
    low, high = (l["predicted"] * (bound / l["predicted"]) ** scale for bound in l["range"])
    return l | {"range": [low, high]}


def best_factors(lines_at, stay, rows):
    """For each row of the host the best factor on the records that stay in: of that row, else of all."""
    loss = {f: {} for f in FACTORS}
    for f in FACTORS:
        groups = collections.defaultdict(list)
        for l in lines_at[f]:
            if stay(l):
                error = min(1.5, abs(residual(l)))
                groups[host_row(l["run"], rows)].append(error)
                groups[None].append(error)
        loss[f] = {row: mean(errors) for row, errors in groups.items()}
    return lambda row: min(FACTORS, key=lambda f: (loss[f].get(row, loss[f].get(None, 0)), abs(math.log(f))))


def left_out(lines_at, by):
    """Every line predicted with all of its `by` left out of the host's terms and of the ranges."""
    rows = rows_of_host()
    found = []
    for value in sorted({by(l) for l in lines_at[1]}):
        stay = lambda l: by(l) != value
        best = best_factors(lines_at, stay, rows)
        scale = widening([l for l in lines_at[1] if stay(l)])
        for at in zip(*(lines_at[f] for f in FACTORS)):
            if not stay(at[0]):
                found.append(widened(at[FACTORS.index(best(host_row(at[0]["run"], rows)))], scale))
    return found


def family_of(card):
    return next((f for f in FAMILIES if any(name in card for name in f)), None)


def without_card(plimsoll, work, lines_at, cards):
    """As left_out() by card, and with no kernel of the card in any fit."""
    rows = rows_of_host()
    found = [l for l in cards if family_of(l["device"]) is None]
    for number, family in enumerate(FAMILIES):
        stay = lambda l: family_of(l["device"]) != family
        best = best_factors(lines_at, stay, rows)
        folder = host_folder(work / f"hwdb-{number}", best)
        drop_kernels(folder, family)
        paths = sorted(Path("tests/measured").glob("*.json"))
        files = steps_alone(paths, work / f"files-{number}", lambda r: family_of(r.get("device", "")) == family)
        scale = widening([l for l in lines_at[1] if stay(l)])
        found += [widened(l, scale) for l in ask(plimsoll, files, folder, work / f"out-{number}")]
    return found


def folds(plimsoll, work):
    files = steps_alone(sorted(Path("tests/measured").glob("*.json")), work / "files")
    lines_at = {}
    for i, f in enumerate(FACTORS):
        lines_at[f] = ask(plimsoll, files, host_folder(work / f"hwdb-at-{i}", lambda row: f), work / f"out-at-{i}")
    card = lambda l: family_of(l["device"]) or l["device"]
    return {"source": left_out(lines_at, lambda l: l["source"]), "network": left_out(lines_at, lambda l: l["model"] or ""),
            "card": without_card(plimsoll, work, lines_at, left_out(lines_at, lambda l: str(card(l))))}


def main(plimsoll, work, out):
    keys = ("source", "device", "model", "dtype", "kind", "quantity", "measured", "predicted", "range", "error", "roofline", "parts", "run", "skipped")
    found = {of: [{k: l.get(k) for k in keys} for l in lines] for of, lines in folds(plimsoll, Path(work)).items()}
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:4])
