"""plimsoll.sweep(): arrays of parameters in, an array of records out."""
from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._command import asked, flags_of, recorded_for, run, text_of

_COUNT, _RANGE, _REAL = np.int64, (np.int64, 2), np.float64
# What a record holds beside its parameters, and where there is no answer.
_FIGURES: dict[str, tuple[Any, Any]] = {
    "fits": (np.bool_, False), "may_fit": (np.bool_, False), "verdict": ("U12", ""), "usable_bytes": (_COUNT, -1),
    "device_bytes": (_COUNT, -1), "device_range_bytes": (_RANGE, -1), "step_ns": (_COUNT, -1),
    "step_range_ns": (_RANGE, -1), "samples_per_second": (_REAL, np.nan), "run_ns": (_COUNT, -1),
    "host_bound": (np.bool_, False),
    "tier": ("U6", "")}


def _is_swept(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, os.PathLike, Mapping))


def _plain(values: Iterable[Any]) -> list[Any]:
    return [value.item() if hasattr(value, "item") else value for value in values]


def sweep(model: str | os.PathLike[str] | None = None, *, plan: str | os.PathLike[str] | None = None,
          emit: str | Sequence[str] | None = None, emit_to: str | os.PathLike[str] | None = None,
          **parameters: Any) -> NDArray[np.void]:
    """Every configuration of a grid, or of a plan, in the plan's order: the last parameter changes fastest.

        found = plimsoll.sweep("builtin:resnet50", gpu=["t4", "l4"], batch=np.arange(8, 257, 8))
        found[found["fits"]]["batch"].max()

    Arrays and lists are axes of the grid. Every other keyword is an option of `plimsoll sweep` (`precision="amp-bf16"`,
    `threads=2`, `out="log.jsonl"`, `memory_only=True`). `emit="slurm"`, "csv" or "plan", or several of them, writes what
    fits into the folder `emit_to`. A record has the parameters, the figures of `sweep --json` and `error`. If there is
    an answer, `error` is empty; otherwise counts are -1.
    """
    swept = {name: _plain(values) for name, values in parameters.items() if _is_swept(values)}
    trainings = [name for name in swept if name in recorded_for(model)]
    if trainings:
        if emit or emit_to or "out" in parameters:
            raise TypeError(f"a sweep with emit= or out= takes one value of {', '.join(trainings)}")
        return _table(_of_trainings(model, parameters, swept, trainings))
    return _table(_records(model, plan, swept, parameters, flags_of({"emit": emit, "emit_to": emit_to})))


def _of_trainings(model: Any, parameters: dict[str, Any], swept: dict[str, list[Any]], trainings: list[str]) -> list[dict[str, Any]]:
    """A sweep for each training that is recorded, in the order of one."""
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    others = {name: values for name, values in swept.items() if name not in trainings}
    places = list(itertools.product(*(range(len(values)) for values in others.values())))
    for chosen in itertools.product(*(range(len(swept[name])) for name in trainings)):
        training = {name: swept[name][at] for name, at in zip(trainings, chosen)}
        records = _records(model, None, others or {"gpu": [parameters.get("gpu", "local")]}, {**parameters, **training}, [])
        for place, record in zip(places, records):
            at = dict(zip(trainings, chosen)) | dict(zip(others, place))
            record["parameters"] = {name: {**record["parameters"], **training}[name] for name in swept}
            found[tuple(at[name] for name in swept)] = record
    return [found[place] for place in sorted(found)]


def _records(model: Any, plan: Any, swept: dict[str, list[Any]], parameters: dict[str, Any], flags: list[str]) -> list[dict[str, Any]]:
    """What the command says of each configuration, in the plan's order."""
    fixed = {name: value for name, value in parameters.items() if name not in swept}
    if model is not None:
        file, fixed = asked(model, fixed, swept)
        flags = [*flags, f"--model={file}"]
    flags = flags_of(fixed) + flags
    with tempfile.TemporaryDirectory() as folder:
        if plan is None:
            plan = Path(folder) / "plan.json"
            plan.write_text(json.dumps({"parameters": swept}), encoding="utf-8")
        elif swept:
            raise TypeError(f"the plan lists the parameters of the sweep: leave out {', '.join(swept)}")
        said = run("sweep", text_of(plan), *flags, "--json")
    lines = said.output.splitlines()[:-1]  # the last one sums up
    records: list[dict[str, Any]] = json.loads("[" + ",".join(lines) + "]")
    records.sort(key=lambda record: record["configuration"])
    return records


def _table(records: list[dict[str, Any]]) -> NDArray[np.void]:
    columns: dict[str, NDArray[Any]] = {}
    for name in (records[0]["parameters"] if records else {}):
        columns[name] = np.array([record["parameters"][name] for record in records])
    columns["device_id"] = np.array([record["device_id"] for record in records])
    for name, (kind, missing) in _FIGURES.items():
        if any(name in record for record in records):
            base, *shape = kind if isinstance(kind, tuple) else (kind,)
            values = np.full((len(records), *shape), missing, base)
            for at, record in enumerate(records):
                values[at] = record.get(name, missing)
            columns[name] = values
    columns["error"] = np.array([str(record.get("error", {}).get("message", "")) for record in records])
    table = np.empty(len(records), [(name, values.dtype, values.shape[1:]) for name, values in columns.items()])
    for name, values in columns.items():
        table[name] = values
    return table
