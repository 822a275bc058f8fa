"""DistributedDataParallel's reducer, which is C++ and reads memory that is not there: the same buckets, copies and sums on tensors without values.

After torch/csrc/distributed/c10d/reducer.cpp: gradients are copied into buckets as they come, a full bucket is summed over the ranks, and behind the
backward pass sums are copied back, unless gradients are views of their buckets. Behind the first pass buckets are made anew in the order of arrival."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist


class Reducer:
    def __init__(self, parameters: Sequence[Any], buckets: Sequence[Sequence[int]], limits: Sequence[int], group: Any, sparse: Any = None,
                 cap: int = 25 << 20, unused: bool = False, views: bool = False, names: Any = None, first_cap: int = 1 << 20, *_: Any, **__: Any) -> None:
        self.parameters, self.group, self.views = list(parameters), group, views
        self.limits = [first_cap, cap]
        self._places = {id(parameter): at for at, parameter in enumerate(self.parameters)}
        self._summing = self._rebuilt = False
        self._order: list[int] = []
        self._works: list[Any] = []
        self._make(buckets)
        for parameter in self.parameters:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def _make(self, buckets: Sequence[Sequence[int]]) -> None:
        self.buckets = [list(bucket) for bucket in buckets]
        self._flat: list[Any] = []
        self._parts: dict[int, tuple[int, Any]] = {}  # parameter -> its bucket, its part of it
        for number, bucket in enumerate(self.buckets):
            some = [self.parameters[at] for at in bucket]
            flat = torch.zeros(sum(p.numel() for p in some), dtype=some[0].dtype, device=some[0].device)
            for at, part in zip(bucket, flat.split([p.numel() for p in some])):
                self._parts[at] = number, part.view(self.parameters[at].shape)
            self._flat.append(flat)

    def prepare_for_forward(self) -> None:
        pass

    def prepare_for_backward(self, _: Any) -> None:
        self._summing = True
        self._missing = [len(bucket) for bucket in self.buckets]
        self._order.clear()

    def _rebuild_buckets(self) -> bool:
        if self._rebuilt or len(self._order) != len(self.parameters):
            return False
        self._rebuilt = True
        arrived = [self.parameters[at] for at in self._order]
        buckets, _ = dist._compute_bucket_assignment_by_size(arrived, self.limits, [False] * len(arrived), list(self._order))
        self._flat, self._parts = [], {}
        self._make(buckets)
        return True

    def _arrived(self, parameter: Any) -> None:
        if not self._summing:
            return
        at = self._places[id(parameter)]
        self._order.append(at)
        number, part = self._parts[at]
        with torch.no_grad():
            if parameter.grad.untyped_storage()._cdata != part.untyped_storage()._cdata:
                torch.mul(parameter.grad, 1 / dist.get_world_size(self.group), out=part)
                if self.views:
                    parameter.grad = part
        self._missing[number] -= 1
        if self._missing[number] == 0:
            self._works.append(dist.all_reduce(self._flat[number], group=self.group, async_op=True))
        if not any(self._missing):
            self._summing = False
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)

    def _finish(self) -> None:
        for work in self._works:
            work.wait()
        self._works.clear()
        if self.views:
            return
        with torch.no_grad():
            for at, (_, part) in self._parts.items():
                self.parameters[at].grad.copy_(part)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("_set", "set_")):
            raise AttributeError(f"DistributedDataParallel reads {name} of its reducer, which cannot be recorded")
        return lambda *_, **__: None


class Logger:
    def __init__(self, _: Any) -> None:
        pass

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


def broadcast_coalesced(group: Any, tensors: Sequence[Any], size: int, source: int = 0) -> None:
    """Tensors of one type are joined, sent and copied back (reducer.cpp, BroadcastWork)."""
    if not tensors:
        return
    buckets, _ = dist._compute_bucket_assignment_by_size(list(tensors), [size])
    with torch.no_grad():
        for bucket in buckets:
            some = [tensors[at] for at in bucket]
            flat = torch.cat([tensor.reshape(-1) for tensor in some])
            dist.broadcast(flat, source, group=group)
            for tensor, part in zip(some, flat.split([t.numel() for t in some])):
                tensor.copy_(part.view(tensor.shape))


def stand_in() -> None:
    """For a child of its own."""
    anyway: Any = dist
    anyway.Reducer, anyway.Logger, anyway._broadcast_coalesced = Reducer, Logger, broadcast_coalesced
    anyway._verify_params_across_processes = lambda *_: None
