"""What a step does, operator by operator: storages born and gone, calls with their operands, what autograd keeps."""
from __future__ import annotations

import functools
import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ._record_card import Stream
from ._record_known import name_of, tensors_in
from ._record_values import Values

# What a call is priced by beside its operands: of these operators the numbers that are given too.
_TOLD = ("conv", "pool", "attention", "upsample", "recurrent", "index_put", "::roll", "::sum", "::mean", "::var", "::std", "::max", "::min", "::amax", "::amin", "::arg")
# What gradients of gather, index, index_select, max, sort and topk are scattered with (FunctionsManual.cpp).
_INTO_ZEROS = {torch.ops.aten.scatter_add.default, torch.ops.aten.scatter.src, torch.ops.aten.index_add.default,
               torch.ops.aten.index_put.default}
# They allocate, or look at a tensor in another way, and launch nothing.
_NO_LAUNCH = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "alias", "resize_", "set_", "_local_scalar_dense",
              "lift_fresh", "record_stream", "_unsafe_view", "_reshape_alias", "detach_", "_fused_sdp_choice"}


class Storages:
    """Every storage on the card: its number, its size, since when it lives."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.bytes: list[int] = []
        self.streams: list[int] = []
        self.late: set[int] = set()  # those that another stream still reads when they are let go
        self.phase = "forward"
        self.node = -1
        self._living: dict[int, tuple[int, Any]] = {}  # address -> number, the weak reference that waits for its end
        self._empty: dict[int, Any] = {}  # those that have no bytes now
        self._on_host: dict[int, Any] = {}  # those that the program moves to the card from the host, though they lie there already

    def number(self, tensor: Any) -> int | None:
        """Of the tensor's storage, which is watched from now on; None where it takes no bytes of the card."""
        if tensor.device.type != "cuda" or tensor.layout != torch.strided:
            return None
        return self.of(tensor.untyped_storage())

    def of(self, storage: Any) -> int | None:
        address, size = storage._cdata, storage.nbytes()
        if address in self._on_host:
            return None
        known = self._living.get(address)
        if known is not None:
            if self.bytes[known[0]] == size:
                return known[0]
            self._end(address)  # resized: another piece of memory
        if size == 0:
            self._empty[address] = weakref.ref(storage, lambda _: self._empty.pop(address, None))
            return None
        self._empty.pop(address, None)
        number = len(self.bytes)
        self.bytes.append(size)
        self.streams.append(Stream.current.stream_id)
        self.events.append(("+", number, self.phase, self.node))
        self._living[address] = number, weakref.ref(storage, lambda _: self._end(address))
        return number

    def lies_on_host(self, storage: Any) -> None:
        self._on_host[storage._cdata] = storage
        self._living.pop(storage._cdata, None)

    def forget(self) -> None:
        """All that was so far: numbers begin anew."""
        for table in (self.events, self.bytes, self.streams, self.late, self._living, self._empty):
            table.clear()

    def follow_resizes(self) -> None:
        """Those that no operator makes; and who reads on another stream."""
        resize, storages = torch.UntypedStorage.resize_, self

        def resize_(storage: Any, size: int) -> Any:
            result = resize(storage, size)
            if storage._cdata in storages._living or storage._cdata in storages._empty:
                storages.of(storage)
            return result

        def record_stream(tensor: Any, stream: Any) -> None:
            number = storages.number(tensor)
            if number is not None and storages.streams[number] != stream.stream_id:
                storages.late.add(number)

        torch.UntypedStorage.resize_ = resize_
        torch.Tensor.record_stream = record_stream

    def _end(self, address: int) -> None:
        number, _ = self._living.pop(address)
        self.events.append(("-", number, self.phase, self.node))

    def numbers(self, tensors: Any) -> list[int]:
        found = [self.number(part) for t in tensors for part in parts_of(t)]
        return [number for number in dict.fromkeys(found) if number is not None]

    def living(self) -> list[int]:
        return sorted(number for number, _ in self._living.values())


def parts_of(tensor: Any) -> list[Any]:
    """The dense tensors that a tensor is made of."""
    if not isinstance(tensor, torch.Tensor):
        return []
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if is_wrapper(type(tensor)):
        return [part for name in tensor.__tensor_flatten__()[0] for part in parts_of(getattr(tensor, name))]
    return [tensor]


