"""Tensors without values in place of all that a program holds, each under the name that it had."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

CARD = "cuda"


@dataclass
class Held:
    """What the program holds of PyTorch's."""

    tensors: list[Any]
    modules: list[Any]
    optimizers: list[Any]
    scalers: Sequence[Any] = ()


def held() -> Held:
    """By whomever: the collector knows them all."""
    import torch

    things = gc.get_objects()
    kinds = set(map(type, things))  # a few thousands, of a million

    def all_of(base: type) -> list[Any]:
        wanted = {kind for kind in kinds if issubclass(kind, base)}
        return [thing for thing in things if type(thing) in wanted]

    # What has no size yet is of nobody's step.
    tensors = [tensor for tensor in all_of(torch.Tensor) if not is_lazy(tensor)]
    modules = [module for module in all_of(torch.nn.Module) if not any(map(is_lazy, (*module._parameters.values(), *module._buffers.values())))]
    scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)
    return Held(tensors, modules, all_of(torch.optim.Optimizer), all_of(scaler))


def is_lazy(tensor: Any) -> bool:
    """Whether the first call of its module gives it a size."""
    from torch.nn.parameter import UninitializedTensorMixin

    return isinstance(tensor, UninitializedTensorMixin)


def empty(everything: Held, mode: Any, inputs: Iterable[Any]) -> None:
    """Every tensor of the process loses its values and comes to lie on the card, but for single numbers on the host that
    belong to no module: optimizers count in such. Whoever holds a tensor holds the same object afterwards."""
    import torch

    of_modules = {id(t) for module in everything.modules for table in (module._parameters, module._buffers) for t in table.values()}
    of_modules |= {id(t) for t in inputs}
    emptier = _Emptier(mode)
    # What a backward pass would still need goes first: it holds the leaves.
    for tensor in sorted((t for t in everything.tensors if not _is_fake(t)), key=lambda t: t.is_leaf):
        on_host = tensor.device.type == "cpu" and tensor.dim() == 0 and id(tensor) not in of_modules
        emptier.empty(tensor, "cpu" if on_host else CARD)
    everything.tensors.clear()
    for module in everything.modules:
        if isinstance(module, torch.nn.RNNBase):
            module._flat_weight_refs = [weakref.ref(w) if w is not None else None for w in module._flat_weights]


def short_buffers(modules: Iterable[Any], most: int) -> list[tuple[Any, Any]]:
    """Buffers of at most so many elements on the host, each with a copy of its numbers: programs size and branch by some (strides, flags)."""
    import torch

    found = {id(t): t for module in modules for t in module._buffers.values()
             if t is not None and t.device.type == "cpu" and t.layout == torch.strided and t.numel() <= most and not _is_fake(t)}
    return [(t, t.detach().clone()) for t in found.values()]


def beside(modules: Iterable[Any]) -> list[Any]:
    """Tensors that are a module's and neither parameters nor buffers: they stay on the host when it is moved to the card."""
    import torch
    from torch.utils._pytree import tree_leaves

    modules = list(modules)
    tables = ("_parameters", "_buffers", "_modules")
    moved = {t.untyped_storage()._cdata for module in modules for table in tables[:2] for t in getattr(module, table).values()
             if t is not None and t.layout == torch.strided}
    held = [value for module in modules for name, value in module.__dict__.items() if name not in tables and isinstance(value, (torch.Tensor, dict, list, tuple))]
    return [t for t in tree_leaves(held) if isinstance(t, torch.Tensor) and t.device.type == "cpu" and t.dim() and t.layout == torch.strided
            and not isinstance(t, torch.nn.Parameter) and t.untyped_storage()._cdata not in moved]


def _is_fake(tensor: Any) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


class _Emptier:
    """Storages that tensors share stay shared."""

    def __init__(self, mode: Any) -> None:
        self.mode = mode
        self.storages: dict[int, tuple[Any, Any]] = {}  # address -> the original, so that its address is not used again; its stand-in

    def empty(self, tensor: Any, device: str) -> None:
        import torch

        gradient = tensor.grad if tensor.is_leaf else None
        with self.mode, torch.no_grad():
            fake = self._like(tensor, device)
            if isinstance(tensor, torch.nn.Parameter):
                fake = torch.nn.Parameter(fake, requires_grad=tensor.requires_grad)
            elif tensor.is_leaf and tensor.requires_grad:
                fake.requires_grad_()
        if gradient is not None:
            with self.mode, torch.no_grad():
                fake.grad = gradient if _is_fake(gradient) else self._like(gradient, device)
        fake._backward_hooks = tensor._backward_hooks
        exchange(tensor, fake)

    def _like(self, tensor: Any, device: str) -> Any:
        import torch

        if tensor.layout != torch.strided:
            return torch.empty_like(tensor, device=device)
        # Tensors on meta have no address of their own bytes, and storages all the same.
        storage = tensor.untyped_storage()
        if storage._cdata not in self.storages:
            whole = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=device)
            is_all = whole.untyped_storage().nbytes() == storage.nbytes()
            stand_in = whole if is_all else torch.empty(storage.nbytes(), dtype=torch.uint8, device=device)
            self.storages[storage._cdata] = storage, stand_in.untyped_storage()
            if is_all:
                return whole
        fake = torch.empty(0, dtype=tensor.dtype, device=device)
        fake.set_(self.storages[storage._cdata][1], tensor.storage_offset(), tensor.size(), tensor.stride())
        return fake


def exchange(tensor: Any, fake: Any) -> None:
    """What torch.utils.swap_tensors does, for tensors that others hold too: those keep what they had."""
    import torch

    kind, attributes = type(tensor), dict(tensor.__dict__)
    fake.__dict__.update({name: value for name, value in attributes.items() if name not in fake.__dict__})
    tensor.__class__, fake.__class__ = type(fake), kind
    tensor.__dict__, fake.__dict__ = fake.__dict__, {}
    torch._C._swap_tensor_impl(tensor, fake)
