"""plimsoll.from_step(): a training step of PyTorch as it is, recorded without a card and without a weight."""
from __future__ import annotations

import contextlib
import gc
import gzip
import importlib
import inspect
import json
import math
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._answers import Estimate, MaxBatch
from ._command import Diagnostic, InputError
from ._folder import folder_of
from ._record_sizes import PRODUCTS, SQUARES, NoPolynomial, OtherSteps, Sizes, check_point, merged, points
from ._verbs import estimate, max_batch

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    from ._flags import Flags

Dims = Mapping[int, str]
# Versions from which on these are there, and rounded sizes with settings; 1 where none is: older commands read it.
RANKS, SETTINGS, SENDS, AT_FIRST = 2, 3, 4, 5


class StepModel:
    """What a step does, in a file that goes when this does, unless it is saved. `settings`: keywords of every question about it."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.settings = {"gpus": record["world"][0]} if "world" in record else {}
        self.path = Path(folder_of(self)) / "step.plimsoll.json.gz"
        text = json.dumps(record, separators=(",", ":"))
        self.path.write_bytes(gzip.compress(text.encode(), mtime=0))

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As a record, `*.plimsoll.json.gz`, which the command takes for a model. It holds neither weights nor code."""
        Path(path).write_bytes(self.path.read_bytes())

    def estimate(self, **options: Unpack[Flags]) -> Estimate:
        return estimate(self, **options)

    def max_batch(self, **options: Any) -> MaxBatch:
        return max_batch(self, **options)

    def sweep(self, **parameters: Any) -> Any:
        """As plimsoll.sweep() of this model: `sweep(batch=[8, 16], gpu=["t4", "l4"])`."""
        from ._sweep import sweep

        return sweep(self, **parameters)


def from_step(step: Callable[..., Any], inputs: Any, dims: Mapping[str | int, Dims] | None = None, *,
              capability: tuple[int, int] = (8, 0), world_size: int = 1, rank: int = 0) -> StepModel:
    """Runs `step` on tensors without values, on a card that is not there, and notes what it does.

        def step(images, labels):
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        plimsoll.from_step(step, (images, labels)).estimate(gpu="t4")

    `step` is what a program does with a batch, as it is: several models and optimizers, autocast, accumulation, hooks.
    What it changes is changed in a process of its own. `inputs` are its arguments, by order or by name, of which only shapes
    are read. `dims` names sizes that may change, by argument and axis; without it the first axis of every tensor is the batch.
    `capability` is the pretended card's, by which PyTorch chooses its kernels. Needs Linux and PyTorch, built for CUDA or for the CPU.
    With a `world_size`, `step` is called without arguments on rank `rank` of so many, shards its model and returns the step.
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank={rank} is not below world_size={world_size}")
    why = why_no_record()
    if why:
        raise InputError([Diagnostic("E292", "error", f"the step cannot be recorded: {why}")])
    import_all()
    arguments = arguments_of(inputs)
    recorder = Recorder(step, arguments, axes_of(arguments, dims), capability, (world_size, rank) if world_size > 1 else None)
    if not recorder.base:
        return StepModel(recorder.record(base_of(axes_of(arguments, None)), [{}], None, fixed="no size is named that may change"))
    return StepModel(recorder.recorded(recorder.base))


def why_no_record() -> str:
    """Why no step is recorded on this machine; "" where it is."""
    import torch

    from ._record_card import LIBRARY

    if not LIBRARY.exists():
        return "recording needs the package for Linux"
    if torch.version.cuda is None and not torch.version.hip and not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        return f"recording with PyTorch {torch.__version__} for the CPU is not supported; it needs PyTorch 2.10 or later, or PyTorch for CUDA"
    return "recording needs PyTorch for CUDA or for the CPU; it needs no GPU" if torch.version.hip else ""


def import_all() -> None:
    """What children would each import anew; and what cycles hold goes before they begin. No tensor without values is made here: from
    the first one on PyTorch has devices in this process that are not there."""
    for name in ("torch._dynamo", "torch._subclasses.fake_tensor", "torch._meta_registrations", "torch._refs", "torch._decomp",
                 "torch.fx.experimental.symbolic_shapes"):
        with contextlib.suppress(ImportError):  # another version's
            importlib.import_module(name)
    from . import _record_run  # noqa: F401

    gc.collect()


def arguments_of(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import torch

    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs are a tensor, a tuple of arguments or a dict of them, not {type(inputs).__name__}")
    return tuple(inputs), {}


def bound(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What each parameter is given; a TypeError where that is not what it takes."""
    try:
        return dict(signature.bind(*args, **kwargs).arguments)
    except TypeError as fault:
        raise TypeError(f"inputs are not what forward() takes: {fault}") from None


