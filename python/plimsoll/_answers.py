"""What the command answers, as objects. Every figure is the command's own; nothing is worked out here."""
from __future__ import annotations

import html
import json
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ._command import Diagnostic, Said, run

Json = dict[str, Any]


class Answer:
    """An answer of the command: its JSON, and the report that goes with it."""

    def __init__(self, arguments: Sequence[str], said: Said, kept: object = None) -> None:
        self._arguments = arguments
        self._said = said
        self._kept = kept  # a model's file, which lives as long as this

    def to_json(self) -> str:
        """As `plimsoll ... --json` prints it, in the form of `plimsoll schema`."""
        return self._said.output

    def to_dict(self) -> Json:
        answer: Json = json.loads(self.to_json())  # anew, so that nobody changes it here
        return answer

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Notes and warnings."""
        return self._said.diagnostics

    def to_html(self) -> str:
        """The report, a page of its own (`--html`); asks the command again."""
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            run(*self._arguments, f"--html={page}")
            return page.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """A cell of a notebook, drawn from the answer at hand; `to_html()` is the whole report."""
        return table_of(repr(self), self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        """Of the cell's table, its head first."""
        return []

    @cached_property
    def _result(self) -> Json:
        result: Json = self.to_dict()["result"]
        return result

    def __repr__(self) -> str:
        return f"<plimsoll {' '.join(self._arguments)}: status {self._said.status}>"


def table_of(title: str, rows: Sequence[Sequence[str]]) -> str:
    """A title over a table whose first row is its head."""
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    lines = [line(row, "td" if at else "th") for at, row in enumerate(rows)]
    return f"<p>{html.escape(title.strip('<>'))}</p><table>{''.join(lines)}</table>"


def _gib(count: float) -> str:
    return f"{count / 2**30:.2f} GiB"


class Estimate(Answer):
    """What a training step takes of a GPU, and how long it runs."""

    @property
    def fits(self) -> bool | None:
        """Whether the point estimate does; `verdict` looks at its whole range. None: not known (gpu="cpu")."""
        return None if self._result["fits"] is None else bool(self._result["fits"])

    @property
    def may_fit(self) -> bool | None:
        return None if self._result["may_fit"] is None else bool(self._result["may_fit"])

    @property
    def verdict(self) -> str | None:
        """"fits", "may_fit" or "does_not_fit"; None: not known."""
        return None if self._result["verdict"] is None else str(self._result["verdict"])

    @property
    def device_bytes(self) -> int:
        """Device memory of the process, as the driver shows it."""
        return int(self._result["memory"]["device_bytes"])

    @property
    def device_range_bytes(self) -> tuple[int, int]:
        low, high = self._result["memory"]["device_range_bytes"]
        return low, high

    @property
    def live_peak_bytes(self) -> int:
        return int(self._result["memory"]["live_peak_bytes"])

    @property
    def parameters(self) -> int:
        """How many."""
        return int(self._result["memory"]["parameters"]["count"])

    @property
    def step_seconds(self) -> float | None:
        """None: not known, of a run on the host."""
        time = self._result["time"]
        return None if time is None else float(time["step_ns"] / 1e9)

    @property
    def step_range_seconds(self) -> tuple[float, float] | None:
        time = self._result["time"]
        if time is None:
            return None
        low, high = time["step_range_ns"]
        return low / 1e9, high / 1e9

    @property
    def samples_per_second(self) -> float | None:
        time = self._result["time"]
        return None if time is None else float(time["samples_per_second"])

    def _rows(self) -> list[tuple[str, ...]]:
        memory = self._result["memory"]
        low, high = self.device_range_bytes
        by_role = sorted(memory["peak"]["by_role"].items(), key=lambda row: -row[1])
        return [("memory", ""), ("of the process", f"{_gib(self.device_bytes)} ({_gib(low)} to {_gib(high)})"),
                *((role.replace("_", " ") + " at the peak", _gib(count)) for role, count in by_role if count)]

    def __repr__(self) -> str:
        seconds = self.step_seconds
        pace = "" if seconds is None else f", {1e3 * seconds:.4g} ms a step"
        return (f"<plimsoll.Estimate {self.verdict or 'not judged'} on {self._result['device']['id']}: "
                f"{self.device_bytes / 2**30:.2f} GiB{pace}>")


class MaxBatch(Answer):
    """The largest batch, or sequence or image, that fits."""

    @property
    def safe(self) -> int:
        """0 where none is."""
        return int(self._result["safe"])

    @property
    def may_fit(self) -> tuple[int, int]:
        """First and last that may fit; both `safe` where there is no doubt."""
        first, last = self._result["may_fit"]
        return first, last

    @property
    def points(self) -> list[Json]:
        points: list[Json] = self._result["points"]
        return points

    def __int__(self) -> int:
        return self.safe

    def _rows(self) -> list[tuple[str, ...]]:
        return [("batch", "memory"), *((str(point["batch"]), _gib(point["device_bytes"])) for point in self.points)]

    def __repr__(self) -> str:
        return f"<plimsoll.MaxBatch safe {self.safe}, may fit {self.may_fit}>"


class Comparison(Answer, Sequence):  # type: ignore[type-arg]
    """Estimates of every model on every GPU, models first."""

    def __init__(self, arguments: Sequence[str], said: Said, kept: object, each: Sequence[Sequence[str]]) -> None:
        super().__init__(arguments, said, kept)
        self._each = [Estimate(asked, Said(0 if one["result"]["fits"] else 1, json.dumps(one), said.diagnostics), kept)
                      for asked, one in zip(each, json.loads(said.output))]

    def to_dict(self) -> Any:
        """A list of estimates."""
        return super().to_dict()

    def __len__(self) -> int:
        return len(self._each)

    def _rows(self) -> list[tuple[str, ...]]:
        return [("model", "GPU", "answer"), *((one.to_dict()["input"]["model"], one.to_dict()["result"]["device"]["id"], repr(one).strip("<>"))
                                              for one in self._each)]

    def __getitem__(self, at: Any) -> Any:
        return self._each[at]
