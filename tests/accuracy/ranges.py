"""Measures hwdb/step_errors.json: how far off whole steps are beside what the calibrations of their kernels say.

    python3 ranges.py PLIMSOLL    # run from the root; prints the new file

A step's half width is that of its kernels and its host's part, which Plimsoll says itself where the terms below are 0, and
these terms, all in squares of logarithms:

step          every step
architecture  most was measured on another card of the architecture, or with another generation of the library
transferred   most was measured on another architecture; its kernels' ranges are wider by how far that is
half          16 bits
assumed       a framework whose habits nobody measured, a card that lowers its clock

files          upwards alone: batches are read from files and decoded, which is not in the figure

They but the last are those that make half widths the 90th percentile of |ln(measured / predicted)| (least pinball loss), where the
machine is unknown; the last is so chosen on the sources of INPUT_BOUND, on one GPU and several. No fit of kernels saw a
step. The coverage printed for each card of COVERED, and for each source of INPUT_BOUND, is that of terms fitted without it.
"""
import collections
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from folds import ask, residual, steps_alone
from hosts import HWDB
from records import INPUT_BOUND, input_bound, load

TERMS = ["step", "architecture", "transferred", "half", "assumed"]
# Fewer steps than these do not tell where nine of ten lie: their term stays as it was.
FEWEST = 30
GRID = [i / 100 for i in range(0, 100, 2)]
COVERED = ["rtx-3090", "rtx-4090", "a100", "tesla-v100", "rtx-2080-ti", "tesla-t4", "tesla-k80", "h100", "h200"]


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


def samples(plimsoll, work):
    files = steps_alone(sorted(Path("tests/measured").glob("*.json")), work / "files")
    at_0 = ask(plimsoll, files, folder_with(work / "at-0", {}), work / "out-0")
    at_1 = ask(plimsoll, files, folder_with(work / "at-1", {"assumed": 1}), work / "out-1")
    return [(l, sample(l, half(o) > half(l) + 1e-6)) for l, o in zip(at_0, at_1)]


def width(row, values):
    return math.sqrt(row[1] + sum(v * v for v, applies in zip(values, row[2]) if applies))


def loss(rows, values):
    beyond = [row[0] - width(row, values) for row in rows]
    return sum(.9 * b if b > 0 else -.1 * b for b in beyond)


def fit(rows, values):
    """First the term of every step, by those to which no other applies, then the others."""
    for terms, of in ((["step"], [r for r in rows if not any(r[2][1:])]), (TERMS[1:], rows)):
        for _ in range(4):
            before = list(values)
            for t in map(TERMS.index, terms):
                rows_of_it = [r for r in of if r[2][t]]
                if len(rows_of_it) >= FEWEST:
                    values[t] = min(GRID, key=lambda v: loss(rows_of_it, values[:t] + [v] + values[t + 1:]))
            if values == before:
                break
    return values


def files_loss(rows, files):
    """Of the upper ends alone, in rows of |residual| where it is above 0 and the upper half width without the term."""
    beyond = [above - math.hypot(upper, files) for above, upper in rows if above > 0]
    return sum(.9 * b if b > 0 else -.1 * b for b in beyond)


def files_term(plimsoll, work, values):
    """The term of steps whose batches are read from files, and what it covers of each source when fitted to the other."""
    out = work / "out-files"
    out.mkdir()
    paths = [Path(f"tests/measured/{source}.json") for source in INPUT_BOUND]
    with (out / "runs.json").open("w") as stdout:
        subprocess.run([plimsoll, "validate", *paths, "--allow-skipped", "--json", "--hwdb", folder_with(work / "no-files", values | {"files": 0})],
                       stdout=stdout, stderr=subprocess.DEVNULL, check=False)
    rows = collections.defaultdict(list)
    for l in load(out):
        if input_bound(l) and l["error"] is not None:
            above = residual(l) if l["measured"] >= l["range"][0] else math.inf
            rows[l["source"]].append((above, math.log(l["range"][1] / l["predicted"])))
    best = lambda of: min(GRID, key=lambda files: files_loss([r for r in of if r[0] < math.inf], files))
    others = {s: best([r for t in INPUT_BOUND if t != s for r in rows[t]]) for s in INPUT_BOUND}
    share = lambda s: sum(above <= math.hypot(upper, others[s]) for above, upper in rows[s]) / len(rows[s])
    return best([r for s in INPUT_BOUND for r in rows[s]]), ", ".join(f"{s} {100 * share(s):.0f} % of {len(rows[s])}" for s in INPUT_BOUND)


def covered(rows, values):
    return f"{100 * sum(r[0] <= width(r, values) for r in rows) / max(1, len(rows)):.0f} % of {len(rows)}"


def main(plimsoll):
    with tempfile.TemporaryDirectory() as work:
        lines = samples(plimsoll, Path(work))
        rows = [row for _, row in lines]
        shipped = json.loads((HWDB / "step_errors.json").read_text())
        start = [0 if sum(r[2][i] for r in rows) >= FEWEST else shipped[t] for i, t in enumerate(TERMS)]
        values = fit(rows, list(start))
        files, of_files = files_term(plimsoll, Path(work), dict(zip(TERMS, values)))
    of_term = ", ".join(f"{t} {covered([r for r in rows if r[2][i]], values)}" for i, t in enumerate(TERMS))
    without = []
    for card in COVERED:
        others = fit([r for l, r in lines if not l["device"].startswith(card)], list(start))
        without.append(f"{card} {covered([r for l, r in lines if l['device'].startswith(card)], others)}")
    source = (f"tests/accuracy/ranges.py on {len(rows)} steps of one GPU in tests/measured, machine unknown, in the range: {of_term}; of cards "
              f"that are left out of this fit: {', '.join(without)}; median half width {100 * median(width(r, values) for r in rows):.0f} %; "
              f"files: without each source {of_files}; host, copy, unknown_host, unknown_copy, exchange, all_reduce, layer as before; assumed: "
              "rated_host, half of unknown_host, and loader, from two checks of a DataLoader")
    print(json.dumps(shipped | {"source": source} | dict(zip(TERMS, values)) | {"files": files}, indent=2))


if __name__ == "__main__":
    main(sys.argv[1])