def names_of_inputs(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic: Mapping[str | int, Dims] | None) -> list[str]:
    """Of forward()'s arguments, in its order; a ValueError where `dynamic` names others. What a forward(*args, **kwargs) passes on has
    names of its own, as with peft's modules."""
    signature = inspect.signature(module.forward)
    passed_on = inspect.Parameter.VAR_KEYWORD
    names = [name for name in bound(signature, args, kwargs) if signature.parameters[name].kind is not passed_on]
    names += [name for name in kwargs if name not in names]
    unknown = [str(key) for key in dynamic or {} if key not in names and key not in range(len(args))]
    if unknown:
        raise ValueError(f"dynamic names {', '.join(unknown)}; inputs are {', '.join(names)}")
    return names


def axes_of(arguments: tuple[tuple[Any, ...], dict[str, Any]], dims: Mapping[str | int, Dims] | None) -> list[tuple[Any, int, int, str]]:
    """(argument, axis, its size, name) of every size that may change."""
    import torch
    from torch.utils._pytree import tree_leaves

    args, kwargs = arguments
    named: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
    unknown = [str(key) for key in dims or () if key not in named]
    if unknown:
        raise ValueError(f"dims names {', '.join(unknown)}; arguments are {', '.join(map(str, named))}")
    found = []
    for key, value in named.items():
        wanted = {0: "batch"} if dims is None else dims.get(key, {})
        for leaf in tree_leaves(value):
            if isinstance(leaf, torch.Tensor):
                found += [(key, axis, leaf.shape[axis], name) for axis, name in wanted.items() if axis < leaf.dim()]
    return list(dict.fromkeys(found))


def base_of(axes: Sequence[tuple[Any, int, int, str]]) -> dict[str, int]:
    """The sample's size of each name: what all axes of that name are multiples of."""
    base: dict[str, int] = {}
    for _, _, size, name in axes:
        base[name] = math.gcd(base.get(name, 0), size)
    empty = [name for name, size in base.items() if size == 0]
    if empty:
        raise ValueError(f"{', '.join(empty)} is 0 in the inputs: give a sample of at least one")
    return base


