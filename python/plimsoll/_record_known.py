"""Numbers that a step knows without its network: what follows from numbers alone, positions, rates that are drawn, and the batch."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_map

# What programs read is short: positions, masks, boxes, rates of dropout.
SHORT = 1 << 16
# What follows from it is spread out in between, a mask over queries and keys of each sample; some milliseconds of the host.
_SPREAD = 1 << 22
_NEW_PIECE = {"set_", "resize_", "resize_as_"}
_SHAPE_ALONE = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}  # is read of what they are given


def tensors_in(*values: Any) -> list[Any]:
    """Of an operator's arguments or results, in which there are lists, tuples and no other containers: PyTorch's own way through any of
    them takes a tenth of a recording."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(*value)
        elif isinstance(value, dict):
            found += tensors_in(*value.values())
    return found


@functools.cache
def name_of(operator: Any) -> str:
    """Without its library: "mm"."""
    name: str = operator._schema.name
    return name.partition("::")[2]


class _Value:
    """A tensor's numbers on the host. Views have one `memory`, of which nothing is known any more once what is unknown is written."""

    def __init__(self, numbers: torch.Tensor, memory: list[bool]) -> None:
        self.numbers, self.memory = numbers, memory


class Known:
    """Works out on the host what operators make of known numbers, as long as these are short."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[Any, _Value]] = {}  # by id -> the weak reference that waits for its end

    def of(self, tensor: Any) -> torch.Tensor | None:
        value = self._value(tensor)
        return None if value is None else value.numbers

    def learn(self, tensor: Any, numbers: torch.Tensor, shape: Sequence[int] | None = None) -> None:
        """`shape`: where it differs, what there is repeats."""
        with no_dispatch():
            for axis, size in enumerate(shape or ()):
                if size != numbers.shape[axis]:
                    numbers = numbers.index_select(axis, torch.arange(size) % max(numbers.shape[axis], 1))
        if numbers.layout == torch.strided and numbers.numel() <= SHORT:
            self._keep(tensor, _Value(numbers, [True]))

    def all_known(self, tensors: list[Any]) -> bool:
        return all(self._value(tensor) is not None for tensor in tensors)

    def real(self, operator: Any, args: Any, kwargs: Any) -> Any:
        """What the operator makes of the numbers. Whatever a kernel of the host raises, it raises."""
        def numbers(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor):
                found = self.of(leaf)
                assert found is not None
                return found
            return torch.device("cpu") if isinstance(leaf, torch.device) else leaf

        with no_dispatch(), torch.no_grad():
            return operator(*tree_map(numbers, args), **{name: tree_map(numbers, value) for name, value in kwargs.items() if name != "pin_memory"})

    def follow(self, operator: Any, args: Any, kwargs: Any, operands: list[Any], result: Any) -> None:
        """After the operator has run on tensors without values."""
        results = tensors_in(result)
        written = operands if operator._schema.is_mutable else []
        # A loss or a gradient is never known: most calls end here.
        elements = sum(leaf.numel() for leaf in results)
        short = results and elements <= _SPREAD
        name = name_of(operator)
        if short and elements <= SHORT and name in _SHAPE_ALONE and not self.all_known(operands):
            with no_dispatch():
                like = torch.empty_strided(args[0].size(), args[0].stride(), dtype=args[0].dtype)
                self._keep(results[0], _Value(operator(like, *args[1:], **{**kwargs, "device": torch.device("cpu"), "pin_memory": False}), [True]))
            return
        if short and self.all_known(operands) and name not in _NEW_PIECE:
            try:
                real = self.real(operator, args, kwargs)
            except Exception:  # a kernel that the host has not
                real = None
            if real is not None and self._note(operands, results, real):
                return
        for tensor in written:
            self.forget(tensor)

    def forget(self, tensor: Any) -> None:
        value = self._value(tensor)
        if value is not None:
            value.memory[0] = False

    def _note(self, operands: list[Any], results: list[Any], real: Any) -> bool:
        found = tensors_in(real)
        if [leaf.shape for leaf in found] != [leaf.shape for leaf in results]:
            return False
        memories = {self._values[id(t)][1].numbers.untyped_storage()._cdata: self._values[id(t)][1].memory for t in operands if id(t) in self._values}
        for tensor, numbers in zip(results, found):
            if numbers.layout == torch.strided:
                memory = memories.setdefault(numbers.untyped_storage()._cdata, [True])
                self._keep(tensor, _Value(numbers, memory))
        return True

    def _keep(self, tensor: Any, value: _Value) -> None:
        key = id(tensor)
        self._values[key] = weakref.ref(tensor, lambda _: self._values.pop(key, None)), value

    def _value(self, tensor: Any) -> _Value | None:
        entry = self._values.get(id(tensor))
        if entry is None:
            if type(tensor) is torch.Tensor and tensor.device.type == "cpu" and tensor.numel() <= SHORT:  # of numbers in the program's text
                with no_dispatch():
                    self._keep(tensor, _Value(tensor.detach().clone(), [True]))
                return self._values[id(tensor)][1]
            return None
        value = entry[1]
        return value if value.memory[0] and value.numbers.shape == tensor.shape else None
