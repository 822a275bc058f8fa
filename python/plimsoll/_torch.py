"""plimsoll.from_torch(): a module of PyTorch as a model, without its weights: its training step, recorded."""
from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._answers import Estimate, MaxBatch
from ._command import Diagnostic, InputError, PlimsollWarning, UsageError, defaults, texts_of
from ._construction import built_on_meta, recordable
from ._folder import folder_of
from ._record import Dims, Recorder, StepModel, arguments_of, axes_of, base_of, import_all, names_of_inputs, why_no_record
from ._record_sizes import OtherSteps, check_point
from ._verbs import estimate, max_batch

if TYPE_CHECKING:
    import torch

_SMALL = 4          # samples of fewer are made as large: 1 is no size like others
_USUAL_BATCH = 32   # of questions that name none


class TorchModel:
    """A module, recorded for each training that a question names. `settings` are keywords of every question about it, unless the
    question says otherwise."""

    def __init__(self, module: torch.nn.Module | Callable[[], torch.nn.Module], inputs: Any, dynamic: Mapping[str | int, Dims] | None, via: str | None,
                 capability: tuple[int, int], settings: Mapping[str, Any]) -> None:
        self.settings = dict(settings)
        self._given, self._inputs, self._dynamic, self._via, self._capability = module, inputs, dynamic, via, capability
        self._built: Any = None
        self._recorders: dict[str, _ModuleRecorder] = {}
        self._records: dict[str, StepModel] = {}
        self._graph: Path | None = None
        self._graph_settings: dict[str, Any] = {}
        self._folder = folder_of(self)
        if via != "onnx":
            self._try()
        if self._via == "onnx":
            self._exported()
            self.settings = {**self._graph_settings, **self.settings}

    @property
    def path(self) -> Path:
        """The file that answers questions without settings of their own; it goes when this does, unless it is saved."""
        return Path(self.answering(self.settings)[0])

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def save(self, path: str | os.PathLike[str], **settings: Any) -> None:
        """Without weights: as an ONNX file, or as a record for one training where its name ends with .plimsoll.json.gz."""
        recorded = os.fspath(path).endswith(".plimsoll.json.gz")
        Path(path).write_bytes((Path(self.answering({**self.settings, **settings})[0]) if recorded else self._exported()).read_bytes())

    def estimate(self, **options: Any) -> Estimate:
        return estimate(self, **options)

    def max_batch(self, **options: Any) -> MaxBatch:
        return max_batch(self, **options)

    def sweep(self, **parameters: Any) -> Any:
        """As plimsoll.sweep() of this model: `sweep(batch=[8, 16], gpu=["t4", "l4"])`."""
        from ._sweep import sweep

        return sweep(self, **parameters)

    def answering(self, given: Mapping[str, Any], swept: Mapping[str, Iterable[Any]] | None = None) -> tuple[str, dict[str, Any]]:
        """(file, keywords) that a question with these keywords is for, where `swept` are those that take several values in turn."""
        if self._via != "onnx":
            from ._module_step import beyond

            one_by_one = [{name: value} for name, values in (swept or {}).items() for value in values]
            own = defaults()
            other = next(filter(None, map(beyond, [{**own, **_said(given)}, *one_by_one])), "")
            if not other:
                return os.fspath(self._recorded(given)), dict(given)
            said = f"{other}= cannot be recorded by from_torch"
            if other in own and not any(other in one for one in (_said(given), swept or {})):
                said = f"{other}={own[other]}, of plimsoll.yaml or the environment, cannot be recorded by from_torch"
            if self._via == "record":
                raise UsageError([Diagnostic("E293", "error", said, help="give from_step a step that does it, or from_torch via='onnx'")])
            warnings.warn(f"{said}: the answer comes from the module's graph (torch.export)", PlimsollWarning, stacklevel=4)
        return os.fspath(self._exported()), {**self._graph_settings, **given}

    @property
    def recorded_for(self) -> frozenset[str]:
        """Keywords for whose values a record of its own is made."""
        from ._module_step import OF_THE_STEP

        return frozenset() if self._via == "onnx" else OF_THE_STEP

    def _module(self) -> torch.nn.Module:
        import torch

        if self._built is None:
            given: Any = self._given
            made = recordable(given) if isinstance(given, torch.nn.Module) else built_on_meta(given)
            self._built = made._orig_mod if isinstance(made, torch._dynamo.OptimizedModule) else made
        built: torch.nn.Module = self._built
        return built

    def _try(self) -> None:
        """One run: what fails is raised here, unless the graph answers."""
        why: Exception | str = why_no_record()
        if not why:
            try:
                self._recorder(self.settings).run_at_first()
                return
            except InputError as fault:
                why = fault
        if self._via == "record":
            raise why if isinstance(why, InputError) else InputError([Diagnostic("E292", "error", f"the step cannot be recorded: {why}")])
        try:
            self._exported()
        except InputError as fault:
            raise (why if isinstance(why, InputError) else fault) from fault
        warnings.warn(f"the step of the module cannot be recorded, the answer comes from its graph (torch.export): {why}", PlimsollWarning, stacklevel=4)
        self._via = "onnx"

    def _recorder(self, settings: Mapping[str, Any]) -> _ModuleRecorder:
        from ._module_step import OF_THE_STEP, ModuleStep, arguments_for

        settings = {**defaults(), **_said(settings)}
        texts = {name: texts_of(name, settings[name]) for name in sorted(OF_THE_STEP) if settings.get(name) not in (None, False)}
        key = json.dumps(texts)
        if key not in self._recorders:
            module = self._module()
            import_all()
            arguments = arguments_of(self._inputs)
            axes = axes_of(arguments, _by_place(module, arguments, self._dynamic))
            step: Any = ModuleStep(module, {name: settings[name] for name in texts})
            self._recorders[key] = _ModuleRecorder(step, arguments_for(settings, arguments), axes, self._capability, None, texts)
        return self._recorders[key]

    def _recorded(self, settings: Mapping[str, Any]) -> StepModel:
        recorder = self._recorder(settings)
        key = json.dumps(recorder.settings)
        if key not in self._records:
            record, fixed = recorder.whole()
            if fixed:
                warnings.warn(f"the module fixes {', '.join(sorted(fixed))}: the model keeps the size that the inputs have",
                              PlimsollWarning, stacklevel=5)
            self._records[key] = StepModel(record)
        return self._records[key]

    def _exported(self) -> Path:
        if self._graph is None:
            import onnx_ir as ir

            from ._export import exported

            model, self._graph_settings = exported(self._given, self._inputs, self._dynamic)
            self._graph = Path(self._folder) / "model.onnx"
            ir.save(model, self._graph)
        return self._graph


