"""Lines of `plimsoll validate --json`, each with the record it is about.

Used by the scripts beside it, run where the files' names hold. A line then also has: `run`, the record; `source`, the
name of its file; `dtype`, the arithmetic.
"""
import json
from pathlib import Path

# Cards whose kernels the calibrations have measured.
MEASURED = ("gtx-titan-x", "titan-xp", "titan-x-pascal", "tesla-p100-pcie-16gb", "tesla-p100-sxm2-16gb", "tesla-m40", "gtx-1080-ti")


def load(folder):
    files, lines = {}, []
    for path in sorted(Path(folder).glob("*.json")):
        for l in json.loads(path.read_text())["records"]:
            name = l.get("file", "")
            known = name.endswith(".json") and Path(name).exists() and "index" in l
            if known and name not in files:
                files[name] = json.loads(Path(name).read_text()).get("records", [])
            l["run"] = files[name][l["index"]] if known else {}
            l["source"] = Path(name).stem
            l["dtype"] = (l["run"].get("dtype") or "fp32") if known else ""
            lines.append(l)
    return lines


def is_step(l):
    """A step or a forward pass on one GPU."""
    return l["quantity"] == "total_ms" and l["kind"] == "model" and l["run"].get("n_gpus", 1) == 1


def on_several(l):
    """A step of several GPUs, or of one that was measured beside them."""
    return l["quantity"] == "total_ms" and l["kind"] in ("model", "scaling") and not is_step(l)


def training(l):
    return l["run"].get("mode", "train") != "inference"


def calibrated(l):
    return is_step(l) and l["device"] in MEASURED and l["dtype"] == "fp32"


def uncalibrated(l):
    return is_step(l) and l["device"] not in MEASURED and "v100" not in l["device"] and l["dtype"] == "fp32"
