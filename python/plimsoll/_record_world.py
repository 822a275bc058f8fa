"""Ranks that are not there: one rank of a program for several, with collectives that move nothing and are noted."""
from __future__ import annotations

import functools
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_leaves

from . import _record_reducer
from ._record_card import Event, Stream

# An operator of c10d or of its functional form -> the collective, and whose bytes are told: of what each rank sends, or has behind a gather.
_KINDS = {
    "allreduce_": ("all_reduce", "first"), "allreduce_coalesced_": ("all_reduce", "first"), "all_reduce": ("all_reduce", "first"),
    "all_reduce_": ("all_reduce", "first"), "all_reduce_coalesced": ("all_reduce", "first"), "all_reduce_coalesced_": ("all_reduce", "first"),
    "broadcast_": ("broadcast", "first"), "broadcast": ("broadcast", "first"), "reduce_": ("reduce", "first"),
    "_allgather_base_": ("all_gather", "first"), "allgather_": ("all_gather", "first"), "allgather_into_tensor_coalesced_": ("all_gather", "first"),
    "allgather_coalesced_": ("all_gather", "first"), "all_gather_into_tensor": ("all_gather", "result"),
    "all_gather_into_tensor_out": ("all_gather", "result"), "all_gather_into_tensor_coalesced": ("all_gather", "result"),
    "_reduce_scatter_base_": ("reduce_scatter", "second"), "reduce_scatter_": ("reduce_scatter", "second"),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", "second"), "reduce_scatter_tensor": ("reduce_scatter", "first"),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", "first"), "alltoall_base_": ("all_to_all", "second"),
    "alltoall_": ("all_to_all", "second"), "all_to_all_single": ("all_to_all", "first"),
    "send": ("send", "first"), "recv_": ("receive", "first"), "recv_any_source_": ("receive", "first"),
}
BETWEEN_TWO = ("send", "receive")  # what one rank tells another; whoever calls waits for its own


# Whose code tells ranks something -> the axis that they lie along, and the next one where that is another group's (HSDP).
_CALLERS = {"/torch/distributed/fsdp/": "fsdp", "/plimsoll/_record_reducer.py": "dp", "/torch/nn/parallel/": "dp", "/torch/distributed/pipelining/": "pp", "/torch/distributed/tensor/": "tp",
            "/torch/distributed/optim/": "fsdp"}
_AXES = {"fsdp": ("fsdp", "dp"), "dp": ("dp",), "pp": ("pp",), "tp": ("tp", "cp", "ep")}


def enter(ranks: int, rank: int) -> None:
    """For a child of its own, before its card is pretended: a process group of `ranks`, as `torchrun` would have made it."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    os.environ.update(WORLD_SIZE=str(ranks), RANK=str(rank), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", MASTER_ADDR="localhost", MASTER_PORT="0")
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
    _record_reducer.stand_in()
    nothing: Any = lambda *_, **__: None  # noqa: E731
    for module in (dist, dist.distributed_c10d):
        module.init_process_group = module.destroy_process_group = module.barrier = nothing


def _axis_of_caller() -> str:
    """By the innermost of PyTorch's own code that calls; a norm of sharded gradients is asked of DTensor, and tells nothing."""
    frame, found = sys._getframe(1), ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith("/nn/utils/clip_grad.py"):
            return ""
        found = found or next((axis for part, axis in _CALLERS.items() if part in file), "")
        frame = frame.f_back  # type: ignore[assignment]
    return found


def hear_no_shapes(trace: Any) -> None:
    """DTensor runs operators on whole tensors to learn the shapes of their results, where none has a value: that takes no memory."""
    prop = sys.modules.get("torch.distributed.tensor._sharding_prop")
    kind: Any = getattr(prop, "ShardingPropagator", None)
    for name in ("_propagate_tensor_meta_non_cached", "_propagate_tensor_meta"):  # the latter before PyTorch 2.6
        plain = getattr(kind, name, None)
        if plain is not None:
            setattr(kind, name, _unheard(plain, trace))
            return


def _unheard(plain: Any, trace: Any) -> Any:
    @functools.wraps(plain)
    def unheard(*args: Any, **kwargs: Any) -> Any:
        before, trace.deaf = trace.deaf, True
        try:
            return plain(*args, **kwargs)
        finally:
            trace.deaf = before
    return unheard


def follow_schedules(modules: Any) -> None:
    """What runs between passes of a pipeline's schedule is none of an update."""
    name = "torch.distributed.pipelining.schedules"
    kinds: list[Any] = list(vars(sys.modules[name]).values()) if name in sys.modules else []
    for kind in kinds:
        if isinstance(kind, type) and kind.__module__ == name and "step" in vars(kind):
            kind.step = modules.follow(kind.step)  # type: ignore[attr-defined]


