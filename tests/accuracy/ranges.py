"""Measures hwdb/step_errors.json: how far off whole steps are beside what the calibrations of their kernels say.

    python3 ranges.py PLIMSOLL FILE...      # run where the files' names hold; prints the new file

Each term's part in a step's range is asked from Plimsoll itself: validate with that term 1 and the others 0. The terms
then are those that make half widths the 90th percentile of |ln(measured / predicted)| (least pinball loss), and the
printed coverage is that of networks which the fit did not see. These terms have records of their own:

unknown_host, unknown_copy: steps of sources whose machines have a file in hwdb/hosts, as if nothing was known of them.
transferred: Maxwell and Volta cards are priced by Pascal's calibrations, as if their own had never been measured.
exchange: few steps of several GPUs are bound by it, and their links' rates come from the same sources; it is as uncertain
as one ring by itself.
"""
import json
import math
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from statistics import median

from hosts import HWDB, write_without_hosts

TERMS = ["step", "inference", "transferred", "half", "fp64", "assumed", "host", "copy", "unknown_host", "unknown_copy", "exchange"]
UNKNOWN = ["unknown_host", "unknown_copy"]
FITTED = [t for t in TERMS if t not in ("transferred", "exchange", *UNKNOWN)]
FOLDS = 6  # of networks
# The architecture whose calibration prices a card when its own is left out: the nearest of the others, as
# estimator/time/select_fit.cc orders them. Cards that need a transfer are of another generation, so the two kinds of
# Pascal do not stand for each other here.
NEAREST = {"5.2": "6.0", "7.0": "6.1"}
SHIPPED = HWDB / "step_errors.json"  # where the search starts: it has several ends
ALONE = ["all_reduce", "layer"]
GRID = [0, .02, .04, .06, .08, .1, .12, .15, .18, .22, .26, .3, .35, .4, .5, .6, .7, .8, 1, 1.2, 1.5, 2, 2.5]


def move_cards(folder):
    """Writes the cards with calibrations as cards of their nearest architecture."""
    (Path(folder) / "devices").mkdir()
    moved = set()
    for path in sorted((HWDB / "devices").glob("*.json")):
        device = json.loads(path.read_text())
        capability = device["compute_capability"]
        if capability["value"] in NEAREST:
            capability["value"] = NEAREST[capability["value"]]
            (Path(folder) / "devices" / path.name).write_text(json.dumps(device))
            moved.add(path.stem)
    return moved


def ask(plimsoll, files, values, moved=None, hosts=True):
    with tempfile.TemporaryDirectory() as folder:
        if moved is not None:
            moved |= move_cards(folder)
        if not hosts:
            write_without_hosts(folder)
        errors = {"schema": "plimsoll.step-errors", "version": 1, "source": "-"} | dict.fromkeys(TERMS + ALONE, 0) | values
        (Path(folder) / "step_errors.json").write_text(json.dumps(errors))
        run = subprocess.run([plimsoll, "validate", *files, "--json", "--hwdb", folder], capture_output=True, text=True, check=False)
    return [l for l in json.loads(run.stdout)["records"] if l["error"] is not None and l["range"]]


def half(line, side):
    return abs(math.log(line["range"][side] / line["predicted"]))


def samples(plimsoll, files):
    """Of each step: |residual|, squares of the kernels' half width and of each term's part, network, and its line."""
    base = ask(plimsoll, files, {})
    terms = {t: ask(plimsoll, files, {t: 1}) for t in TERMS}
    rows = []
    for i, line in enumerate(base):
        if line["quantity"] != "total_ms":
            continue
        side = 1 if line["measured"] > line["predicted"] else 0
        own = half(line, side) ** 2
        parts = [max(0, half(terms[t][i], side) ** 2 - own) for t in TERMS]
        rows.append((abs(math.log(line["measured"] / line["predicted"])), own, parts, line["model"], line))
    return rows


def foreign_samples(plimsoll, files, rows):
    """The same of steps on cards whose own calibration is left out; the terms' parts are those at home."""
    at_home = {(r[4]["file"], r[4]["index"]): r[2] for r in rows}
    moved = set()
    found = []
    for line in ask(plimsoll, files, {}, moved):
        parts = at_home.get((line["file"], line["index"]))
        if line["quantity"] != "total_ms" or line["device"] not in moved or not parts:
            continue
        parts = list(parts)
        parts[TERMS.index("transferred")] = 1
        own = half(line, 1 if line["measured"] > line["predicted"] else 0) ** 2
        found.append((abs(math.log(line["measured"] / line["predicted"])), own, parts, line["model"], line))
    return found


