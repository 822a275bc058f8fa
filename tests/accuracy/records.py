"""Lines of `plimsoll validate --json`, each with the record it is about.

Used by the scripts beside it, run where the files' names hold. A line then also has: `run`, the record; `source`, the
name of its file; `dtype`, the arithmetic.
"""
import csv
import json
from pathlib import Path

# Cards whose kernels the calibrations have measured.
MEASURED = ("gtx-titan-x", "titan-xp", "titan-x-pascal", "tesla-p100-pcie-16gb", "tesla-p100-sxm2-16gb", "tesla-m40", "gtx-1080-ti")

# Cards whose forward convolutions DeepBench names the algorithms of.
CARDS_OF_ALGORITHMS = [
    ("Maxwell, cuDNN 5.0", ("gtx-titan-x", "tesla-m40")),
    ("Pascal GP102, cuDNN 5.0 and 6", ("titan-x-pascal", "titan-xp", "gtx-1080-ti")),
    ("P100, cuDNN 6", ("tesla-p100-pcie-16gb",)),
    ("V100, cuDNN 7.6", ("tesla-v100-sxm2-16gb",)),
]


def records_of(path):
    text = path.read_text()
    return json.loads(text).get("records", []) if path.suffix == ".json" else list(csv.DictReader(text.splitlines()))


def load(folder):
    files, lines = {}, []
    for path in sorted(Path(folder).glob("*.json")):
        for l in json.loads(path.read_text())["records"]:
            name = l.get("file", "")
            known = name.endswith((".json", ".csv")) and Path(name).exists() and "index" in l
            if known and name not in files:
                files[name] = records_of(Path(name))
            l["run"] = files[name][l["index"]] if known else {}
            l["source"] = Path(name).stem
            l["dtype"] = (l["run"].get("dtype") or "fp32") if known else ""
            lines.append(l)
    return lines


def is_fresh(l):
    """Of the tables that no fit sees (tests/measured/steps3-*.json): judged by themselves."""
    return l["source"].startswith("steps3-")


def is_step(l):
    """A step or a forward pass on one GPU, run operator by operator."""
    return (l["quantity"] == "total_ms" and l["kind"] == "model" and l["run"].get("n_gpus", 1) == 1 and not compiled(l)
            and not is_fresh(l))


def compiled(l):
    """By torch.compile, or with CUDA graphs: judged by itself, and no fit's."""
    return bool(l["run"].get("compile") or l["run"].get("cuda_graphs"))


def on_several(l):
    """A step of several GPUs, or of one that was measured beside them."""
    return (l["quantity"] == "total_ms" and l["kind"] in ("model", "scaling") and not is_step(l) and not compiled(l)
            and not is_fresh(l))


# Several GPUs of one machine whose batches do not lie ready: Gavel's read and decode them, Detectron's bring their heads'
# proposals from the host; neither says how long that takes.
INPUT_BOUND = ("gavel-throughputs", "detectron-model-zoo")


def input_bound(l):
    return on_several(l) and l["source"] in INPUT_BOUND


def replicated(l):
    """A step of several GPUs, or of one beside them, whose batches lie ready."""
    return on_several(l) and l["source"] not in INPUT_BOUND


# Records that a constant was read from: the host's memory of PyTorch 1.4 and TensorFlow 2.2 and what a data set takes of it
# (Torres et al. 2021, Table 4), CNTK's and Theano's own kernels of a bias and a ReLU (Kim et al. 2017, Table IV);
# hwdb/frameworks says so where the constants stand. Mahendran names no framework: one assumed constant stands for all.
def read_from(l):
    """Such a record says nothing of how well others are predicted."""
    if l["quantity"] == "host_mb":
        return l["source"] in ("seeds-torres-memory", "seeds-mahendran")
    kernel = (l["run"].get("framework"), l.get("op"))
    return l["source"] == "seeds-kim" and kernel in (("cntk", "bias addition"), ("theano", "bias addition"), ("theano", "relu"))


def training(l):
    return l["run"].get("mode", "train") != "inference"


def calibrated(l):
    return is_step(l) and l["device"] in MEASURED and l["dtype"] == "fp32"


def uncalibrated(l):
    known = l["device"] in MEASURED or any(card in l["device"] for card in ("v100", "h100"))
    return is_step(l) and not known and l["dtype"] == "fp32"


def named(l):
    """A convolution in fp32 whose algorithm is known."""
    return l.get("algorithm") is not None and l["dtype"] == "fp32"
