"""What plimsoll.from_torch() writes of networks, and PyTorch's own figures for them.

    python from_torch_models.py OUT [--list from_torch.txt] [--models GLOB]     OUT/NAME.onnx.gz and OUT/NAME.json
    python from_torch_models.py OUT --compare PLIMSOLL                          the command's answers beside the figures

The wheel of `./dev wheel` must be installed beside PyTorch. A row of the list may end with what is known to differ:
`!peak`, or `!export` where PyTorch does not export the module. Comparing ends with 1 where anything else does.
"""
import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
import warnings
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent


FIGURES = (("parameters", lambda f: f["parameters"]["bytes"], lambda m: m["parameters"]["bytes"]),
           ("buffers", lambda f: f["buffers"]["bytes"], lambda m: m["buffers_bytes"]),
           ("gradients", lambda f: f["gradients"]["bytes"], lambda m: m["gradients_bytes"]),
           ("states", lambda f: f["optimizer_state"]["bytes"], lambda m: m["optimizer_state_bytes"]),
           ("saved", lambda f: f["saved"]["after_loss"]["bytes_rounded"], lambda m: m["saved_bytes"]),
           ("peak", lambda f: f["in_place"]["peak"], lambda m: m["live_peak_bytes"]))


def rows(names):
    """(spec, batch, optimizer, training, what differs) of a list."""
    for line in (HERE / names).read_text().splitlines():
        if line and not line.startswith("#"):
            spec, batch, mode, *more = line.split()
            training = [word for word in more if not word.startswith("!")]
            yield spec, int(batch), mode, training[0] if training else "", {word[1:] for word in more if word not in training}


def write(out, spec, batch, mode, training):
    import onnx
    import plimsoll

    import workloads
    from recipes import Recipe

    work = workloads.load(spec, 2)
    work.model.train(mode != "inference")
    Recipe(training=training).freeze(work.model)
    dynamic = {at: work.symbols[name] for at, name in enumerate(work.inputs)}
    model = plimsoll.from_torch(work.model, tuple(work.inputs.values()), dynamic, via="onnx")
    # By the oracle, in a process of its own: PyTorch must find the pretended GPU when it is imported.
    command = [sys.executable, HERE / "memory_oracle.py", spec, "--batch", str(batch), "--optimizer", mode, f"--training={training}"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    figures.pop("saved_by_module", None)
    inputs = [value.name for value in onnx.load(model, load_external_data=False).graph.input]
    figures["inputs"] = dict(zip(inputs, figures["inputs"].values(), strict=True))   # by the file's own names
    name = workloads.file_name(spec)
    (out / f"{name}.onnx.gz").write_bytes(gzip.compress(model.path.read_bytes(), mtime=0))
    (out / f"{name}.json").write_text(json.dumps({"model": spec, "training": training, "settings": model.settings, **figures}) + "\n")


def answer(plimsoll, figures, path):
    """The command's memory object, or why there is none."""
    command = [plimsoll, "estimate", path, "--gpu", "titan-xp", "--loss", figures["loss"], "--json"]
    command += [f"--{name}={value}" for name, value in figures.get("settings", {}).items()]
    command += ["--mode", "inference"] if figures["mode"] == "inference" else ["--optimizer", figures["mode"]]
    command += [f"--shape={name}={'x'.join(map(str, shape))}" for name, shape in figures["inputs"].items()]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout)["result"]["memory"] if done.returncode < 2 else done.stderr.strip().splitlines()[0]


def differences(out, name, plimsoll):
    """What differs in the answer to a module, with its words."""
    if not (out / f"{name}.json").exists():
        return {"export": "was not exported"}
    figures = json.loads((out / f"{name}.json").read_text())
    with tempfile.NamedTemporaryFile(suffix=".onnx") as model:
        model.write(gzip.decompress((out / f"{name}.onnx.gz").read_bytes()))
        model.flush()
        memory = answer(plimsoll, figures, model.name)
    if isinstance(memory, str):
        return {"answer": memory}
    return {figure: f"{figure} {of(memory) / max(1, wanted(figures)) - 1:+.4%}"
            for figure, wanted, of in FIGURES if of(memory) != wanted(figures)}


def compare(out, plimsoll, names):
    exact, unknown, all_rows = 0, 0, list(rows(names))
    for spec, *_, known in all_rows:
        found = differences(out, spec.replace(":", "-"), plimsoll)
        exact += not found
        unknown += set(found) != known
        print(f"{spec:36} " + ("  ".join(found.values()) or "equal") + ("" if set(found) == known else "  (not as the list says)"))
    print(f"{exact} of {len(all_rows)} are equal in all six figures")
    return min(1, unknown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--list", default="from_torch.txt")
    parser.add_argument("--models", default="*")
    parser.add_argument("--redo", action="store_true", help="make again what is there already")
    parser.add_argument("--compare", metavar="PLIMSOLL")
    options = parser.parse_args()
    if options.compare:
        sys.exit(compare(options.out, options.compare, options.list))
    warnings.filterwarnings("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    for row in rows(options.list):
        name = row[0].replace(":", "-")
        if not fnmatch(name, options.models) or ((options.out / f"{name}.json").exists() and not options.redo):
            continue
        began = time.time()
        try:
            write(options.out, *row[:4])
            print(f"{name:36} {time.time() - began:6.1f} s  {(options.out / f'{name}.onnx.gz').stat().st_size:9,} bytes", flush=True)
        except Exception as error:   # what PyTorch does not export, or fake tensors do not run
            detail = error.stderr[-300:] if isinstance(error, subprocess.CalledProcessError) else str(error)[:300]
            print(f"{name:36} {type(error).__name__}: {detail}", flush=True)


if __name__ == "__main__":
    main()