class Recorder:
    """Runs a step at sizes; each once, each in a child of its own."""

    def __init__(self, step: Callable[..., Any], arguments: Any, axes: Sequence[tuple[Any, int, int, str]], capability: tuple[int, int],
                 world: tuple[int, int] | None = None, settings: Mapping[str, Sequence[str]] | None = None) -> None:
        self.step, self.arguments, self.axes, self.capability, self.world = step, arguments, axes, capability, world
        self.settings = settings  # of the command's, that the step was made for
        self.base = base_of(axes)
        self.runs: dict[tuple[tuple[str, int], ...], Any] = {}

    def recorded(self, base: Mapping[str, int]) -> dict[str, Any]:
        """At all sizes of the names in `base`, else at multiples of theirs, else there alone."""
        at, near = points(base, PRODUCTS), check_point(base)
        self.run_all([*at, near])
        self.run(at[0])  # what fails there is said as it is
        try:
            return self.between(base, near, None)
        except (OtherSteps, InputError) as fault:
            odd = fault
        try:
            far = {name: 5 * size for name, size in base.items()}
            return self.between(base, far, base)
        except (OtherSteps, InputError):
            return self.record(base, [at[0]], None, fixed=str(odd))

    def between(self, base: Mapping[str, int], more: Mapping[str, int], multiples: Mapping[str, int] | None) -> dict[str, Any]:
        """By polynomials that are exact in all runs, and at `more` too; OtherSteps where none are."""
        for most in (PRODUCTS, SQUARES):
            at = [*points(base, most), more]
            self.run_all(at)
            try:
                return self.record(base, at, multiples, most=most)
            except NoPolynomial as fault:
                odd = fault
        raise odd

    def run(self, point: Mapping[str, int]) -> Any:
        key = self._key(point)
        if key not in self.runs:
            self.runs[key] = self._begin(key)
        if isinstance(self.runs[key], _Child):
            self.runs[key] = self.runs[key].answer()
        if isinstance(self.runs[key], InputError):
            raise self.runs[key]
        return self.runs[key]

    def _key(self, point: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        return tuple({**self.base, **point}.items())

    def _begin(self, key: tuple[tuple[str, int], ...]) -> _Child:
        point = dict(key)
        sizes = {(argument, axis, size): size // self.base[name] * point[name] for argument, axis, size, name in self.axes}
        return _Child(self.step, self.arguments, sizes, self.capability, self.world)

    def run_all(self, at: Sequence[Mapping[str, int]]) -> None:
        """As many at a time as there are processors."""
        wanted = [key for key in dict.fromkeys(map(self._key, at)) if key not in self.runs]
        width = os.cpu_count() or 1
        for first in range(0, len(wanted), width):
            begun = {key: self._begin(key) for key in wanted[first:first + width]}
            for key, child in begun.items():
                self.runs[key] = child.answer()

    def record(self, base: Mapping[str, int], at: Sequence[Mapping[str, int]], multiples: Mapping[str, int] | None, fixed: str = "",
               most: int = SQUARES) -> dict[str, Any]:
        """`fixed`: why it holds at the sample's sizes alone. `most`: as Sizes has it."""
        import torch

        several = len(at) > 1
        sizes = Sizes(list(base) if several else [], at if several else [{}], most)
        one = merged([self.run(point) for point in at], sizes)
        world = {"world": list(self.world), "groups": one["groups"], "collectives": [], "late": []} if self.world else {}
        version = RANKS if self.world else 1
        rounded = any(isinstance(row[0], list) for row in sizes.table)
        sends = any(kind == "i" and what[1] in ("send", "receive") for kind, what, *_ in one["events"])
        if self.settings is not None or rounded or sends or one["at_first"]:
            world["settings"], version = dict(self.settings or {}), SENDS if sends else SETTINGS
        if one["at_first"]:
            world["at_first"], version = one["at_first"], AT_FIRST
        return {"schema": "plimsoll.record", "version": version, **world, "torch": torch.__version__, "capability": list(self.capability),
                "tf32": self._tf32(),
                "symbols": dict(base), "multiples": dict(multiples or {}), "fixed": fixed or None, **_interned(one), "sizes": sizes.table}

    def _tf32(self) -> list[bool]:
        import torch

        if (self.settings or {}).get("precision") == ["tf32"]:
            return [True, True]
        return [_allows(torch.backends.cuda.matmul), _allows(torch.backends.cudnn)]


def _allows(backend: Any) -> bool:
    return bool(getattr(backend, "allow_tf32", False))


def _interned(run: Mapping[str, Any]) -> dict[str, Any]:
    """Types of tensors, calls and modules by number."""
    types: dict[Any, int] = {}
    calls: dict[Any, int] = {}
    modules: dict[str, int] = {}

    def number(table: dict[Any, int], key: Any) -> int:
        return table.setdefault(key, len(table))

    def call(key: Any) -> int:
        name, reads, writes, facts = key
        return number(calls, (name, tuple(number(types, t) for t in reads), tuple(number(types, t) for t in writes), facts))

    begun: dict[Any, int] = {}  # collectives
    collectives: list[Any] = []

    def event(kind: str, what: Any, phase: str, node: int) -> list[Any]:
        if kind == "i":
            number, *rest = what
            begun[number] = len(collectives)
            collectives.append(rest)
            return [kind, begun[number], phase, node]
        return [kind, call(what) if kind == "!" else begun[what] if kind == "w" else what, phase, node]

    events = [event(*parts) for parts in run["events"]]
    nodes = [[number(modules, module), operator] for module, operator in run["nodes"]]
    parameters = [[name, number(types, kind), trained] for name, kind, trained in run["parameters"]]
    inputs = [[name, number(types, kind)] for name, kind in run["inputs"]]
    return {"name": run["name"], "stated": run["stated"], "modules": list(modules), "nodes": nodes,
            "types": [list(kind) for kind in types],
            "calls": [{"operator": name, "reads": reads, "writes": writes, "facts": dict(facts)} for name, reads, writes, facts in calls],
            "storages": run["storages"], "events": events, "saved": run["saved"], "end_of_forward": run["end_of_forward"],
            "parameters": parameters, "inputs": inputs, **({"collectives": collectives, "late": run["late"]} if run["groups"] else {})}


class _Child:
    """A copy of this process that says what run() says, and ends."""

    def __init__(self, step: Callable[..., Any], arguments: Any, sizes: Mapping[Any, int], capability: tuple[int, int],
                 world: tuple[int, int] | None) -> None:
        self.reading, writing = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.close(self.reading)
            sys.stdout = open(os.devnull, "w")  # what the program says of a step that computes nothing  # noqa: SIM115
            try:
                said = _said(step, arguments, sizes, capability, world)
                with os.fdopen(writing, "wb") as pipe:
                    pipe.write(said)
            finally:
                os._exit(0)
        os.close(writing)

    def answer(self) -> Any:
        """Waits for it. An InputError is returned."""
        with os.fdopen(self.reading, "rb") as pipe:
            said = pipe.read()
        os.waitpid(self.child, 0)
        if not said:
            return _not_recorded("the process that recorded it ended without a word", "")
        answer, fault, trace = pickle.loads(said)
        return answer if fault is None else _not_recorded(fault, trace)


def _said(step: Callable[..., Any], arguments: Any, sizes: Mapping[Any, int], capability: tuple[int, int],
          world: tuple[int, int] | None) -> bytes:
    try:
        from ._record_run import run

        return pickle.dumps((run(step, arguments, sizes, capability, world), None, ""))
    except BaseException as fault:
        return pickle.dumps((None, f"{type(fault).__name__}: {fault}", traceback.format_exc()))


def _not_recorded(fault: str, trace: str) -> InputError:
    lines = fault.strip().splitlines() or [""]
    error = InputError([Diagnostic("E292", "error", f"the step does not run on tensors without values: {lines[0]}",
                                   help="the exception's `trace` holds PyTorch's own")])
    error.trace = trace  # type: ignore[attr-defined]
    return error
