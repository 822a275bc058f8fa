"""A build of PyTorch without CUDA: tensors without values lie on "cuda" all the same. What its C++ decides by whether CUDA and cuDNN
are compiled in is decided here as the build with CUDA decides it; all else is the same code in both."""
from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import torch

aten = torch.ops.aten
_CUDA = 1  # of c10::DeviceType
_HALVES = (torch.float16, torch.bfloat16)
_MATH, _FLASH, _EFFICIENT, _CUDNN = 0, 1, 2, 3  # at::SDPBackend
_held: list[Any] = []  # what goes with the last who holds it


def register_guard(nobody: int) -> None:
    """PyTorch asks the guard of a device type for the device at hand, its streams and how many devices there are. Its own guard of
    devices that are not there takes the place of `nobody`, who counts none (c10/core/impl/DeviceGuardImplInterface.cpp)."""
    core = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
    guards = (ctypes.c_void_p * (_CUDA + 1)).in_dll(core, "_ZN3c104impl26device_guard_impl_registryE")
    guards[_CUDA] = nobody
    torch._C._ensureCUDADeviceGuardSet()


def choose_as_for_a_card(capability: tuple[int, int]) -> None:
    """Operators that PyTorch takes apart before anybody hears of them, by what it is built with."""
    choice = Attention(capability)
    library = torch.library.Library("aten", "IMPL")
    library.impl("scaled_dot_product_attention", choice.run, "AutogradCUDA")
    library.impl("_batch_norm_impl_index", _batch_norm, "AutogradCUDA")
    library.impl("grid_sampler", _grid_sampler, "AutogradCUDA")
    for name in ("_fused_rms_norm", "silu_backward", "mish_backward"):
        if hasattr(aten, name):
            library.impl(name, _with_cuda_alone, "CUDA")
    _held.append(library)
    core: Any = torch._C
    core._select_conv_backend = lambda *_, **__: core._ConvBackend.Cudnn
    core._conv_determine_backend_memory_format = _format_of_convolution
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is not None:
        for name, answer in {"is_available": True, "device_count": 1, "current_accelerator": torch.device("cuda"), "current_device_index": 0,
                             "current_device_idx": 0}.items():
            if hasattr(accelerator, name):
                setattr(accelerator, name, lambda *_, answer=answer, **__: answer)


def _with_cuda_alone(*_: Any, **__: Any) -> Any:
    """Where a backend has a kernel of its own, the dispatcher does not take an operator apart: all that these kernels are for. They are the
    ones in which the dispatcher's tables of the two builds differ. Tensors without values run none."""
    raise NotImplementedError("no kernel of CUDA's runs here")


def _enabled_cudnn() -> bool:
    return bool(torch._C._get_cudnn_enabled())


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float, eps: float, _: bool) -> Any:
    """aten/src/ATen/native/Normalization.cpp: _select_batch_norm_backend and what follows it."""
    numbers = (mean is not None and variance is not None) or (mean is None and variance is None and training)
    fits = len(x) <= (880801 if training else 65535) and x.numel() < (1 << 31) - 1
    types = weight is not None and bias is not None and torch.bfloat16 not in (x.dtype, weight.dtype) and (
        x.dtype != torch.float16 or weight.dtype == torch.float32)
    if x.dim() >= 3 and x.numel() and numbers and fits and types and eps >= 1e-5 and _enabled_cudnn():
        given = [None if t is None else t.contiguous() for t in (weight, bias, mean, variance)]
        y, saved_mean, saved_variance, reserve = aten.cudnn_batch_norm(x.contiguous(memory_format=_suggested(x)), *given, training, momentum, eps)
        return y, saved_mean, saved_variance, reserve, 1
    reserve = torch.empty(0, dtype=torch.uint8, device=x.device)
    return *aten.native_batch_norm(x, weight, bias, mean, variance, training, momentum, eps), reserve, 0


