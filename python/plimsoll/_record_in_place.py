"""What a run does that nobody listens to."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

Event = tuple[Any, ...]


def added_in_place(events: Sequence[Event], places: Sequence[int], sums: Sequence[tuple[int, Any, Any]],
                   sizes: Sequence[int]) -> tuple[list[Event], list[int], Callable[[int], int]]:
    """(events, places in them, owner of each storage) of a run without a dispatch mode.

    Under such a mode the engine adds gradients that meet into a new tensor. A plain run adds into the older one where nobody else
    holds it, which shows here as its end before anything else begins. `sums`: (position behind it, the sum, the older one).
    """
    born = {what: at for at, (kind, what, *_) in enumerate(events) if kind == "+"}
    dead = {what: at for at, (kind, what, *_) in enumerate(events) if kind == "-"}
    dropped: set[int] = set()
    taken_over: dict[int, int] = {}
    for at, total, older in sums:
        if total is None or older is None or total not in born or not rounded_same(sizes[older], sizes[total]):
            continue
        end = at
        while end < len(events) and events[end][0] != "+":
            end += 1
        if at <= dead.get(older, -1) < end and born[total] < at:
            dropped |= {born[total], dead[older]}
            taken_over[total] = older

    def owner(number: int) -> int:
        while number in taken_over:
            number = taken_over[number]
        return number

    before = [0]
    for at in range(len(events)):
        before.append(before[-1] + (at not in dropped))
    kept = [(kind, owner(what) if kind in "+-" else what, *rest) for at, (kind, what, *rest) in enumerate(events) if at not in dropped]
    return kept, [before[at] for at in places], owner


def in_order(events: Sequence[Event]) -> list[Event]:
    """What ends together ends in the order of its birth: caches of PyTorch's let go in the order of addresses, which no two runs share. To
    an allocator it is all one."""
    ordered: list[Event] = []
    for ends, burst in itertools.groupby(events, key=lambda event: event[0] == "-"):
        ordered += sorted(burst, key=lambda event: event[1]) if ends else burst
    return ordered


def rounded_same(a: int, b: int) -> bool:
    """Of one size to an allocator that rounds to 512 bytes."""
    return -(-a // 512) == -(-b // 512)