def _said(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Of those, what was given: None is not."""
    return {name: value for name, value in keywords.items() if value is not None}


def _by_place(module: torch.nn.Module, arguments: Any, dynamic: Mapping[str | int, Dims] | None) -> Mapping[str | int, Dims] | None:
    """Arguments that are given by order are named by order too."""
    if dynamic is None:
        return None
    args, kwargs = arguments
    names = names_of_inputs(module, args, kwargs, dynamic)
    return {names.index(key) if key in names[:len(args)] else key: dims for key, dims in dynamic.items()}


class _ModuleRecorder(Recorder):
    """What is found of a module does not depend on the size of the sample."""

    def _wide(self) -> dict[str, int]:
        return {name: max(size, _SMALL) for name, size in self.base.items()}

    def run_at_first(self) -> None:
        try:
            self.run(self._wide())
        except InputError:
            self.run(self.base)

    def whole(self) -> tuple[dict[str, Any], set[str]]:
        """The record, and names of sizes that do not change in it."""
        if not self.base:
            sample = base_of(axes_of(self.arguments, None))
            return self.record(sample, [{}], None, fixed="no size is named that may change"), set()
        wide = self._wide()
        record = self._at_sizes(wide, ())
        fixed: set[str] = set()
        if record is None and len(wide) > 1:
            record, fixed = self._by_name(wide)
        if record is None:
            record = self.recorded(self.base)
            fixed = set(self.base) if record["fixed"] else set()
        elif "batch" in record["symbols"] and "batch" not in record["multiples"]:
            record["symbols"]["batch"] = _USUAL_BATCH
        return record, fixed

    def _by_name(self, wide: Mapping[str, int]) -> tuple[dict[str, Any] | None, set[str]]:
        """Each name by itself: it takes all sizes, multiples of its own, or none."""
        free = {name for name, size in wide.items() if self._at_sizes({name: size}, ())}
        multiples = {name for name, size in wide.items() if name not in free and self._at_sizes({name: size}, (name,))}
        base = {name: size for name, size in wide.items() if name in free | multiples}
        return self._at_sizes(base, multiples) if base else None, set(wide) - set(base)

    def _at_sizes(self, base: Mapping[str, int], multiples: Collection[str]) -> dict[str, Any] | None:
        """Nothing where one polynomial does not say what is recorded there, and at one size more."""
        more = {name: 5 * base[name] if name in multiples else size for name, size in check_point(base).items()}
        try:
            return self.between(base, more, {name: base[name] for name in multiples})
        except (OtherSteps, InputError):
            return None


def from_torch(module_or_factory: torch.nn.Module | Callable[[], torch.nn.Module],
               inputs: torch.Tensor | Sequence[Any] | Mapping[str, Any],
               dynamic: Mapping[str | int, Dims] | None = None, *, via: str | None = None,
               capability: tuple[int, int] = (8, 0), **settings: Any) -> TorchModel:
    """The module as it trains now: its mode, what is frozen, its dropout and batch norms are taken as they are.

        model = plimsoll.from_torch(net, (images,))
        model = plimsoll.from_torch(lambda: LlamaForCausalLM(config), {"input_ids": ids, "labels": ids},
                                    dynamic={"input_ids": {0: "batch", 1: "sequence"}, "labels": {0: "batch", 1: "sequence"}})
        model.estimate(gpu="a100", optimizer="adamw", precision="amp-bf16")

    Its step is recorded as from_step() records any: forward, the loss that it returns or that the question names, backward, the update
    that the question names; anew for each training that is asked for, so that the module may not change in between. `settings` are
    keywords of all questions.
    A factory is called where tensors have no data, so that the largest network fits. `inputs` are those of forward(),
    by order or by name, of any size. `dynamic` names sizes that may change, by input and axis; without it the first axis of every
    input is the batch. `capability` is the pretended card's.
    `via="onnx"` asks the graph that torch.export sees (torch 2.6 or later, onnx and onnxscript), as is done where PyTorch cannot record or
    a question names what no step of one card does; `via="record"` never. A warning says so, and names sizes that the module fixes;
    an InputError (E292, E291) says what PyTorch does not run.
    """
    if via not in (None, "record", "onnx"):
        raise ValueError(f"via={via!r} is not 'record' or 'onnx'")
    if not callable(module_or_factory):
        raise TypeError(f"from_torch takes a module or a function that builds one, not {type(module_or_factory).__name__}")
    return TorchModel(module_or_factory, inputs, dynamic, via, capability, settings)
