"""What docs/accuracy.md says of data parallel runs against one GPU: how many times as fast, predicted and measured.

    python3 scaling.py FOLDER    # alone, from the root: FOLDER holds answers of `plimsoll validate --json` to the files of SOURCES, which are
                                 # in tests/measured and tests/measured/scaling

A pair is a record of 2 to 16 GPUs and one of a single GPU that says the same of card, model, batch of each GPU, precision and program.
"""
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

from records import load
from table import markdown, percent

MUST = .07
GPUS = range(2, 17)
# Of a record, what its pair says otherwise: how many GPUs, and what was measured.
OF_THE_RUN = ("n_gpus", "batch", "machine", "parallel", "total_ms", "images_per_s", "value", "time_is_derived", "flags", "nodes")
# Steps that wait for a host which none of these records describes.
HOST_BOUND = {
    "gavel-throughputs": "its loaders read and decode on virtual machines of few cores, and two runs of it differ by 10 to 40 %",
    "keras": "its source: rates \"show input and framework overhead rather than GPU speed\"",
}
SOURCES = ("dle-multigpu", "lambda-multigpu", "tensorpack-benchmarks", "gavel-throughputs")


def rate(line, what):
    """In samples of all GPUs a unit of time."""
    value = line[what]
    return line["run"].get("n_gpus", 1) / value if line["quantity"] == "total_ms" else value


def key_of(line):
    run = line["run"]
    told = {k: str(v) for k, v in run.items() if k not in OF_THE_RUN and not k.startswith("steps_per_s")}
    return line["source"], line["quantity"], tuple(sorted(told.items()))


def pairs(lines):
    """Of each run on several GPUs: source, model, GPUs, measured and predicted speed against one."""
    groups = defaultdict(list)
    for line in lines:
        if line["source"] in SOURCES and line["quantity"] in ("total_ms", "throughput") and line["predicted"]:
            groups[key_of(line)].append(line)
    for (source, *_), group in groups.items():
        single = [l for l in group if l["run"].get("n_gpus", 1) == 1]
        for line in group:
            if single and line["run"].get("n_gpus", 1) in GPUS:
                m, p = (rate(line, what) / mean(rate(l, what) for l in single) for what in ("measured", "predicted"))
                host = next((h for h in HOST_BOUND if h in (source, line["run"].get("framework"))), None)
                yield {"source": source, "run": line["run"], "measured": m, "predicted": p, "error": p / m - 1, "host": host}


def vision(pair):
    return not any(word in pair["run"]["model"] for word in ("bert", "transformer", "lstm"))


def row(what, of, must=None):
    errors = [abs(p["error"]) for p in of]
    value = mean(errors) if errors else None
    met = "" if must is None else "not judged here" if value is None else "met" if value <= must else "missed"
    return (what, percent(must), len(errors), percent(value), percent(median(errors) if errors else None),
            percent(mean(p["error"] for p in of) if errors else None), met)


def section(lines):
    found = list(pairs(lines))
    if not found:
        return []
    ready = [p for p in found if not p["host"]]
    rows = [row("vision, batches ready: mean error", [p for p in ready if vision(p)], MUST),
            row("... with language models", ready, MUST)]
    for source in SOURCES:
        for host in (None, *HOST_BOUND):
            if of := [p for p in found if p["source"] == source and p["host"] == host]:
                rows.append(row(f"{source}{', ' + host if host and host != source else ''}", of))
    worst = sorted(ready, key=lambda p: -abs(p["error"]))[:10]
    return ["## Data parallel: scaling against one GPU", "",
            "The speed of 2 to 16 GPUs is compared with that of one GPU with the same batch on each. Hosts and links that a source does not name",
            "are assumed.", "",
            markdown(["what", "target", "n", "mean error", "median error", "bias (mean)", ""], rows), "",
            "These do not count for a target: " + "; ".join(f"{name} ({why})" for name, why in HOST_BOUND.items()) +
            ". Detectron's table has no run on one GPU. The speech models of DeepLearningExamples are not built in.", "",
            "The largest errors:", "",
            markdown(["source, card", "model", "GPUs", "measured", "predicted", "error"],
                     [(f"{p['source']}, {p['run']['device']}", f"{p['run']['model']}, {p['run'].get('batch_per_gpu', p['run'].get('micro_batch'))} each, "
                       f"{p['run'].get('dtype', 'fp32')}", p["run"]["n_gpus"], f"{p['measured']:.2f}", f"{p['predicted']:.2f}", percent(p["error"]))
                      for p in worst]), ""]


if __name__ == "__main__":
    print("\n".join(section(load(Path(sys.argv[1])))))
