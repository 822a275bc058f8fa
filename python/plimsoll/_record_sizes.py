"""Sizes as polynomials of named dimensions: of what several runs say, one that is exact in all of them."""
from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

Point = Mapping[str, int]
# Attention that saves memory keeps a logarithm for each query, of these rounded up to so many (kAlignLSE in PyTorch's
# aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_forward.h).
ALIGNED = 32


# Powers of a symbol in a polynomial: products of the symbols, which most steps are, take the fewest runs.
PRODUCTS, SQUARES = 1, 2


class OtherSteps(ValueError):
    """The runs do other things at other sizes."""


class NoPolynomial(OtherSteps):
    """A size is none of the powers that the runs are enough for."""


def monomials(symbols: Sequence[str], most: int) -> list[tuple[int, ...]]:
    """Powers of each symbol, up to `most`, of three factors at most, as products over a batch of squared lengths are."""
    return [powers for powers in itertools.product(range(most + 1), repeat=len(symbols)) if sum(powers) <= 3 or len(symbols) == 1]


def points(base: Point, most: int) -> list[dict[str, int]]:
    """Where runs are needed for such polynomials: at multiples of the sample's sizes, the sample first."""
    return [{name: size * (power + 1) for (name, size), power in zip(base.items(), powers)} for powers in monomials(list(base), most)]


def check_point(base: Point) -> dict[str, int]:
    """One more, at which they are checked: none of those points."""
    return {name: size + 1 if size > 1 else SQUARES + 2 for name, size in base.items()}


class Sizes:
    """The polynomials met so far, each with a number. `most`: the power of a symbol for which the runs at `at` are enough."""

    def __init__(self, symbols: Sequence[str], at: Sequence[Point], most: int) -> None:
        self.symbols, self.at = list(symbols), list(at)
        self.powers = monomials(self.symbols, most)
        self.table: list[Any] = []
        self._known: dict[tuple[int, ...], Any] = {}
        count = len(self.powers)
        self._inverse = _inverse([[_product(point, self.symbols, powers) for powers in self.powers] for point in self.at[:count]])
        self._rounded = [(units, found) for units in self._units() if (found := self._inverse_of_rounded(units))]

    def merged(self, values: tuple[int, ...]) -> Any:
        """A number that is the same everywhere, or "#3" for a polynomial; NoPolynomial where no polynomial says them all."""
        if all(value == values[0] for value in values):
            return values[0]
        if values not in self._known:
            self._known[values] = f"#{len(self.table)}"
            self.table.append(self._polynomial(values))
        return self._known[values]

    def _polynomial(self, values: tuple[int, ...]) -> list[Any]:
        """[divisor, [coefficient, power of each symbol...]...], where [divisor, multiple of each symbol...] rounds the symbols up before."""
        plain = (1,) * len(self.symbols)
        for units, inverse in ((plain, self._inverse), *self._rounded):
            terms = self._terms(values, units, inverse)
            if terms is not None:
                over = lcm(*(Fraction(c).denominator for c, _ in terms))
                return [over if units == plain else [over, *units], *([int(c * over), *powers] for c, powers in terms)]
        raise NoPolynomial("a size is no polynomial of the named dimensions")

    def _terms(self, values: tuple[int, ...], units: Sequence[int], inverse: list[list[Fraction]]) -> list[tuple[Fraction, tuple[int, ...]]] | None:
        """Nothing where they do not say all values. What is rounded is a factor once: that can be checked."""
        count = len(self.powers)
        coefficients = [sum(c * v for c, v in zip(row, values[:count])) for row in inverse]
        terms = [(Fraction(c), powers) for c, powers in zip(coefficients, self.powers) if c]
        if any(power > 1 and unit > 1 for _, powers in terms for power, unit in zip(powers, units)):
            return None
        for point, value in zip(self.at[count:], values[count:]):
            if sum(c * _product(self._up(point, units), self.symbols, powers) for c, powers in terms) != value:
                return None
        return terms

    def _units(self) -> list[tuple[int, ...]]:
        """One symbol rounded up, for each."""
        return [tuple(ALIGNED if at == chosen else 1 for at in range(len(self.symbols))) for chosen in range(len(self.symbols))]

    def _up(self, point: Point, units: Sequence[int]) -> Point:
        return {name: -(-point[name] // unit) * unit for name, unit in zip(self.symbols, units)}

    def _inverse_of_rounded(self, units: Sequence[int]) -> list[list[Fraction]] | None:
        points = [self._up(point, units) for point in self.at[:len(self.powers)]]
        try:
            return _inverse([[_product(point, self.symbols, powers) for powers in self.powers] for point in points])
        except StopIteration:  # points that differ no more
            return None


def _product(point: Point, symbols: Sequence[str], powers: Sequence[int]) -> int:
    result = 1
    for name, power in zip(symbols, powers):
        result *= point[name] ** power
    return result


def _inverse(matrix: list[list[int]]) -> list[list[Fraction]]:
    """By elimination, exact."""
    count = len(matrix)
    rows = [[Fraction(v) for v in row] + [Fraction(i == j) for j in range(count)] for i, row in enumerate(matrix)]
    for column in range(count):
        pivot = next(i for i in range(column, count) if rows[i][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [v / rows[column][column] for v in rows[column]]
        for i in range(count):
            if i != column and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [v - factor * w for v, w in zip(rows[i], rows[column])]
    return [row[count:] for row in rows]


def merged(runs: Sequence[Any], sizes: Sizes) -> Any:
    """Runs of one structure as one, whose numbers are merged; OtherSteps where they differ in anything else."""
    first = runs[0]
    if isinstance(first, bool) or not isinstance(first, (int, list, tuple, dict)):
        if any(run != first for run in runs):
            raise OtherSteps(f"what is {first!r} at one size is not at another")
        return first
    if any(type(run) is not type(first) for run in runs):
        raise OtherSteps("its operators change with the sizes")
    if isinstance(first, int):
        return sizes.merged(tuple(runs))
    if any(len(run) != len(first) for run in runs):
        raise OtherSteps("its operators change with the sizes")
    if isinstance(first, dict):
        return {key: merged([run[key] for run in runs], sizes) for key in first}
    return tuple(merged(one, sizes) for one in zip(*runs))
