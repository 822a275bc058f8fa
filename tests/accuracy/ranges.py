"""Measures hwdb/step_errors.json: how far off whole steps are beside what the calibrations of their kernels say.

    python3 ranges.py PLIMSOLL    # run from the root; prints the new file

A step's half width is that of its kernels and its host's part, which Plimsoll says itself where the terms below are 0, and
these terms, all in squares of logarithms:

step          every step: those whose card, library generation and arithmetic were measured, none of which any fit saw
architecture  most was measured on another card of the architecture, or with another generation of the library
transferred   most was measured on another architecture: cards in no calibration, and cards that are in one, with every fit
              that saw one of their kind left out
half          16 bits
assumed       a framework whose habits nobody measured, a card that lowers its clock

They are those that make half widths the 90th percentile of |ln(measured / predicted)| (least pinball loss). The steps of
tests/measured/steps2-*.json, on which ranges are judged, are in no term. The machine is unknown throughout.
"""
import json
import math
import sys
import tempfile
from pathlib import Path
from statistics import median

from folds import FAMILIES, ask, drop_kernels, family_of, host_folder, residual, steps_alone
from hosts import HWDB

TERMS = ["step", "architecture", "transferred", "half", "assumed"]
GRID = [i / 100 for i in range(0, 100, 2)]
JUDGED = "steps2-"


def folder_with(folder, values):
    folder.mkdir(exist_ok=True)
    shipped = json.loads((HWDB / "step_errors.json").read_text())
    (folder / "step_errors.json").write_text(json.dumps(shipped | dict.fromkeys(TERMS, 0) | values))
    return folder


def half(l):
    return abs(math.log(l["range"][1 if residual(l) > 0 else 0] / l["predicted"]))


def sample(l, assumed):
    """|residual|, square of the half width without the terms, which terms apply."""
    evidence = l["parts"]["evidence"]
    applies = [True, evidence == "architecture", evidence == "other", "16" in l["dtype"], assumed]
    return abs(residual(l)), half(l) ** 2, applies


def samples(plimsoll, paths, work):
    work.mkdir()
    files = steps_alone(paths, work / "files")
    at_0 = ask(plimsoll, files, folder_with(work / "at-0", {}), work / "out-0")
    at_1 = ask(plimsoll, files, folder_with(work / "at-1", {"assumed": 1}), work / "out-1")
    return [(l, sample(l, half(o) > half(l) + 1e-6)) for l, o in zip(at_0, at_1)]


def foreign_samples(plimsoll, paths, work):
    """The same of cards that are in calibrations, with every fit left out that saw one of their kind."""
    work.mkdir()
    found = []
    for number, family in enumerate(FAMILIES):
        folder = host_folder(work / f"hwdb-{number}", lambda row: 1)
        drop_kernels(folder, family)
        files = steps_alone(paths, work / f"files-{number}", lambda r: family_of(r.get("device", "")) == family)
        found += [(l, sample(l, False)) for l in ask(plimsoll, files, folder_with(folder, {}), work / f"out-{number}")]
    return found


def width(row, values):
    return math.sqrt(row[1] + sum(v * v for v, applies in zip(values, row[2]) if applies))


def loss(rows, values):
    beyond = [row[0] - width(row, values) for row in rows]
    return sum(.9 * b if b > 0 else -.1 * b for b in beyond)


def fit(rows, values, terms):
    for _ in range(4):
        before = list(values)
        for t in map(TERMS.index, terms):
            rows_of_it = [r for r in rows if r[2][t]]
            if rows_of_it:
                values[t] = min(GRID, key=lambda v: loss(rows_of_it, values[:t] + [v] + values[t + 1:]))
        if values == before:
            break
    return values


def covered(rows, values):
    return f"{100 * sum(r[0] <= width(r, values) for r in rows) / max(1, len(rows)):.0f} % of {len(rows)}"


def main(plimsoll):
    paths = sorted(Path("tests/measured").glob("*.json"))
    with tempfile.TemporaryDirectory() as work:
        all_lines = samples(plimsoll, paths, Path(work) / "home")
        foreign = [row for _, row in foreign_samples(plimsoll, [p for p in paths if not p.name.startswith(JUDGED)], Path(work) / "foreign")]
    home = [row for l, row in all_lines if not l["source"].startswith(JUDGED)]
    judged = [row for l, row in all_lines if l["source"].startswith(JUDGED)]
    values = fit([r for r in home if not any(r[2][1:])], [0] * len(TERMS), ["step"])
    values = fit(home + foreign, values, ["architecture", "transferred", "half", "assumed"])
    by = lambda t: [r for r in home + foreign if r[2][TERMS.index(t)]]
    source = ("tests/accuracy/ranges.py on steps of one GPU in tests/measured, machine unknown, in the range: "
              + ", ".join(f"{t} {covered(by(t), values)}" for t in TERMS)
              + f"; the steps of steps2-*.json, which are in no term: {covered(judged, values)}, median half width "
              f"{100 * median(width(r, values) for r in judged):.0f} %; host, copy, unknown_host, unknown_copy, exchange, all_reduce, layer as before")
    shipped = json.loads((HWDB / "step_errors.json").read_text())
    print(json.dumps(shipped | {"source": source} | dict(zip(TERMS, values)), indent=2))


if __name__ == "__main__":
    main(sys.argv[1])
