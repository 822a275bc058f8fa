"""The command, asked from Python: keyword arguments become its flags, its messages exceptions and warnings."""
from __future__ import annotations

import difflib
import json
import os
import sysconfig
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Union, get_type_hints

from . import _plimsoll
from ._flags import Flags


@dataclass(frozen=True)
class Diagnostic:
    """A message of the command. `plimsoll explain CODE` tells more of it."""

    code: str
    severity: str  # "note", "warning" or "error"
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    node: str | None = None
    help: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        lines = [f"{place}: " * bool(place) + self.message + f" [{self.code}]"]
        lines += [f"  at {self.node}"] * bool(self.node) + [f"  {self.help}"] * bool(self.help)
        return "\n".join(lines)


class PlimsollWarning(UserWarning):
    """What makes an answer doubtful. `strict=True` makes an error of it."""


class Error(Exception):
    """No answer. `code`, `message`, `file`, `line`, `node` and `help` are those of its first error."""

    status = 70

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        errors = [d for d in self.diagnostics if d.severity == "error"]
        super().__init__("\n".join(map(str, errors)))
        first = errors[0] if errors else Diagnostic("E901", "error", "no answer and no reason")
        self.code, self.message, self.help = first.code, first.message, first.help
        self.file, self.line, self.node = first.file, first.line, first.node

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics,)  # pools and clusters send it from process to process


class UsageError(Error, ValueError):
    """An argument is not as it should be."""

    status = 2


class InputError(Error, ValueError):
    """The model, or another file that was read."""

    status = 3


class MissingError(Error, OSError):
    """What this machine lacks: a file, a card, a library."""

    status = 4


class LimitError(Error):
    """More than a limit allows: of reading, of configurations, of memory."""

    status = 5


class Bug(Error, RuntimeError):
    """A fault of Plimsoll's own; please report it."""


_ERRORS: dict[int, type[Error]] = {kind.status: kind for kind in (UsageError, InputError, MissingError, LimitError)}
_INTERRUPTED = 130


@dataclass(frozen=True)
class Said:
    status: int  # 0 yes, 1 no
    output: str
    diagnostics: tuple[Diagnostic, ...]


def text_of(value: object, name: str = "a value") -> str:
    """A value as a flag takes it."""
    if isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{name}: bytes are not supported, use text")
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "item"):  # numpy's
        value = value.item()
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, (int, float)):
        raise TypeError(f"{name} takes text or a number, not {type(value).__name__}")
    return repr(value) if isinstance(value, float) else str(value)


_WHOLE = (str, bytes, bytearray, os.PathLike)  # iterable, and yet one value

# Switches that only some verbs have; those that they share are typed in Flags.
_OWN_SWITCHES = frozenset({"allow_skipped", "ask_cudnn", "force", "memory_only", "source_machines"})


@cache
def _switches() -> frozenset[str]:
    return _OWN_SWITCHES | {name for name, kind in get_type_hints(Flags).items() if kind is bool}


@cache
def _kind(name: str) -> Any:
    return get_type_hints(Flags).get(name)


def _switch(name: str, flag: str, value: object) -> list[str]:
    if hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, bool):
        raise TypeError(f"{name} takes True or False, not {value!r}")
    return [flag] * value


def flags_of(keywords: Mapping[str, Any]) -> list[str]:
    """{"optimizer": "adamw", "dim": {"sequence": 512}, "compile": True} as the command line has it.

    None is a keyword that was not given. TypeError for a value that no flag takes.
    """
    arguments = []
    for keyword, value in keywords.items():
        name = keyword.rstrip("_")
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if getattr(value, "ndim", None) == 0:  # one number of numpy's or torch's
            value = value.item()
        if name in _switches() or (isinstance(value, bool) and _kind(name) == Union[str, int, bool]):
            arguments += _switch(name, flag, value)
        elif isinstance(value, bool) and _kind(name) not in (None, str):
            raise TypeError(f"{name} takes {'a number' if _kind(name) is int else 'text or a number'}, not {value}")
        elif isinstance(value, Mapping):
            arguments += [f"{flag}={key}={text_of(of, name)}" for key, of in value.items()]
        elif isinstance(value, Iterable) and not isinstance(value, _WHOLE):
            arguments += [f"{flag}={text_of(one, name)}" for one in value]
        else:
            arguments.append(f"{flag}={text_of(value, name)}")
    return arguments


def texts_of(name: str, value: object) -> list[str]:
    """A keyword's value as its flag's texts; of a switch one without letters."""
    if name in _switches():
        return [""] * bool(value)
    if isinstance(value, Iterable) and not isinstance(value, _WHOLE):
        return [text_of(one, name) for one in value]
    return [text_of(value, name)]


def settings_of(model: object) -> dict[str, Any]:
    """Keywords that a model of from_torch() brings."""
    return dict(getattr(model, "settings", {}))


def asked(model: object, flags: Mapping[str, Any], swept: Mapping[str, Iterable[Any]] | None = None) -> tuple[str, dict[str, Any]]:
    """The file that answers a question with these keywords, and all of them. A module is recorded for the training that they name.
    `swept`: keywords with the values that each takes in turn."""
    given = {**settings_of(model), **flags}
    answering = getattr(model, "answering", None)
    if answering is None:
        return text_of(model), given
    file, keywords = answering(given, swept or {})
    return file, keywords


def recorded_for(model: object) -> frozenset[str]:
    """Keywords that a model is recorded anew for."""
    names: frozenset[str] = getattr(model, "recorded_for", frozenset())
    return names


def known(flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keywords that verbs share; a UsageError names one that is none of them."""
    names = get_type_hints(Flags)
    for name in flags:
        if name.rstrip("_") not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise UsageError([Diagnostic("E101", "error", f"unknown keyword {name}" + "".join(f"; did you mean {one}?" for one in near))])
    return flags


def defaults() -> dict[str, Any]:
    """Keywords that hold where none are given, as texts: of PLIMSOLL_* and plimsoll.yaml."""
    return {flag.replace("-", "_"): text for flag, text in _plimsoll.defaults()}


def command() -> str:
    """Where the wheel put the command."""
    return os.path.join(sysconfig.get_path("scripts"), "plimsoll")


def run(verb: str, *arguments: str) -> Said:
    """The verb's answer; raises where there is none, warns where it is doubtful."""
    status, output, messages = _plimsoll.run([os.fsencode(a) for a in (verb, *arguments)])
    if status == _INTERRUPTED:
        raise KeyboardInterrupt
    diagnostics = tuple(Diagnostic(**json.loads(message)) for message in messages)
    if status not in (0, 1):
        raise _ERRORS.get(status, Bug)(diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warnings.warn(str(diagnostic), PlimsollWarning, stacklevel=3)
    return Said(status, output, diagnostics)
