"""Estimates of the memory goldens' models against the oracle's figures, as lines of `validate --json`.

    python3 oracle.py PLIMSOLL FOLDER-FOR-UNPACKED-FILES
"""
import gzip
import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FORM = "train-ts"  # as exported for training, batch norms not folded
GPU = "titan-xp"   # the oracle's default compute capability


def estimate(plimsoll, model, golden, case):
    command = [plimsoll, "estimate", model, "--gpu", GPU, "--batch", str(case["batch"]), "--json"]
    command += ["--mode", "inference"] if case["mode"] == "inference" else ["--optimizer", case["mode"]]
    if golden["loss"]:
        command += ["--loss", golden["loss"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return None, (done.stderr.strip().splitlines() or ["no answer"])[0]
    return json.loads(done.stdout)["result"]["memory"], None


def lines(plimsoll, folder):
    for path in sorted((GOLDEN / "memory").glob("*-*.json")):
        golden = json.loads(path.read_text())
        packed = GOLDEN / "onnx" / FORM / f"{path.stem}.onnx.gz"
        model = Path(folder) / f"{path.stem}.onnx"
        if packed.exists():
            model.write_bytes(gzip.decompress(packed.read_bytes()))
        for case in golden["cases"]:
            memory, problem = (None, f"not exported as {FORM}")
            if packed.exists():
                memory, problem = estimate(plimsoll, str(model), golden, case)
            measured = {"live_peak_bytes": case["in_place"]["peak"]}
            if "saved" in case:
                measured["saved_bytes"] = case["saved"]["after_loss"]["bytes_rounded"]
            for quantity, value in measured.items():
                predicted = memory[quantity] if memory else None
                yield {"kind": "oracle", "model": path.stem, "op": None, "quantity": quantity, "measured": value,
                       "predicted": predicted, "range": None, "skipped": problem,
                       "error": None if predicted is None else predicted / value - 1,
                       "mode": case["mode"], "batch": case["batch"]}


json.dump({"records": list(lines(*sys.argv[1:3]))}, sys.stdout)