def is_wrapper(kind: type) -> bool:
    """Of tensors that hold others, as DTensor does."""
    return hasattr(kind, "__tensor_flatten__")


class Trace(TorchDispatchMode):
    """Listens to all that PyTorch runs. `modules`: of ModuleStack; who is at work."""

    def __init__(self, storages: Storages, modules: ModuleStack, values: Values, collectives: Any = None) -> None:
        super().__init__()
        self.collectives = collectives
        self.deaf = False  # to what the recorder itself does
        self.storages, self.modules, self.values = storages, modules, values
        self.nodes: list[tuple[str, str]] = []
        self.sums: list[tuple[int, int | None, int | None]] = []
        self.touched: set[int] = set()
        self.updating = False
        self.backward_began: list[int] = []  # positions in the events
        self._node_of: dict[int, int] = {}  # autograd's number of a forward call -> its node
        self._in_backward = False

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.deaf or not _makes_something(operator):
            return self.values.run(operator, args, kwargs)
        if any(is_wrapper(kind) for kind in types):  # it comes down to the tensors that it is made of first
            return NotImplemented
        storages = self.storages
        self._enter(operator)
        operands = tensors_in(args, kwargs)
        self.touched.update(storages.numbers(operands))
        result = self.values.run(operator, args, kwargs)
        results = tensors_in(result)
        self.touched.update(storages.numbers(results))
        if self.collectives is not None and self.collectives.note(operator, args, kwargs, result):
            return result
        if self._launches(operator, operands, results):
            # Operators over lists return nothing: they write what they are given.
            written = results or _mutated(operator, args)
            self.note(name_of(operator), operands, written, self._facts(operator, args, kwargs))
        self._note_sum(operator, args, result)
        return result

    def _enter(self, operator: Any) -> None:
        """Phase and node of what runs now."""
        storages = self.storages
        backward = torch._C._current_graph_task_id() != -1
        if backward and not self._in_backward:
            self.backward_began.append(len(storages.events))
        self.modules.after_backward |= self._in_backward and not backward
        self._in_backward = backward
        name = name_of(operator)
        if self.updating:
            storages.phase, storages.node = "update", -1
        elif backward and not torch.is_grad_enabled():
            storages.phase = "backward"
            current = torch._C._current_autograd_node()
            storages.node = self._node_of.get(current._sequence_nr(), -1) if current is not None else -1
        else:
            storages.phase = "backward" if backward else self.modules.phase()
            storages.node = len(self.nodes)
            self.nodes.append((self.modules.path(), name))
            if torch.is_grad_enabled():
                self._node_of.setdefault(torch._C._autograd._get_sequence_nr() - 1, storages.node)

    def _launches(self, operator: Any, operands: list[Any], results: list[Any]) -> bool:
        if name_of(operator) in _NO_LAUNCH or operator.is_view:
            return False
        return any(t.device.type == "cuda" for t in [*operands, *results])

    @staticmethod
    def _facts(operator: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        if not _is_told(operator):
            return {}
        given = {argument.name: value for argument, value in zip(operator._schema.arguments, args)} | dict(kwargs)
        return {name: value for name, value in given.items() if isinstance(value, (bool, int))
                or (isinstance(value, (list, tuple)) and value and all(isinstance(one, (bool, int)) for one in value))}

    def note(self, name: str, operands: list[Any], results: list[Any], facts: dict[str, Any]) -> None:
        """A call, with the types of what it reads and writes; `again`: which of the operands it was given before."""
        parts = [part for t in operands for part in parts_of(t)]
        if len(set(map(id, parts))) < len(parts):
            first: dict[int, int] = {}
            facts = {**facts, "again": [at for at, part in enumerate(parts) if first.setdefault(id(part), at) != at]}
        written = [part for t in results for part in parts_of(t)]
        key = (name, tuple(map(type_of, parts)), tuple(map(type_of, written)), tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in facts.items())))
        self.storages.events.append(("!", key, self.storages.phase, self.storages.node))

    def note_call(self, name: str, operands: list[Any], results: list[Any], facts: dict[str, Any]) -> None:
        """Of what stands in for an operator."""
        self.note(name, operands, results, facts)

    def begin_pass(self) -> None:
        self.modules.seen = self.modules.after_backward = self._in_backward = False
        self.storages.phase, self.storages.node = "forward", -1
        self._node_of.clear()

    def _note_sum(self, operator: Any, args: Any, result: Any) -> None:
        """In backward it is nearly always the engine that adds two tensors of one shape: gradients that meet. In a run that nobody
        listens to it adds into the older one; also scatters there fill zeros in place, but for subclasses of Tensor."""
        if self.storages.phase != "backward" or torch.is_grad_enabled() or not isinstance(result, torch.Tensor):
            return
        number, events = self.storages.number, len(self.storages.events)
        if operator is torch.ops.aten.add.Tensor:
            older, newer = args[:2]
            if isinstance(newer, torch.Tensor) and older is not newer and older.shape == newer.shape:
                self.sums.append((events, number(result), number(older)))
        elif operator in _INTO_ZEROS:
            self.sums.append((events, number(result), number(args[0])))


