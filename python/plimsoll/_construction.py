"""Modules of PyTorch built without their weights: what a constructor reads has numbers, all else has only a size."""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

from ._command import Diagnostic, InputError, PlimsollWarning

if TYPE_CHECKING:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

# Constructors read numbers of short tensors: rates of dropout from linspace(), anchors, positions of a window.
_READ_ELEMENTS = 1 << 16


def built(factory: Callable[[], torch.nn.Module]) -> tuple[torch.nn.Module, FakeTensorMode | None]:
    """The factory's module, and the mode that its tensors are of; None where it had to be built for real."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with _numbers_where_short(mode):
            module = _module(factory())
        _without_numbers(module, mode)
        return module, mode
    except Exception as refused:  # a constructor's own code may raise anything
        reason = type(refused).__name__
    module = _module(factory())
    warnings.warn(f"the module was built with its weights: without their numbers its constructor raises {reason}",
                  PlimsollWarning, stacklevel=3)
    return module, None


def built_on_meta(factory: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """The factory's module, whose large tensors have no data."""
    try:
        with _meta_where_long():
            return _module(factory())
    except (TypeError, InputError):
        raise
    except Exception as refused:  # a constructor's own code may raise anything
        reason = type(refused).__name__
    module = _module(factory())
    warnings.warn(f"the module was built with its weights: without their numbers its constructor raises {reason}",
                  PlimsollWarning, stacklevel=6)
    return module


def _meta_where_long() -> Any:
    """Tensors that follow from nothing but numbers, and are short, are real; all others are on the meta device."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    def on_meta(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.device.type != "meta":
            return torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device="meta")
        return torch.device("meta") if isinstance(leaf, torch.device) else leaf

    class Lengths(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            real = not any(leaf.device.type == "meta" for leaf in tensors)
            reads = not func._schema.returns or any("Tensor" not in str(one.type) for one in func._schema.returns)
            if real and (func.is_view or func._schema.is_mutable or reads):
                return func(*args, **kwargs)
            meant = tree_map(on_meta, (args, kwargs))
            if real and not tensors and "device" not in kwargs and any(one.name == "device" for one in func._schema.arguments):
                meant[1]["device"] = torch.device("meta")
            meant[1].pop("pin_memory", None)
            result = func(*meant[0], **meant[1])
            long = sum(leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)) > _READ_ELEMENTS
            return func(*args, **kwargs) if real and not long else result

    return Lengths()


def _module(made: Any) -> torch.nn.Module:
    import torch

    if not isinstance(made, torch.nn.Module):
        raise TypeError(f"the factory returns {type(made).__name__}, not a torch.nn.Module")
    return recordable(made)


def recordable(module: torch.nn.Module) -> torch.nn.Module:
    """The module; an InputError where layers of it are lazy, or where it is TorchScript's."""
    import torch

    from ._record_tensors import is_lazy

    if isinstance(module, torch.jit.ScriptModule):
        raise _refused("the module is a TorchScript module, whose arguments and operators cannot be read", "give the module that was scripted or traced")
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(tensor):
            raise _refused(f"{name} has no size before the module's first call", "call the module once with the inputs")
    return module


def _refused(why: str, remedy: str) -> InputError:
    return InputError([Diagnostic("E292", "error", why, help=remedy)])


def _numbers_where_short(mode: FakeTensorMode) -> Any:
    """Tensors that follow from nothing but numbers, and are short, are real; all others are of `mode`."""
    import torch
    from torch._subclasses.fake_tensor import (DataDependentOutputException, DynamicOutputShapeException,
                                               FakeTensor)
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    def short(values: Any) -> bool:
        return bool(sum(leaf.numel() for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)) <= _READ_ELEMENTS)

    class Numbers(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            fake = any(isinstance(leaf, FakeTensor) for leaf in tree_leaves((args, kwargs)))
            try:
                with mode:
                    result = func(*args, **kwargs)
            except (DataDependentOutputException, DynamicOutputShapeException):
                if fake:
                    raise
                return func(*args, **kwargs)
            return result if fake or not short(result) else func(*args, **kwargs)

    return Numbers()


def _without_numbers(module: torch.nn.Module, mode: FakeTensorMode) -> None:
    """Short parameters and buffers lose their numbers too; tied ones stay tied."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    seen: dict[int, torch.Tensor] = {}
    for part in module.modules():
        for held in (part._parameters, part._buffers):
            for name, tensor in held.items():
                if tensor is None or isinstance(tensor, FakeTensor):
                    continue
                if id(tensor) not in seen:
                    seen[id(tensor)] = mode.from_tensor(tensor)
                held[name] = seen[id(tensor)]


@contextlib.contextmanager
def on_a_card(module: torch.nn.Module, mode: FakeTensorMode) -> Iterator[Callable[[Any], Any]]:
    """Inside, what the module holds is on a card that need not be there, without numbers; what it gives puts other tensors there."""
    import torch
    from torch._subclasses import fake_tensor
    from torch.fx.experimental import proxy_tensor
    from torch.utils._pytree import tree_map_only

    put: dict[int, torch.Tensor] = {}

    def there(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in put:  # tied ones stay tied
            with mode:
                fake = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cuda")
            parameter = isinstance(tensor, torch.nn.Parameter)
            put[id(tensor)] = torch.nn.Parameter(fake, tensor.requires_grad) if parameter else fake.requires_grad_(tensor.requires_grad)
        return put[id(tensor)]

    before = [(held, dict(held)) for part in module.modules() for held in (part._parameters, part._buffers)]
    # Nothing runs on a card: no context begins, and a number that is sent there is not followed further.
    with mock.patch.object(fake_tensor, "init_gpu_context", lambda *_: None, create=True), \
            mock.patch.object(proxy_tensor, "CONSTANT_NUMEL_LIMIT", -1, create=True):
        try:
            for held, own in before:
                held.update(tree_map_only(torch.Tensor, there, own))
            yield lambda values: tree_map_only(torch.Tensor, there, values)
        finally:
            for held, own in before:
                held.update(own)