def _grid_sampler(x: Any, grid: Any, interpolation: int, padding: int, align_corners: bool) -> Any:
    """aten/src/ATen/native/GridSampler.cpp; the first modes are bilinear and zeros."""
    types = (torch.float16, torch.float32, torch.float64)
    cudnn = x.dim() == 4 and x.size(1) <= 1024 and x.dtype in types and grid.dtype in types and x.numel() and _enabled_cudnn()
    if cudnn and interpolation == padding == 0 and align_corners:
        return aten.cudnn_grid_sampler(x, grid)
    if x.dim() == 4:
        return aten.grid_sampler_2d(x, grid, interpolation, padding, align_corners)
    return aten.grid_sampler_3d(x, grid, interpolation, padding, align_corners)


def _suggested(tensor: Any) -> torch.memory_format:
    """Of a tensor whose strides are those of channels last, that; as Tensor::suggest_memory_format() says."""
    return torch._prims_common.suggest_memory_format(tensor)


def _format_of_convolution(x: Any, weight: Any, _: Any) -> torch.memory_format:
    """cudnn_conv_suggest_memory_format (aten/src/ATen/native/ConvUtils.h)."""
    if not _enabled_cudnn():
        raise NotImplementedError("aten::convolution without cuDNN: the build of PyTorch with CUDA records it")
    if torch.float64 in (x.dtype, weight.dtype):
        return torch.contiguous_format
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(weight.dim())
    return last if last is not None and last in (_suggested(x), _suggested(weight)) else torch.contiguous_format