class Collectives:
    """Which operators are collectives, on whose ranks, and where the usual stream waits for them."""

    def __init__(self, storages: Any) -> None:
        self.storages = storages
        self.groups: dict[tuple[int, ...], int] = {}
        self._axes: dict[int, str] = {}  # of groups that tell by their callers what they are for
        self._pending: dict[int, list[int]] = {}  # by stream: what was issued there and nobody waited for
        self._begun = 0
        self._asynchronous: list[int] = []
        self._works: dict[int, Any] = {}  # what the program waits on -> the one that it stands for
        self._listen()

    def begin_step(self) -> None:
        """What the step before has begun is not this one's to wait for."""
        self._pending.clear()
        self._asynchronous.clear()
        self._works.clear()

    def end_step(self) -> None:
        """Whoever reads its results waits for all that it has begun."""
        self._await(sorted({number for waiting in (*self._pending.values(), self._asynchronous) for number in waiting}))

    def note(self, operator: Any, args: Any, kwargs: Any, result: Any) -> bool:
        """Whether it is one."""
        namespace, _, name = operator._schema.name.partition("::")
        if namespace not in ("c10d", "_c10d_functional"):
            return False
        if name == "wait_tensor":
            self._wait(Stream.current, self._asynchronous)
            return True
        kind, whose = _KINDS.get(name, ("", ""))
        if not kind:
            return True  # a barrier, a monitor
        given = {argument.name: value for argument, value in zip(operator._schema.arguments, args)} | dict(kwargs)
        tensors = [[leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)] for value in (result if whose == "result" else None, *given.values())]
        held = [some for some in tensors if some]
        told = held[1 if whose == "second" and len(held) > 1 else 0]
        size = sum(t.numel() * t.element_size() for t in told)
        ranks = self._ranks(given)
        if len(ranks) < 2:
            return True
        group = self.groups.setdefault(ranks, len(self.groups))
        axis = _axis_of_caller()
        if axis:
            self._axes.setdefault(group, axis)
        functional = namespace == "_c10d_functional"
        asynchronous = kind in BETWEEN_TWO or bool(given.get("asyncOp", given.get("async_op", functional)))
        self._issue(kind, group, size, asynchronous)
        if asynchronous:
            self._remember_work(result)
        return True

    def _remember_work(self, result: Any) -> None:
        """What the program will wait on is this very object, as long as it is held; before PyTorch 2.6 nobody can tell."""
        unbox = getattr(dist.Work, "unbox", None)
        boxed = next((leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.ScriptObject)), None)
        if unbox is not None and boxed is not None:
            self._works[self._begun - 1] = unbox(boxed)

    def _ranks(self, given: Any) -> tuple[int, ...]:
        if "group_name" in given:
            name = given["group_name"]
            group = dist.distributed_c10d._resolve_process_group(name) if isinstance(name, str) else name
        else:
            group = dist.ProcessGroup.unbox(given["process_group"])
        return tuple(dist.get_process_group_ranks(group))

    def rows(self) -> list[list[Any]]:
        """[axis, ranks apart, ranks] of each group: neighbours first where two are of one axis; no axis where it is of several."""
        rows: list[list[Any]] = []
        for ranks, number in self.groups.items():
            apart = ranks[1] - ranks[0]
            if list(ranks) != list(range(ranks[0], ranks[0] + apart * len(ranks), apart)):
                raise ValueError(f"a process group of ranks {ranks[:8]}: a mesh has only groups with evenly spaced ranks")
            rows.append([self._axes.get(number, ""), apart, len(ranks)])
        taken: dict[str, tuple[int, int]] = {}
        for row in sorted(rows, key=lambda row: row[1:]):
            axis, *where = row
            row[0] = next((one for one in _AXES.get(axis, ()) if taken.setdefault(one, tuple(where)) == tuple(where)), "")
        if len(rows) == 1 and not rows[0][0]:
            rows[0][0] = "dp"
        return rows

    def _issue(self, kind: str, group: int, size: int, asynchronous: bool) -> None:
        number = self._begun
        self._begun += 1
        self.storages.events.append(("i", (number, kind, group, size), self.storages.phase, self.storages.node))
        stream = Stream.current.stream_id
        (self._asynchronous if asynchronous else self._pending.setdefault(stream, [])).append(number)
        if stream == 0 and not asynchronous:
            self._await([number])

    def _await(self, numbers: list[int]) -> None:
        """The usual stream waits; whoever waits on another one waits for what that waited for."""
        for number in list(numbers):
            self._works.pop(number, None)
            for waiting in (*self._pending.values(), self._asynchronous):
                if number in waiting:
                    waiting.remove(number)
            self.storages.events.append(("w", number, self.storages.phase, self.storages.node))

    def _wait(self, stream: Stream, numbers: list[int]) -> None:
        living = [number for number in numbers if any(number in waiting for waiting in (*self._pending.values(), self._asynchronous))]
        if stream.stream_id == 0:
            self._await(living)
            return
        mine = self._pending.setdefault(stream.stream_id, [])
        mine += [number for number in living if number not in mine]

    def _listen(self) -> None:
        """Streams tell of their events."""
        collectives = self

        def record(event: Any, stream: Any = None, *_: Any) -> None:
            on = stream or Stream.current
            event.pending = list(collectives._pending.get(on.stream_id, []))

        def record_event(stream: Any, event: Any = None) -> Any:
            event = event or Event()
            record(event, stream)
            return event

        def wait_event(stream: Any, event: Any) -> None:
            collectives._wait(stream, getattr(event, "pending", []))

        Event.record, Event.wait = record, lambda event, stream=None, *_: wait_event(stream or Stream.current, event)  # type: ignore[assignment,method-assign]
        Stream.record_event, Stream.wait_event = record_event, wait_event  # type: ignore[method-assign,assignment]
        Stream.wait_stream = lambda stream, other, *_: collectives._wait(stream, collectives._pending.get(other.stream_id, []))  # type: ignore[method-assign]
        def wait(work: Any, *_: Any, **__: Any) -> bool:
            own = [number for number, known in collectives._works.items() if known is work]
            collectives._wait(Stream.current, own or [number for number in collectives._asynchronous if number not in collectives._works])
            return True

        for kind in ("Work", "FakeWork"):  # the latter has had its own since PyTorch 2.8
            if hasattr(torch._C._distributed_c10d, kind):
                getattr(torch._C._distributed_c10d, kind).wait = wait
