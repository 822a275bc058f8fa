"""Estimates of the memory goldens' models against the oracle's figures, as lines of `validate --json`.

    python3 oracle.py PLIMSOLL FOLDER-FOR-UNPACKED-FILES
    python3 oracle.py PLIMSOLL FOLDER-FOR-UNPACKED-FILES --exports EXPORTS --goldens GOLDENS --summary

`form` says how a model was exported: for training by either exporter, or for inference, where dropout is given by hand.
The second line takes fresh networks (tests/oracles/README.md) and says what was missed, most first.
"""
import argparse
import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FORMS = ("train-ts", "train-dy", "eval-ts")
# Their inference form is another network: the auxiliary classifiers are not in the file.
NOT_THE_SAME = {("eval-ts", "torchvision-googlenet"), ("eval-ts", "torchvision-inception_v3")}
GPUS = {"61": "titan-xp", "80": "a100-80gb-sxm"}  # by the oracle's compute capability
# What a summary asks of each quantity, beside opening the file: the largest error that is no miss.
ALLOWED = {"parameters_bytes": 0.001, "live_peak_bytes": 0.01}


def lengths(case):
    """The exports' own symbols for a sequence's length, bound as the oracle ran it."""
    for name, shape in case["inputs"].items():
        if name.endswith("input_ids"):
            yield from ("--dim", f"{'target_sequence' if name.startswith('decoder') else 'sequence'}={shape[1]}")


def estimate(plimsoll, model, golden, case, form):
    command = [plimsoll, "estimate", model, "--gpu", GPUS[golden["capability"]], "--batch", str(case["batch"]), "--json"]
    command += ["--mode", "inference"] if case["mode"] == "inference" else ["--optimizer", case["mode"]]
    if golden["loss"]:
        command += ["--loss", golden["loss"]]
    if form == "eval-ts" and "dropout" in golden and case["mode"] != "inference":
        command += ["--dropout", str(golden["dropout"])]
    for name, value in case.get("recipe", {}).items():
        command += ["--" + name.replace("_", "-"), str(value)]
    done = subprocess.run([*command, *lengths(case)], capture_output=True, text=True)
    if "has no dimension" in done.stderr:   # the export is of one length, the oracle's
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None, (done.stderr.strip().splitlines() or ["no answer"])[0]
    return json.loads(done.stdout)["result"]["memory"], None


def figures(golden, case):
    """The oracle's figures, each with where an estimate has its own."""
    yield "live_peak_bytes", case["in_place"]["peak"], lambda m: m["live_peak_bytes"]
    if case["mode"] == "inference":
        return
    sizes = {**golden, **case}   # in half precision a case has its own
    yield "saved_bytes", case["saved"]["after_loss"]["bytes_rounded"], lambda m: m["saved_bytes"]
    yield "parameters_bytes", sizes["parameters"]["bytes"], lambda m: m["parameters"]["bytes"]
    yield "buffers_bytes", sizes["buffers"]["bytes"], lambda m: m["buffers_bytes"]
    yield "gradients_bytes", sizes["gradients"]["bytes"], lambda m: m["gradients_bytes"]
    yield "optimizer_state_bytes", case["optimizer_state"]["bytes"], lambda m: m["optimizer_state_bytes"]
    phase = {"step": "update"}.get(case["in_place"]["phase"], case["in_place"]["phase"])
    yield "peak_phase", 1, lambda m: m["peak"]["phase"] == phase


def recipe_of(case):
    """"plain", or the name of what differs: "amp-bf16", "blocks", "accumulate"."""
    recipe = case.get("recipe")
    if not recipe:
        return "plain"
    words = [recipe["precision"], recipe["checkpoint"], f"accumulate={recipe['accumulate']}"]
    return " ".join(word for word in words if word not in ("fp32", "none", "accumulate=1"))


def unpacked(exports, folder, form, name):
    """The export as a file: as it is, or out of the repository's packed ones; None where there is none."""
    plain, packed = exports / form / f"{name}.onnx", exports / form / f"{name}.onnx.gz"
    if plain.exists() or not packed.exists():
        return plain if plain.exists() else None
    model = Path(folder) / f"{form}-{name}.onnx"
    model.write_bytes(gzip.decompress(packed.read_bytes()))
    return model


def lines(options, form, path):
    golden = json.loads(path.read_text())
    model = unpacked(options.exports, options.folder, form, path.stem)
    for case in golden["cases"]:
        memory, problem = None, f"not exported as {form}"
        if model:
            memory, problem = estimate(options.plimsoll, str(model), golden, case, form)
        for quantity, measured, of in figures(golden, case):
            predicted = int(of(memory)) if memory else None
            error = None if predicted is None else predicted / measured - 1 if measured else float(predicted != measured)
            yield {"kind": "oracle", "model": path.stem, "op": None, "device": GPUS[golden["capability"]], "quantity": quantity,
                   "measured": measured, "predicted": predicted, "range": None, "skipped": problem, "error": error,
                   "exact": None if error is None else error == 0, "form": form, "mode": case["mode"], "batch": case["batch"],
                   "recipe": recipe_of(case)}


def share(name, records, missed):
    good = len(records) - sum(map(missed, records))
    print(f"{name:36} {good:4} of {len(records):4}  {100 * good / max(1, len(records)):5.1f} %")


def summarise(records):
    """Shares of what was opened and is near the oracle, then each miss."""
    exported = [r for r in records if not (r["skipped"] or "").startswith("not exported")]
    share("files opened", list({(r["form"], r["model"]): r for r in exported}.values()), lambda r: r["predicted"] is None)
    for quantity, allowed in ALLOWED.items():
        for plain in (True, False):
            of = [r for r in exported if r["quantity"] == quantity and r["predicted"] is not None and (r["recipe"] == "plain") == plain]
            if of:
                share(f"{quantity} within {allowed:.1%}, {'plain' if plain else 'recipes'}", of, lambda r: abs(r["error"]) > allowed)
    for r in {(r["form"], r["model"]): r for r in exported if r["predicted"] is None}.values():
        print(f"  {r['form']:9} {r['model']:34} {r['skipped']}")
    missed = [r for r in exported if r["predicted"] is not None and abs(r["error"]) > ALLOWED.get(r["quantity"], 9)]
    for r in sorted(missed, key=lambda r: -abs(r["error"])):
        print(f"  {r['form']:9} {r['model']:34} {r['quantity']:17} {r['mode']:9} {r['recipe']:14} {r['error']:+8.2%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plimsoll")
    parser.add_argument("folder", help="for unpacked files")
    parser.add_argument("--exports", type=Path, default=GOLDEN / "onnx", help="folder of export_models.py")
    parser.add_argument("--goldens", type=Path, default=GOLDEN / "memory", help="folder of memory_oracle.py --out")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--models", default="*", help="a pattern")
    parser.add_argument("--summary", action="store_true", help="text: shares and misses")
    options = parser.parse_args()
    wanted = [(form, path) for form in options.forms.split(",") for path in sorted(options.goldens.glob("*-*.json"))
              if (form, path.stem) not in NOT_THE_SAME and fnmatch(path.stem, options.models)]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda one: list(lines(options, *one)), wanted)
        records = [line for of_one in done for line in of_one]
    if options.summary:
        summarise(records)
    else:
        json.dump({"records": records}, sys.stdout)


main()