def hostless_samples(plimsoll, files, rows):
    """The same of steps on one GPU whose machine is known, as if it were not; the other terms' parts are those at home."""
    at_home = {(r[4]["file"], r[4]["index"]): (r[2], r[4]["predicted"]) for r in rows}
    base = ask(plimsoll, files, {}, hosts=False)
    terms = {t: ask(plimsoll, files, {t: 1}, hosts=False) for t in UNKNOWN}
    found = []
    for i, line in enumerate(base):
        parts, predicted = at_home.get((line["file"], line["index"]), (None, None))
        if line["quantity"] != "total_ms" or line["kind"] != "model" or parts is None or predicted == line["predicted"]:
            continue
        side = 1 if line["measured"] > line["predicted"] else 0
        own = half(line, side) ** 2
        parts = [0 if t in ("host", "copy") else p for t, p in zip(TERMS, parts)]
        for t in UNKNOWN:
            parts[TERMS.index(t)] = max(0, half(terms[t][i], side) ** 2 - own)
        found.append((abs(math.log(line["measured"] / line["predicted"])), own, parts, line["model"], line))
    return found


def width(row, values):
    return math.sqrt(row[1] + sum(p * v * v for p, v in zip(row[2], values)))


def loss(rows, values):
    total = 0
    for row in rows:
        beyond = row[0] - width(row, values)
        total += .9 * beyond if beyond > 0 else -.1 * beyond
    return total


def fit(rows, values, terms=FITTED):
    values = list(values)
    for _ in range(3):
        before = list(values)
        for t in map(TERMS.index, terms):
            values[t] = min(GRID, key=lambda v: loss(rows, values[:t] + [v] + values[t + 1:]))
        if values == before:
            break
    return values


def covered(rows, values):
    return sum(r[0] <= width(r, values) for r in rows) / len(rows)


def quantile90(residuals):
    return sorted(residuals)[int(.9 * (len(residuals) - 1) + .5)] if residuals else 0


def main(plimsoll, files):
    rows = samples(plimsoll, files)
    shipped = json.loads(SHIPPED.read_text())
    alone = ask(plimsoll, files, {})
    residual = lambda l: abs(math.log(l["measured"] / l["predicted"])) if l["measured"] and l["predicted"] else 0
    all_reduce = round(quantile90([residual(l) for l in alone if l["kind"] == "scaling" and l["quantity"] == "time_ms"]), 2)
    values = [all_reduce if t == "exchange" else shipped[t] for t in TERMS]
    values = fit(rows, values)
    foreign = foreign_samples(plimsoll, files, rows)
    hostless = hostless_samples(plimsoll, files, rows)
    values = fit(foreign, values, ["transferred"])
    values = fit(hostless, values, UNKNOWN)
    values = fit(rows, values)
    inside = 0
    fold = lambda r: zlib.crc32(r[3].encode()) % FOLDS
    for out in range(FOLDS):
        others = fit([r for r in rows if fold(r) != out], values)
        inside += sum(r[0] <= width(r, others) for r in rows if fold(r) == out)
    result = dict(zip(TERMS, values), all_reduce=all_reduce)
    layers = [math.sqrt(max(0, residual(l) ** 2 - half(l, 1 if l["measured"] > l["predicted"] else 0) ** 2)) for l in alone if l["kind"] == "layer"]
    result["layer"] = round(quantile90(layers), 2)
    source = (f"tests/accuracy/ranges.py on {len(rows)} steps of tests/measured: of networks left out of the fit "
              f"{100 * inside / len(rows):.0f} % lie in the range, whose median half width is {100 * median(width(r, values) for r in rows):.0f} %; "
              f"transferred from {len(foreign)} steps whose card's architecture is left out: median error "
              f"{100 * median(r[0] for r in foreign):.0f} % against {100 * median(r[0] for r in rows):.0f} % of all at home, "
              f"{100 * covered(foreign, values):.0f} % in the range; machines unknown on {len(hostless)} steps, {100 * covered(hostless, values):.0f} % in the range; exchange as all_reduce")
    print(json.dumps({"schema": "plimsoll.step-errors", "version": 1, "source": source} | result, indent=2))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
