"""Writes docs/accuracy.md, and the rows of it that README.md shows between its accuracy markers.

    python3 page.py README.md docs/accuracy.md FOLDER [FOLDS.json]    # run from the root

FOLDER holds answers of `plimsoll validate --json` by default, FOLDER/told those with --source-machines; FOLDS.json is
folds.py's..
"""
import json
import sys
from pathlib import Path

import one_gpu
import scaling
import sharded
from misses import algorithms, blame, facts, odd_shapes, widths_of_memory
from musts import table_of
from records import load
from table import HEAD, TOLD, all_rows, for_readme, left_out_rows, markdown

BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"
VERDICT = {True: "met", False: "missed", None: "not judged here"}
ABOUT = f"""# How accurate it is

Made by `./dev accuracy --folds` from the measured runs and goldens in this repository; reasons are in
`tests/accuracy/reasons.json`, every figure is computed. [What holds accuracy back](accuracy-limits.md), and what was tried, is
written by hand.

A row is what the default command answers, told what its user would know: the card, the model, the batch, the precision, the
framework and what the program does. What a source alone tells of its machine (its host, a context measured on it) moves a
second row below it, told by `{TOLD}`. The roofline is the sum over kernels of max(flop / the datasheet's peak, bytes / the
datasheet's bandwidth), by the flop and bytes of the prediction itself. The last column names what was chosen with these
records among others: such rows are no forecast of how other records come out, those with something left out are. Records that
a constant was read from (Torres et al. 2021, Table 4; some of Kim et al. 2017, Table IV), or that one constant stands for
(Mahendran), are in no row."""
LEFT_OUT = """## Left out of every fit

A source, a card or a network at a time is left out of what the unknown host costs, of the kernels' fits (a card, with its
siblings that share a fit) and of the width of ranges, each fitted anew to what stays in (`tests/accuracy/folds.py`)."""


def asked(rows):
    text = ["## What is asked", "", markdown(["what", "must", "today", ""], [(what, must, figure, VERDICT[met]) for what, must, figure, met, *_ in rows]), "",
            "What is kept back elsewhere (819 records of other networks and cards) cannot be judged here.", ""]
    for what, _, figure, met, lines, bound in rows:
        judged = [l for l in lines if l["error"] is not None]
        if met is False and judged:
            which = "The groups of records that are further off than that" if bound else "These records"
            text += [f"### Missed: {what}, {figure}", "", f"{which}, by what they add:", ""]
            text += blame(judged, bound)
    return text


def main(readme, docs, folder, folds_file=None):
    lines, told = load(folder), load(Path(folder) / "told")
    folds = json.loads(Path(folds_file).read_text()) if folds_file else {}
    rows = all_rows(lines, told)
    text = [ABOUT, ""] + asked(table_of(lines, folds)) + ["## All rows", "", markdown(HEAD, [cells for _, cells in rows]), ""]
    text += sharded.section(Path(folder) / "sharded") + one_gpu.section(Path(folder) / "one_gpu")
    text += scaling.section(lines + load(Path(folder) / "scaling"))
    if folds:
        text += [LEFT_OUT, "", markdown(HEAD[:12], left_out_rows(folds)), ""]
    text += widths_of_memory(lines) + odd_shapes(lines) + algorithms(lines) + facts(lines)
    Path(docs).parent.mkdir(exist_ok=True)
    Path(docs).write_text("\n".join(text).rstrip() + "\n")
    page = Path(readme).read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"{readme} has no markers {BEGIN} and {END}")
    before, rest = page.split(BEGIN, 1)
    Path(readme).write_text(f"{before}{BEGIN}\n{for_readme(rows)}\n{END}{rest.split(END, 1)[1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
