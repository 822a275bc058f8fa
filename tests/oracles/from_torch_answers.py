"""What plimsoll.from_torch() answers of networks: by factory and by module, from samples of one, two and three, against PyTorch's own step.

    ORACLE_BUILD=FOLDER ORACLE_CAPABILITY=80 python from_torch_answers.py figures FILE [SPEC ...]   PyTorch's figures, into FILE
    python from_torch_answers.py compare FILE [SPEC ...]     three answers of each beside them; ends with 1 where any differs
    python from_torch_answers.py times FILE [SPEC ...]       step time of the record beside that of the graph, on an A100

The networks are those of from_torch_60.txt, or others by name (held:lora). The package must be installed beside PyTorch; `figures` does not use it.
"""
import sys

import pretended_gpu

if __name__ == "__main__" and sys.argv[1] == "figures":
    pretended_gpu.enter()

import json  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

SAMPLES = ((1, "module"), (2, "factory"), (3, "module"))
GPU = "a100-sxm4-80gb"


def rows(names):
    from from_torch_models import rows
    listed = {spec: (spec, batch, optimizer) for spec, batch, optimizer, *_ in rows("from_torch_60.txt")}
    return [listed.get(name, (name, 8, "adamw")) for name in names or listed]


def write(path, table):
    lines = ",\n".join(f' "{spec}": {json.dumps(row)}' for spec, row in table.items())
    Path(path).write_text(f"{{\n{lines}\n}}\n")


def figures(path, *names):
    from from_torch_models import FIGURES
    from memory_oracle import measure

    table = json.loads(Path(path).read_text()) if Path(path).exists() else {}
    for spec, batch, optimizer in rows(names):
        try:
            facts, case, _ = measure(spec, batch, optimizer)
        except Exception as fault:
            print(f"{spec:40} {type(fault).__name__}: {str(fault)[:150]}", flush=True)
            continue
        said = {**facts, **case}
        table[spec] = {"batch": batch, "loss": said["loss"], **{name: oracle(said) for name, oracle, _ in FIGURES}}
        write(path, table)
        print(f"{spec:40} {table[spec]}", flush=True)


def factory_of(spec):
    """What a user's own line does: the constructor as it is, which draws and reads numbers."""
    import workloads

    family, name = spec.split(":")
    make = {"torchvision": workloads.of_torchvision, "timm": workloads.of_timm, "hf": workloads.of_transformers,
            "diffusers": workloads.of_diffusers, "held": workloads.of_held}[family]
    return lambda: make(name, 2).model


def answers(spec, batch, optimizer, loss):
    """(whence, answer) of each way in and each sample."""
    import plimsoll
    import workloads

    for size, whence in SAMPLES:
        work = workloads.load(spec, size)
        given = work.model if whence == "module" else factory_of(spec)
        model = plimsoll.from_torch(given, tuple(work.inputs.values()), via="record", optimizer=optimizer, loss=loss)
        said = model.estimate(gpu=GPU, batch=batch).to_dict()["result"]
        yield f"{whence} {size}", {"memory": said["memory"], "step_ns": said["time"]["step_ns"]}


def compare(path, *names):
    from from_torch_models import FIGURES

    wanted, bad = json.loads(Path(path).read_text()), 0
    for spec, batch, optimizer in rows(names):
        row, began, first, unlike, faults = wanted.get(spec, {}), time.time(), None, [], []
        try:
            for whence, answer in answers(spec, batch, optimizer, row.get("loss", "cross_entropy")):
                first = first or answer
                unlike += [whence] * (answer != first)
        except Exception as fault:
            faults.append(f"{type(fault).__name__}: {str(fault)[:200]}")
        off = {name: (of(first["memory"]), row.get(name)) for name, _, of in FIGURES if first and of(first["memory"]) != row.get(name)}
        bad += bool(unlike or faults or off)
        print(f"{spec:36} {time.time() - began:6.1f} s {'three equal' if first and not unlike and not faults else f'{unlike} {faults}'}; "
              f"{'exact' if first and not off else off}", flush=True)
    sys.exit(bad > 0)


def times(_, *names):
    import plimsoll
    import workloads

    for spec, batch, optimizer in rows(names):
        work = workloads.load(spec, 2)
        inputs, asked = tuple(work.inputs.values()), {"gpu": GPU, "batch": batch, "optimizer": optimizer, "loss": work.loss}
        try:
            recorded, graph = (plimsoll.from_torch(work.model, inputs, via=via).estimate(**asked) for via in ("record", "onnx"))
            off = 100 * (recorded.step_seconds / graph.step_seconds - 1)
            print(f"{spec:36} {1e3 * recorded.step_seconds:9.3f} {1e3 * graph.step_seconds:9.3f} ms {off:+6.1f} %", flush=True)
        except Exception as fault:
            print(f"{spec:36} {type(fault).__name__}: {str(fault)[:150]}", flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    {"figures": figures, "compare": compare, "times": times}[sys.argv[1]](*sys.argv[2:])
