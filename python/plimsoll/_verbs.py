"""plimsoll.estimate() and the other commands."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ._answers import Comparison, Estimate, MaxBatch
from ._command import asked, flags_of, known, run, settings_of, text_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import Flags

Model = Union[str, "os.PathLike[str]"]  # a file, "builtin:NAME", or what from_torch() made


def estimate(model: Model, *, ask_cudnn: bool = False, **options: Unpack[Flags]) -> Estimate:
    """The GPU memory of a training step, and its time.

        plimsoll.estimate("builtin:resnet50", gpu="t4", batch=8).fits

    Keywords are the options of `plimsoll estimate`: `dim={"sequence": 512}`, `freeze=["backbone.*"]`, `compile=True`.
    """
    file, given = asked(model, known(options))
    arguments = ["estimate", file, *flags_of({**given, "ask_cudnn": ask_cudnn}), "--json"]
    return Estimate(arguments, run(*arguments), model)


def max_batch(model: Model, *, vary: str | None = None, multiple: int | None = None, max: int | None = None,
              confidence: float | None = None, **options: Unpack[Flags]) -> MaxBatch:
    """The largest batch that fits safely, or with `vary` the largest image or dimension."""
    own = {"vary": vary, "multiple": multiple, "max": max, "confidence": confidence}
    file, given = asked(model, known(options))
    arguments = ["max-batch", file, *flags_of({**given, **own}), "--json"]
    return MaxBatch(arguments, run(*arguments), model)


def compare(models: Model | Sequence[Model], *, price: dict[str, float] | None = None,
            **options: Unpack[Flags]) -> Comparison:
    """One or more models on one or more GPUs, `gpu=["t4", "l4"]`: a sequence of estimates, models first."""
    several = [models] if isinstance(models, (str, os.PathLike)) else models
    gpu = options.pop("gpu", "local")
    gpus = [text_of(gpu)] if isinstance(gpu, (str, os.PathLike)) else [text_of(one) for one in gpu]
    names = [asked(model, known(options))[0] for model in several]
    shared = flags_of({**settings_of(models), **known(options)})
    arguments = ["compare", *names, *flags_of({"gpu": gpus, "price": price}), *shared, "--json"]
    each = [["estimate", name, f"--gpu={one}", *shared, "--json"] for name in names for one in gpus]
    return Comparison(arguments, run(*arguments), models, each)


def validate(*files: Model, tolerance: dict[str, str] | None = None, allow_skipped: bool = False,
             source_machines: bool = False, threads: int | None = None) -> dict[str, Any]:
    """Measured runs against predictions, as `plimsoll validate --json` has it; `passed` is its verdict."""
    import json

    own = {"tolerance": tolerance, "allow_skipped": allow_skipped, "source_machines": source_machines, "threads": threads}
    said = run("validate", *map(text_of, files), *flags_of(own), "--json")
    return {**json.loads(said.output), "passed": said.status == 0}