class Attention:
    """Which kernel attention takes on a card: aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, and what attention.cpp does with it."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.capability = capability

    def run(self, query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False, *,
            scale: float | None = None, enable_gqa: bool = False) -> Any:
        chosen = self.choice(query, key, value, mask, dropout, causal, enable_gqa)
        if mask is not None and mask.dtype == torch.bool:
            where, least = ("cpu", -65504.0) if chosen == _CUDNN else (mask.device, -float("inf"))
            mask = aten.where.ScalarOther(mask, torch.scalar_tensor(0.0, dtype=query.dtype, device=where), least)
        keeps = _needs_gradients(query, key, value)
        if chosen == _FLASH:
            width = query.size(-1)
            padded = [t if width % 8 == 0 else aten.pad(t, [0, 8 - width % 8]) for t in (query, key, value)]
            y = aten._scaled_dot_product_flash_attention(*padded, dropout, causal, False, scale=width ** -0.5 if scale is None else scale)[0]
            return y if y.size(-1) == width else aten.slice(y, -1, 0, width)
        if chosen == _EFFICIENT:
            mask = mask if mask is None else _aligned(mask).expand(*query.shape[:3], key.size(2))
            return aten._scaled_dot_product_efficient_attention(query, key, value, mask, keeps, dropout, causal, scale=scale)[0]
        if chosen == _CUDNN:
            return aten._scaled_dot_product_cudnn_attention(query, key, value, mask, keeps, dropout, causal, False, scale=scale)[0]
        return aten._scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, None, scale=scale, enable_gqa=enable_gqa)[0]

    def choice(self, query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool, enable_gqa: bool) -> int:
        core: Any = torch._C
        order = list(core._get_sdp_priority_order()) if hasattr(core, "_get_sdp_priority_order") else [_FLASH, _EFFICIENT, _MATH]
        if self.capability[0] in (9, 10) and order[:1] == [_FLASH]:
            order.insert(0, _CUDNN)
        can = {_FLASH: lambda: core._get_flash_sdp_enabled() and self._flash(query, key, value, mask, dropout, causal),
               _EFFICIENT: lambda: core._get_mem_efficient_sdp_enabled() and self._efficient(query, key, value),
               _CUDNN: lambda: core._get_cudnn_sdp_enabled() and self._cudnn(query, key, value, mask, dropout),
               _MATH: core._get_math_sdp_enabled}
        dense = query.dim() == key.dim() == value.dim() == 4 and _same_heads(query, key, value, enable_gqa)
        dense = dense and query.size(-2) > 0 and key.size(-2) > 0 and (mask is None or mask.stride(-1) == 1)
        for one in order:
            if one in can and (dense or one == _MATH) and can[one]():
                return int(one)
        raise RuntimeError("No available kernel. Aborting execution.")  # PyTorch's words

    def _low(self, query: Any) -> bool:
        return query.dtype == torch.float16 or (query.dtype == torch.bfloat16 and self.capability >= (8, 0))

    def _flash(self, query: Any, key: Any, value: Any, mask: Any, dropout: float, causal: bool) -> bool:
        width = query.size(-1)
        wide = _needs_gradients(query, key, value) and ((8, 6) <= self.capability <= (8, 9) or self.capability >= (12, 0))
        wide = wide and width > 192 and (dropout > 0 or width <= 224)
        return (mask is None and width == key.size(-1) == value.size(-1) and width <= 256 and self.capability >= (8, 0) and not wide
                and not (causal and query.size(-2) != key.size(-2)) and self._low(query)
                and (width == 1 or _contiguous_rows(query, key, value)))

    def _efficient(self, query: Any, key: Any, value: Any) -> bool:
        half = query.dtype in _HALVES
        unit = (8 if half else 4) if self.capability >= (8, 0) else 8 if half and self.capability >= (7, 0) else 1
        aligned = query.size(-1) == key.size(-1) and query.size(-1) % unit == 0 and value.size(-1) % unit == 0 and query.size(-1) * value.size(-1) > 0
        if self.capability >= (8, 0):
            aligned = aligned and all(t.storage_offset() % unit == 0 for t in (query, key, value))
        return aligned and (query.dtype == torch.float32 or self._low(query)) and _contiguous_rows(query, key, value)

    def _cudnn(self, query: Any, key: Any, value: Any, mask: Any, dropout: float) -> bool:
        widths = query.size(-1), value.size(-1)
        limit = 256 if self.capability[0] in (9, 10) else 128
        trains = not _needs_gradients(query, key, value) or max(widths) <= 128 or widths in ((192, 128), (256, 256))
        shaped = mask is None or (not mask.requires_grad and mask.size(-2) in (1, query.size(-2)) and mask.size(-1) in (1, key.size(-2)) and (
            mask.dim() == 2 or (mask.dim() == 4 and mask.size(0) in (1, len(query)) and mask.size(1) in (1, query.size(1)))))
        return (shaped and trains and self._low(query) and self.capability >= (8, 0) and (dropout * 16).is_integer() and max(widths) <= limit
                and all(width % 8 == 0 for width in widths) and key.size(-2) != 1 and not (dropout and query.size(-2) == 1)
                and not torch.are_deterministic_algorithms_enabled() and (query.size(-1) == 1 or _contiguous_rows(query, key, value)))


def _needs_gradients(*tensors: Any) -> bool:
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def _contiguous_rows(*tensors: Any) -> bool:
    return all(t.stride(-1) == 1 for t in tensors)


def _same_heads(query: Any, key: Any, value: Any, enable_gqa: bool) -> bool:
    heads = query.size(1), key.size(1), value.size(1)
    if len(set(heads)) > 1 and torch.__version__ < (2, 14):  # torch.torch_version compares with tuples
        raise NotImplementedError("scaled_dot_product_attention with fewer heads of keys than of queries: record it with PyTorch 2.14 or later, or with CUDA")
    grouped = heads[1] == heads[2] and (heads[1] == 1 or (enable_gqa and heads[0] % heads[1] == 0))
    return len(query) == len(key) == len(value) and query.dtype == key.dtype == value.dtype and (grouped or len(set(heads)) == 1)


def _aligned(mask: Any) -> Any:
    """Rows of what memory-efficient attention adds begin at multiples of eight."""
    if all(stride % 8 == 0 for stride in mask.stride()[:-1]) and mask.stride(-1) == 1:
        return mask
    width = mask.size(-1)
    return aten.slice(aten.pad(mask, [0, 8 - width % 8]), -1, 0, width)
