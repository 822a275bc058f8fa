"""Writes docs/accuracy.md, and the rows of it that README.md shows between its accuracy markers.

    python3 page.py README.md docs/accuracy.md FOLDER [FOLDS.json]    # run from the root

FOLDER holds answers of `plimsoll validate --json` by default, FOLDER/told those with --source-machines; FOLDS.json is
folds.py's.
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

`./dev accuracy --folds` makes this page from the measured runs and goldens in this repository. Every figure is computed. The reasons
are in `tests/accuracy/reasons.json`. [What holds accuracy back](accuracy-limits.md) explains the figures that miss their target.

Each row compares measured runs with the answer of the default command, which is given what its user would know: the card, the model, the
batch, the precision, the framework and what the program does. A source may also describe its machine: the host, or a context that was
measured on it. A second row, marked `{TOLD}`, is given that too. The roofline is the sum over kernels of
max(flop / the datasheet's peak, bytes / the datasheet's bandwidth), with the flop and bytes of the prediction.

The last column names the constants that were fitted to these records, among others. Such rows do not forecast the error on other records;
rows with something left out do. Records from which a constant was read are in no row (Torres et al. 2021, Table 4; some of Kim et al.
2017, Table IV; Mahendran)."""
LEFT_OUT = """## Left out of every fit

One source, card or network at a time is left out of three fits: the cost of the unknown host, the kernels (a card together with
those that share its fit), and the width of ranges. Each is fitted anew to the remaining records (`tests/accuracy/folds.py`)."""


def asked(rows):
    text = ["## Targets", "", markdown(["what", "target", "today", ""], [(what, must, figure, VERDICT[met]) for what, must, figure, met, *_ in rows]), ""]
    for what, _, figure, met, lines, bound in rows:
        judged = [l for l in lines if l["error"] is not None]
        if met is False and judged:
            which = "The groups of records whose error is above the target" if bound else "These records"
            text += [f"### Missed: {what}, {figure}", "", f"{which}, sorted by their share of the error:", ""]
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