@functools.cache
def _is_told(operator: Any) -> bool:
    return any(word in operator._schema.name for word in _TOLD)


@functools.cache
def _makes_something(operator: Any) -> bool:
    """Or writes it; prim::device looks alone, and reading a number waits for the device."""
    schema = operator._schema
    return schema.is_mutable or schema.name.startswith(("c10d::", "aten::_local_scalar_dense")) or any("Tensor" in str(result.type) for result in schema.returns)


def _mutated(operator: Any, args: Any) -> list[Any]:
    written = [value for argument, value in zip(operator._schema.arguments, args) if argument.alias_info is not None and argument.alias_info.is_write]
    return tensors_in(written)


def type_of(tensor: Any) -> tuple[Any, ...]:
    """Element type, shape and the order in which it lies: "last" for channels last, "turned" for the last two axes the other way round."""
    shape, strides = tuple(tensor.shape), tensor.stride() if tensor.layout == torch.strided else ()
    layout = ""
    if len(shape) in (4, 5) and strides and strides[1] == 1 and shape[1] != 1 and any(size != 1 for size in shape[2:]):
        layout = "last"
    elif len(shape) >= 2 and strides and strides[-1] != 1 and strides[-2] == 1:
        layout = "turned"
    return name_of_type(tensor.dtype), shape, layout


@functools.cache
def name_of_type(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class ModuleStack:
    """The modules whose forward is running, by path; and whether what runs beside them is the loss."""

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names
        self.running: list[str] = []
        self.seen = False  # a module has run in this pass
        self.after_backward = False  # and its backward pass
        self.scheduled = 0  # a schedule of stages runs, in which passes follow each other
        hooks = torch.nn.modules.module
        hooks.register_module_forward_pre_hook(self._enter)
        hooks.register_module_forward_hook(self._leave, always_call=True)

    def _enter(self, module: Any, *_: Any) -> None:
        is_loss = not self.running and type(module).__module__ == "torch.nn.modules.loss"
        self.seen, self.after_backward = self.seen or not is_loss, False
        self.running.append("(loss)" if is_loss else self.names.get(id(module), self.running[-1] if self.running else ""))

    def _leave(self, *_: Any) -> None:
        if self.running:
            self.running.pop()

    def follow(self, step: Any) -> Any:
        """A schedule's step, which is heard."""
        @functools.wraps(step)
        def followed(*args: Any, **kwargs: Any) -> Any:
            self.scheduled += 1
            try:
                return step(*args, **kwargs)
            finally:
                self.scheduled -= 1
        return followed

    def path(self) -> str:
        return self.running[-1] if self.running else ""

    def phase(self) -> str:
        beside = not self.running or self.running[-1] == "(loss)"
        if beside and self.after_backward:  # scaling, clipping, averages of weights
            return "backward" if self.scheduled else "update"
        return "loss" if beside and self.seen and torch.is_grad_enabled() else "forward"


class Kept:
    """The storages that autograd keeps, each with the node that was the first to keep it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.keeper: dict[int, int] = {}
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._keep, lambda tensor: tensor)

    def _keep(self, tensor: Any) -> Any:
        storages = self.trace.storages
        for number in storages.numbers([tensor]):
            self.keeper.setdefault(number, len(self.trace.nodes) - 1)
        self.trace.deaf = True
        try:
            return tensor.detach()  # itself it would hold the node that keeps it
        finally:
            self.trace.deaf = False
