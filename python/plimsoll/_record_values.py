"""What reads a value where none is: it is told one, which the record states, or an error names the line that asked."""
from __future__ import annotations

import sys
import weakref
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_map

from . import _record_ctc
from ._record_known import Known, name_of, tensors_in

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
        self.known = Known()
        self._false: dict[int, Any] = {}  # storages that hold zeros or no
        self._most: dict[int, tuple[Any, int]] = {}  # storages of masks -> how many elements say yes at most

    def run(self, operator: Any, args: Any, kwargs: Any) -> Any:
        operands = tensors_in(args, kwargs)
        if operator is aten._local_scalar_dense.default:
            return self._number(args[0])
        replaced: Any = _REPLACED.get(operator._schema.name)
        if replaced is not None:
            return self._known_result(operator, args, kwargs) if self.known.all_known(operands) else replaced(self, *args, **kwargs)
        if operator in _WITH_MASKS and any(t is not None and t.dtype in (torch.bool, torch.uint8) for t in args[1]):
            args = (args[0], self._expanded(args[1]), *args[2:])
            operands = tensors_in(args, kwargs)
        if len(operands) > 1 and not operator._schema.is_mutable:
            args = self._together(operands, args)
        try:
            result = operator(*args, **kwargs)
        except Exception as fault:
            if type(fault).__name__ not in _UNKNOWN:
                raise
            if operands and self.known.all_known(operands):
                return self._known_result(operator, args, kwargs)
            name = name_of(operator)
            if type(fault).__name__ == "UnsupportedOperatorException":
                raise ValueAsked(f"{line_of_caller()}: this PyTorch cannot compute the shapes of {getattr(fault, 'func', name)} without running it") from fault
            raise ValueAsked(f"{line_of_caller()}: {name} reads the values of tensors, which a recorded step does not have") from fault
        self._follow(operator, args, result)
        self.known.follow(operator, args, kwargs, operands, result)
        return result

    def _together(self, operands: list[Any], args: Any) -> Any:
        """What meets the card's tensors lies there too: on a card the program would have stopped, so it was put there, or is the host's
        together with what it meets, of which from here nothing tells."""
        if not any(t.dim() and t.device.type == "cpu" for t in operands) or not any(t.dim() and t.device.type == "cuda" for t in operands):
            return args

        def moved(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor) or not leaf.dim() or leaf.device.type != "cpu":
                return leaf
            self.state("tensors on the CPU that are combined with tensors on the GPU are on the GPU")
            on_card = torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device="cuda")
            numbers = self.known.of(leaf)
            if numbers is not None:
                self.known.learn(on_card, numbers)
            return on_card
        return tree_map(moved, args)

    def _known_result(self, operator: Any, args: Any, kwargs: Any) -> Any:
        """What the host says, as tensors without values where the operands are."""
        device = tensors_in(args, kwargs)[0].device

        def emptied(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            empty = torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device=device)
            self.known.learn(empty, leaf)
            return empty
        return tree_map(emptied, self.known.real(operator, args, kwargs))

    def state(self, what: str) -> None:
        self.stated.setdefault(what)

    def _follow(self, operator: Any, args: Any, result: Any) -> None:
        """Which tensors say no: whether numbers are infinite, or none."""
        if operator is aten._amp_foreach_non_finite_check_and_unscale_.default:
            self._set_no(args[1])
        elif isinstance(result, torch.Tensor) and (operator in _FALSE or (operator in _PASSES_ON and self._is_no(args[0]))):
            self._set_no(result)
        if isinstance(result, torch.Tensor) and result.dtype in (torch.bool, torch.uint8):
            self._follow_mask(operator, args, result)

    def _follow_mask(self, operator: Any, args: Any, result: Any) -> None:
        """Zeros in which places are marked: samplers choose so many of a thing, whichever they are."""
        name = name_of(operator).rstrip("_")
        storage = result.untyped_storage()
        address = storage._cdata
        if name == "index_put":
            most = self._at_most(args[0]) + max((index.numel() for index in args[1] if index is not None), default=0)
        elif name == "index_fill":
            most = self._at_most(args[0]) + args[2].numel() * (result.numel() // max(result.shape[args[1]], 1))
        elif name in ("bitwise_or", "logical_or"):
            most = self._at_most(args[0]) + self._at_most(args[1])
        elif name in ("bitwise_and", "logical_and"):
            most = min(self._at_most(args[0]), self._at_most(args[1]))
        elif name in ("zeros", "zeros_like", "new_zeros", "zero"):
            most = 0
        elif name in ("clone", "_to_copy"):
            most = self._at_most(args[0])
        elif operator._schema.is_mutable:
            self._most.pop(address, None)
            return
        else:
            return
        self._most[address] = weakref.ref(storage, lambda _: self._most.pop(address, None)), most

    def _at_most(self, mask: Any) -> int:
        if not isinstance(mask, torch.Tensor):
            return 0
        known = self.known.of(mask)
        if known is not None:
            with no_dispatch():
                return int(torch.count_nonzero(known))
        noted = self._most.get(mask.untyped_storage()._cdata)
        return int(mask.numel() if noted is None else min(noted[1], mask.numel()))

    def _set_no(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        address = storage._cdata
        self._false[address] = weakref.ref(storage, lambda _: self._false.pop(address, None))

    def _is_no(self, tensor: Any) -> bool:
        return isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.untyped_storage()._cdata in self._false

    def _number(self, tensor: Any) -> Any:
        known = self.known.of(tensor)
        constant = known if known is not None else getattr(tensor, "constant", None)
        if constant is not None:
            with no_dispatch():
                return constant.item()
        no = self._is_no(tensor)
        if tensor.dtype == torch.bool:
            if not no:
                self.state("conditions that the step reads are true")
            return not no
        self.state("numbers that the step reads are 1")
        if tensor.dtype.is_complex:
            return complex(0 if no else 1)
        return (0.0 if no else 1.0) if tensor.is_floating_point() else (0 if no else 1)

    def nonzero(self, mask: Any) -> Any:
        most = self._at_most(mask)
        self.state("masks select every element" if most == mask.numel() else "masks select as many elements as the step sets in them")
        return mask.new_empty((most, mask.dim()), dtype=torch.int64)

    def _expanded(self, indices: Any) -> list[Any]:
        """Masks as positions, which PyTorch makes of them before it indexes."""
        expanded: list[Any] = []
        for index in indices:
            if index is not None and index.dtype in (torch.bool, torch.uint8):
                positions = self.run(aten.nonzero.default, (index,), {})
                expanded += [positions.select(1, axis) for axis in range(index.dim())]
            else:
                expanded.append(index)
        return expanded

    def masked_select(self, source: Any, mask: Any) -> Any:
        self.state("masks select every element")
        return source.new_empty((torch.broadcast_shapes(source.shape, mask.shape).numel(),))

    def nms(self, boxes: Any, *_: Any) -> Any:
        self.state("non-maximum suppression removes no box")
        return boxes.new_empty((boxes.shape[0],), dtype=torch.int64)


_REPLACED = {"aten::nonzero": Values.nonzero, "aten::masked_select": Values.masked_select, "torchvision::nms": Values.nms, **_record_ctc.REPLACED}
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
