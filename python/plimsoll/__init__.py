"""Will this training run fit on this GPU, and how fast will it be?

    import plimsoll
    plimsoll.estimate("builtin:resnet50", gpu="rtx-4090", batch=128)
    plimsoll.from_torch(module, (images,)).max_batch(gpu="t4", optimizer="adamw")
    plimsoll.from_step(step, (images, labels)).max_batch(gpu="t4")

The answers of the command `plimsoll` in this process: the same options, the same figures.
"""
from . import callbacks
from ._answers import Answer, Comparison, Estimate, MaxBatch
from ._command import Bug, Diagnostic, Error, InputError, LimitError, MissingError, PlimsollWarning, UsageError
from ._plimsoll import __version__
from ._record import StepModel, from_step
from ._sweep import sweep
from ._torch import TorchModel, from_torch
from ._trainer import from_trainer
from ._verbs import compare, estimate, max_batch, validate

__all__ = [
    "Answer", "Bug", "Comparison", "Diagnostic", "Error", "Estimate", "InputError", "LimitError", "MaxBatch",
    "MissingError", "PlimsollWarning", "StepModel", "TorchModel", "UsageError", "__version__", "callbacks", "compare", "estimate", "from_step", "from_torch", "from_trainer", "max_batch", "sweep", "validate"]
