"""The CTC loss, whose operators size their tensors by the longest target: a number, which here is known or taken at most."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

_MOST_OF_CUDNN = 256  # labels of a target (LossCTC.cpp)


def uses_cudnn(values: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> bool:
    """_use_cudnn_ctc_loss_tensor and _use_cudnn_ctc_loss (aten/src/ATen/native/cudnn/LossCTC.cpp). The one that is given lists takes targets of
    the host alone: these lie on the card."""
    if not isinstance(input_lengths, torch.Tensor):
        return False
    types = log_probs.dtype == torch.float32 and {targets.dtype, input_lengths.dtype, target_lengths.dtype} == {torch.int32}
    if not (types and torch._C._get_cudnn_enabled() and blank == 0 and targets.dim() == 1 and log_probs.dim() == 3 and targets.is_contiguous()):
        return False
    known = [values.known.of(one) for one in (input_lengths, target_lengths)]
    if None in known:
        return True
    with no_dispatch():
        return bool((known[1] < _MOST_OF_CUDNN).all() and (known[1] <= known[0]).all())


def loss(values: Any, log_probs: Any, targets: Any, _: Any, target_lengths: Any, *__: Any) -> tuple[Any, Any]:
    """Losses and the logarithms of prefixes, of twice the longest target's labels and one (ctc_loss_gpu_template in native/cuda/LossCTC.cu)."""
    steps, batch = log_probs.shape[:2]
    return log_probs.new_empty(batch), log_probs.new_empty((batch, steps, 2 * _longest(values, targets, target_lengths, batch) + 1))


def loss_backward(_: Any, __: Any, log_probs: Any, *___: Any) -> Any:
    return torch.empty_like(log_probs)


def cudnn_loss(_: Any, log_probs: Any, *__: Any) -> tuple[Any, Any]:
    """Losses and gradients, which it works out at once."""
    return log_probs.new_empty(log_probs.shape[1]), torch.empty_like(log_probs)


def _longest(values: Any, targets: Any, lengths: Any, batch: int) -> int:
    if not isinstance(lengths, torch.Tensor):
        return max(lengths, default=0)
    known = values.known.of(lengths)
    if known is not None:
        with no_dispatch():
            return int(known.max()) if known.numel() else 0
    values.state("all targets of the CTC loss are as long as their tensor")
    return int(targets.shape[1] if targets.dim() == 2 else -(-targets.numel() // max(batch, 1)))


def with_tensors(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Of lengths as lists PyTorch makes tensors by writing them, to divide by them."""
    def one(value: Any) -> Any:
        return torch.tensor(value, dtype=torch.int64) if isinstance(value, (list, tuple)) else value
    return tuple(map(one, args)), {name: one(value) for name, value in kwargs.items()}


REPLACED = {"aten::_use_cudnn_ctc_loss": uses_cudnn, "aten::_use_miopen_ctc_loss": lambda *_: False, "aten::_ctc_loss": loss,
            "aten::_ctc_loss_backward": loss_backward, "aten::_cudnn_ctc_loss": cudnn_loss}
