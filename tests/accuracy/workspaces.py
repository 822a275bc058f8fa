"""Scratch memory of convolutions as lines of `validate --json`, `exact` where it is what cuDNN says (None: measured otherwise).

    python3 workspaces.py PLIMSOLL

"given": cuDNN's plans, engine and tile given; "first": its first plan, where the tables have the problem; "rule": its first
plan as the rule guesses it for networks that it has not seen (the folds of tests/oracles/train_workspace_rule.py), exact to
512 bytes; "largest": that of a network, exact to 4 MiB; "used": what an H100 gave out, above 1 MiB. Smaller ones have no
error, which would be a share of next to nothing.
"""
import csv
import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "workspaces"
MIB = 1 << 20
LAYER = ("c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "dil_h", "dil_w", "groups")
CARDS = {61: "quadro-p4000", 70: "titan-v", 75: "tesla-t4", 80: "a100-sxm-40gb", 86: "rtx-3090", 90: "h100-sxm-80gb"}
PASSES = ("fprop", "dgrad", "wgrad")


def ask(plimsoll, problems, *options):
    """One answer for each problem."""
    lines = "".join(json.dumps(p) + "\n" for p in problems)
    done = subprocess.run([plimsoll, "workspace", *options], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked_of(capability):
    return ("--gpu", CARDS[capability], "--cudnn", "9.10", "--framework", "ideal")


def record(quantity, device, model, measured, predicted, exact, range_=None):
    return {"kind": "workspace", "device": device, "quantity": quantity, "model": model, "measured": measured,
            "predicted": predicted, "exact": exact, "range": range_, "error": predicted / measured - 1 if measured >= MIB else None,
            "skipped": None}


@contextmanager
def database_without_tables(capability):
    """A folder for --hwdb whose table knows no layer, and the path of its rule."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "workspaces"
        files.mkdir()
        (files / "layers.bin").write_bytes(b"PLL1" + bytes(4))
        (files / f"cudnn-9.10-sm{capability}-fp32-nchw.bin").write_bytes(
            b"PLW1" + bytes(4) + bytes([1, 0, 0, 0]) + (32).to_bytes(4, "little"))
        yield folder, files / f"rule-9.10-sm{capability}-fp32-nchw.json"


def golden(capability):
    """Problems of cuDNN-9.10-sm*.txt and its plans for each: engine, on tensor cores or not, bytes, tile."""
    for line in (GOLDEN / f"cudnn-9.10-sm{capability}-fp32-nchw.txt").open():
        if line.startswith("#"):
            continue
        problem, plans = line.split("|")
        which, *numbers = problem.split()
        split = [plan.split(":") for plan in plans.split()]
        yield ({"pass": which, **dict(zip(("n", *LAYER), map(int, numbers), strict=True))},
               [(int(engine.rstrip("tw")), "t" in engine, int(size), -1 if tile == "-" else int(tile))
                for engine, size, tile in split])


def given(plimsoll, capability):
    """A rule that always guesses this plan gives the formula's bytes."""
    problems = {}
    for problem, plans in golden(capability):
        for engine, tensor, size, tile in plans:
            if not tensor:
                problems.setdefault((engine, tile), []).append((problem, size))
    with database_without_tables(capability) as (folder, rule):
        for (engine, tile), asked in problems.items():
            tree = {"tensor_cores": False, "plans": [[engine, tile, 0, 0, 0]], "feature": "-1", "value": "0", "right": "0"}
            rule.write_text(json.dumps({"trees": [{"pass": which, **tree} for which in PASSES]}))
            answers = ask(plimsoll, [p for p, _ in asked], *asked_of(capability), "--hwdb", folder)
            for (_, size), answer in zip(asked, answers, strict=True):
                assert answer["engine"] == engine and answer["basis"] == "rule", answer
                bytes_ = answer["workspace_bytes"]
                yield record("given", f"sm_{capability}", f"engine {engine}", size, bytes_, bytes_ == size)


def first(plimsoll, capability):
    asked = list(golden(capability))
    for (_, plans), answer in zip(asked, ask(plimsoll, [p for p, _ in asked], *asked_of(capability)), strict=True):
        assert answer["basis"] == "table", answer
        bytes_ = answer["workspace_bytes"]
        yield record("first", f"sm_{capability}", "", plans[0][2], bytes_, bytes_ == plans[0][2])


def by_rule(plimsoll, capability):
    with database_without_tables(capability) as (folder, rule):
        for fold in map(json.loads, (GOLDEN / f"folds-sm{capability}.jsonl").open()):
            rule.write_text(json.dumps({"trees": fold["trees"]}))
            problems = [(network, {"pass": which, "n": n, **dict(zip(LAYER, layer, strict=True))})
                        for network, layers in fold["networks"].items() for layer in layers for n in (8, 32, 64, 128)
                        for which in PASSES]
            asked = [p for _, p in problems]
            known = ask(plimsoll, asked, *asked_of(capability))
            guessed = ask(plimsoll, asked, *asked_of(capability), "--hwdb", folder)
            most = {}
            for (network, problem), k, g in zip(problems, known, guessed, strict=True):
                assert (k["basis"], g["basis"]) == ("table", "rule"), (network, problem, k, g)
                right, guess = k["workspace_bytes"], g["workspace_bytes"]
                yield record(f"rule {problem['pass']}", f"sm_{capability}", network, right, guess, abs(guess - right) < 512,
                             g["range"])
                if problem["n"] == 32:
                    most[network] = tuple(map(max, most.get(network, (0, 0)), (right, guess)))
            for network, (right, guess) in most.items():
                yield record("largest", f"sm_{capability}", network, right, guess, abs(guess - right) <= 4 * MIB)


def used(plimsoll):
    rows = list(csv.DictReader(line for line in (GOLDEN / "h100-measured.csv").open() if not line.startswith("#")))
    for dtype in sorted({row["dtype"] for row in rows}):  # TF32 is the library's choice for fp32
        mine = [row for row in rows if row["dtype"] == dtype]
        problems = [{k: v if k in ("pass", "layout") else int(v) for k, v in row.items() if k not in ("dtype", "workspace_bytes")}
                    for row in mine]
        answers = ask(plimsoll, problems, "--gpu", CARDS[90], "--cudnn", "9.19", "--precision", dtype)
        for row, answer in zip(mine, answers, strict=True):
            size, bytes_ = int(row["workspace_bytes"]), answer["workspace_bytes"]
            if size >= MIB:
                yield record("used", CARDS[90], dtype, size, bytes_, None, answer["range"])


def main():
    plimsoll = sys.argv[1]
    records = [r for capability in (61, 70, 75) for r in given(plimsoll, capability)]
    records += [r for capability in CARDS for r in first(plimsoll, capability)]
    print(json.dumps({"records": [*records, *by_rule(plimsoll, 61), *used(plimsoll)]}))


if __name__ == "__main__":
    main()
