"""Estimates of the memory goldens' models against the oracle's figures, as lines of `validate --json`.

    python3 oracle.py PLIMSOLL FOLDER-FOR-UNPACKED-FILES

`form` says how a model was exported: for training by either exporter, or for inference, where dropout is given by hand.
"""
import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FORMS = ("train-ts", "train-dy", "eval-ts")
# Their inference form is another network: the auxiliary classifiers are not in the file.
NOT_THE_SAME = {("eval-ts", "torchvision-googlenet"), ("eval-ts", "torchvision-inception_v3")}
GPU = "titan-xp"  # the oracle's default compute capability


def lengths(case):
    """The exports' own symbols for a sequence's length, bound as the oracle ran it."""
    for name, shape in case["inputs"].items():
        if name.endswith("input_ids"):
            yield from ("--dim", f"{'target_sequence' if name.startswith('decoder') else 'sequence'}={shape[1]}")


def estimate(plimsoll, model, golden, case, form):
    command = [plimsoll, "estimate", model, "--gpu", GPU, "--batch", str(case["batch"]), "--json", *lengths(case)]
    command += ["--mode", "inference"] if case["mode"] == "inference" else ["--optimizer", case["mode"]]
    if golden["loss"]:
        command += ["--loss", golden["loss"]]
    if form == "eval-ts" and "dropout" in golden and case["mode"] != "inference":
        command += ["--dropout", str(golden["dropout"])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None, (done.stderr.strip().splitlines() or ["no answer"])[0]
    return json.loads(done.stdout)["result"]["memory"], None


def figures(golden, case):
    """The oracle's figures, each with where an estimate has its own."""
    yield "live_peak_bytes", case["in_place"]["peak"], lambda m: m["live_peak_bytes"]
    if case["mode"] == "inference":
        return
    yield "saved_bytes", case["saved"]["after_loss"]["bytes_rounded"], lambda m: m["saved_bytes"]
    yield "parameters_bytes", golden["parameters"]["bytes"], lambda m: m["parameters"]["bytes"]
    yield "buffers_bytes", golden["buffers"]["bytes"], lambda m: m["buffers_bytes"]
    yield "gradients_bytes", golden["gradients"]["bytes"], lambda m: m["gradients_bytes"]
    yield "optimizer_state_bytes", case["optimizer_state"]["bytes"], lambda m: m["optimizer_state_bytes"]
    phase = {"step": "update"}.get(case["in_place"]["phase"], case["in_place"]["phase"])
    yield "peak_phase", 1, lambda m: m["peak"]["phase"] == phase


def lines(plimsoll, folder, form, path):
    golden = json.loads(path.read_text())
    packed = GOLDEN / "onnx" / form / f"{path.stem}.onnx.gz"
    model = Path(folder) / f"{form}-{path.stem}.onnx"
    if packed.exists():
        model.write_bytes(gzip.decompress(packed.read_bytes()))
    for case in golden["cases"]:
        memory, problem = None, f"not exported as {form}"
        if packed.exists():
            memory, problem = estimate(plimsoll, str(model), golden, case, form)
        for quantity, measured, of in figures(golden, case):
            predicted = int(of(memory)) if memory else None
            error = None if predicted is None else predicted / measured - 1 if measured else float(predicted != measured)
            yield {"kind": "oracle", "model": path.stem, "op": None, "device": GPU, "quantity": quantity, "measured": measured,
                   "predicted": predicted, "range": None, "skipped": problem, "error": error,
                   "exact": None if error is None else error == 0, "form": form, "mode": case["mode"], "batch": case["batch"]}


def main(plimsoll, folder):
    wanted = [(form, path) for form in FORMS for path in sorted((GOLDEN / "memory").glob("*-*.json"))
              if (form, path.stem) not in NOT_THE_SAME]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda one: list(lines(plimsoll, folder, *one)), wanted)
        json.dump({"records": [line for of_one in done for line in of_one]}, sys.stdout)


main(*sys.argv[1:3])
