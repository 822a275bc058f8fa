"""Packed sequences: PyTorch's C++ reads the numbers of their lengths, which are known here where the program's inputs have them. The same slices and
copies as in aten/src/ATen/native/PackedSequence.cpp, one by one."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

from ._record_values import ValueAsked, Values, line_of_caller

Runs = list[tuple[int, int, int]]  # (first step, steps, sequences that are as long at least)


def stand_in_for_packed_sequences(values: Values) -> None:
    class Packed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, padded: Any, runs: Runs) -> Any:
            ctx.shape, ctx.runs = padded.shape, runs
            rest = padded.shape[2:]
            steps = [padded[first:first + count, :batch].contiguous().view(-1, *rest) for first, count, batch in runs]
            return torch.cat(steps)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            padded = gradient.new_zeros(ctx.shape)
            rest = ctx.shape[2:]
            for (first, count, batch), rows in zip(ctx.runs, _rows(gradient, ctx.runs)):
                padded[first:first + count, :batch].copy_(rows.view(count, batch, *rest))
            return padded, None

    def pack(padded: Any, lengths: Any, batch_first: bool) -> Any:
        padded = padded.transpose(0, 1) if batch_first else padded
        known = _numbers(values, lengths, "pack_padded_sequence reads the lengths of sequences")
        sizes = [sum(length > step for length in known) for step in range(max(known, default=0))]
        return Packed.apply(padded, _runs(sizes)), _on_host(sizes)

    def pad(data: Any, batch_sizes: Any, batch_first: bool, padding: float, total: int) -> Any:
        sizes = _numbers(values, batch_sizes, "pad_packed_sequence reads the lengths of sequences")
        padded = torch.full((max(total, len(sizes)), sizes[0], *data.shape[1:]), padding, dtype=data.dtype, device=data.device)
        runs = _runs(sizes)
        for (first, count, batch), rows in zip(runs, _rows(data, runs)):
            padded[first:first + count, :batch].copy_(rows.view(count, batch, *data.shape[1:]))
        lengths = [sum(size > number for size in sizes) for number in range(sizes[0])]
        return padded.transpose(0, 1) if batch_first else padded, _on_host(lengths)

    anyway: Any = torch._VF
    anyway._pack_padded_sequence, anyway._pad_packed_sequence = pack, pad


def _runs(sizes: list[int]) -> Runs:
    runs, first = [], 0
    for batch, same in itertools.groupby(sizes):
        count = len(list(same))
        runs.append((first, count, batch))
        first += count
    return runs


def _rows(data: Any, runs: Runs) -> Iterator[Any]:
    at = 0
    for _, count, batch in runs:
        yield data[at:at + count * batch]
        at += count * batch


def _numbers(values: Values, tensor: Any, what: str) -> list[int]:
    known = values.known.of(tensor)
    if known is None:
        raise ValueAsked(f"{line_of_caller()}: {what}, which a recorded step does not have: give them as inputs of the step")
    with no_dispatch():
        return [int(one) for one in known]


def _on_host(numbers: list[int]) -> Any:
    with no_dispatch():
        return torch.tensor(numbers, dtype=torch.int64)
