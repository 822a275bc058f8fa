"""What reads a value where none is: it is told one, which the record states, or an error names the line that asked."""
from __future__ import annotations

import sys
import weakref
from typing import Any

import torch

aten = torch.ops.aten


class ValueAsked(RuntimeError):
    """A step asks for numbers that only a run knows."""


_FALSE = {aten.isnan.default, aten.isinf.default}
_PASSES_ON = {aten.any.default, aten.all.default, aten.sum.default, aten.logical_or.default, aten.clone.default, aten._to_copy.default,
              aten.any.dim, aten.max.default, aten.add.Tensor, aten.bitwise_or.Tensor}
_UNKNOWN = ("DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedOperatorException", "UnsupportedFakeTensorException")


class Values:
    """Runs an operator; `stated` collects what was assumed, each once."""

    def __init__(self) -> None:
        self.stated: dict[str, None] = {}
        self._false: dict[int, Any] = {}  # storages that hold zeros or no

    def run(self, operator: Any, args: Any, kwargs: Any) -> Any:
        if operator is aten._local_scalar_dense.default:
            return self._number(args[0])
        replaced = _REPLACED.get(operator)
        if replaced is not None:
            return replaced(self, *args, **kwargs)
        if operator in _WITH_MASKS and any(t is not None and t.dtype in (torch.bool, torch.uint8) for t in args[1]):
            self._state("masks select every element")
            args = (args[0], self._expanded(args[1]), *args[2:])
        try:
            result = operator(*args, **kwargs)
        except Exception as fault:
            if type(fault).__name__ not in _UNKNOWN:
                raise
            raise ValueAsked(f"{line_of_caller()}: {operator._schema.name.partition('::')[2]} asks for the values of tensors, "
                             "which are not there where a step is recorded") from fault
        self._follow(operator, args, result)
        return result

    def _state(self, what: str) -> None:
        self.stated.setdefault(what)

    def _follow(self, operator: Any, args: Any, result: Any) -> None:
        """Which tensors say no: whether numbers are infinite, or none."""
        if operator is aten._amp_foreach_non_finite_check_and_unscale_.default:
            self._set_no(args[1])
        elif isinstance(result, torch.Tensor) and (operator in _FALSE or (operator in _PASSES_ON and self._is_no(args[0]))):
            self._set_no(result)

    def _set_no(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        address = storage._cdata
        self._false[address] = weakref.ref(storage, lambda _: self._false.pop(address, None))

    def _is_no(self, tensor: Any) -> bool:
        return isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.untyped_storage()._cdata in self._false

    def _number(self, tensor: Any) -> Any:
        constant = getattr(tensor, "constant", None)
        if constant is not None:
            return constant.item()
        no = self._is_no(tensor)
        if tensor.dtype == torch.bool:
            return not no
        self._state("numbers that the step reads are 1")
        if tensor.dtype.is_complex:
            return complex(0 if no else 1)
        return (0.0 if no else 1.0) if tensor.is_floating_point() else (0 if no else 1)

    def nonzero(self, mask: Any) -> Any:
        self._state("masks select every element")
        return mask.new_empty((mask.numel(), mask.dim()), dtype=torch.int64)

    def _expanded(self, indices: Any) -> list[Any]:
        """Masks as positions, which PyTorch makes of them before it indexes."""
        expanded: list[Any] = []
        for index in indices:
            if index is not None and index.dtype in (torch.bool, torch.uint8):
                positions = self.nonzero(index)
                expanded += [positions.select(1, axis) for axis in range(index.dim())]
            else:
                expanded.append(index)
        return expanded

    def masked_select(self, source: Any, mask: Any) -> Any:
        self._state("masks select every element")
        return source.new_empty((torch.broadcast_shapes(source.shape, mask.shape).numel(),))


_REPLACED = {aten.nonzero.default: Values.nonzero, aten.masked_select.default: Values.masked_select}
_WITH_MASKS = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default}


def line_of_caller() -> str:
    """The innermost line of the program that is neither PyTorch's nor ours."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if "/torch/" not in name and "/plimsoll/" not in name and not name.startswith("<"):
            return f"{name.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "the step"
