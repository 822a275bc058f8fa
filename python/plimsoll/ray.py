"""Sweeps on a Ray cluster: many machines compute what `plimsoll sweep` prints and writes, byte for byte.

    python -m plimsoll.ray plan.yaml --json --out swept.jsonl
    python -m plimsoll.ray plan.yaml --json --resume swept.jsonl --address ray://head:10001

Options are those of `plimsoll sweep`. `--address` names a running cluster (else RAY_ADDRESS, else Ray starts on this
machine). `--shards` is the number of parts that the sweep is divided into. Plan and models must have the same path on
every machine. If a worker dies, another one computes its part.
"""
from __future__ import annotations

import argparse
import contextlib
import fcntl
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ._command import Error, MissingError, command, run

_SHARDS_PER_CPU = 4  # so that none waits long for the slowest
_BEGINS = (b'{"schema":"plimsoll.sweep-log"', b'{"configuration":')  # lines of such a file


class _Refused(Exception):
    """A shard has no answer: the command's exit status and message."""


def _shard(folder: str, arguments: Sequence[str], part: str, known: bytes) -> tuple[int, str]:
    """0 and the lines of one shard, or the exit status and why. What is in `known` is not worked out again."""
    os.chdir(folder)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "known.jsonl"
        if known:
            log.write_bytes(known)
        log_flag = f"--resume={log}" if known else f"--out={log}"
        try:
            said = run("sweep", *arguments, "--json", "--threads=1", "--progress=never", f"--shard={part}", log_flag)
        except Error as error:
            return error.status, str(error)
        with open(log, encoding="utf-8") as lines:
            origin = lines.readline()  # what the answers rest on
    return 0, origin + "".join(said.output.splitlines(keepends=True)[:-1])  # without the shard's own sum


def _shards(arguments: Sequence[str], known: bytes, address: str | None, shards: int | None) -> Iterator[str]:
    """The lines of all shards, in their order."""
    try:
        import ray
    except ImportError as missing:
        raise _Refused(MissingError.status, "Ray is not installed: pip install ray") from missing

    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        count = shards or max(1, int(_SHARDS_PER_CPU * ray.cluster_resources().get("CPU", 1)))
        # A worker that dies, or its machine, is no fault of the shard: it is tried again, without an end.
        remote: Any = ray.remote(num_cpus=1, max_retries=-1)(_shard)
        text = ray.put(known)
        waiting = [remote.remote(os.getcwd(), list(arguments), f"{part}/{count}", text) for part in range(1, count + 1)]
        for done, answer in enumerate(waiting, 1):
            status, lines = ray.get(answer)
            if status != 0:
                raise _Refused(status, lines)
            yield lines
            if sys.stderr.isatty():
                print(f"\r\x1b[Kswept {done} of {count} shards", end="" if done < count else "\r\x1b[K", file=sys.stderr)
    finally:
        if started:
            ray.shutdown()


def _whole_lines(log: BinaryIO) -> bytes:
    """What a file of records holds; a line that was cut off is cut away, where it is one of ours."""
    text = log.read()
    end = text.rfind(b"\n") + 1
    torn = text[end:]
    if torn and not any(torn.startswith(begin) or begin.startswith(torn) for begin in _BEGINS):
        raise _Refused(3, f"{log.name}: its last line is not one of a sweep; the file is unchanged")
    if text[:end] and not text.startswith(_BEGINS[0]):
        raise _Refused(3, f"{log.name}: its first line is not one of a sweep; the file is unchanged")
    log.truncate(end)
    log.seek(end)
    return text[:end]


def _fill(path: Path, arguments: Sequence[str], address: str | None, shards: int | None) -> None:
    """Appends to the file what it lacks, a shard at a time, in the order of the command."""
    with open(path, "r+b") as log:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        known = _whole_lines(log)
        there = set(known.splitlines())
        for lines in _shards(arguments, known, address, shards):
            new = [line for line in lines.encode().splitlines() if line not in there]
            there.update(new)
            log.write(b"".join(line + b"\n" for line in new))
            log.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m plimsoll.ray", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("--address", help="of a Ray cluster that runs")
    parser.add_argument("--shards", type=int, help="parts that the sweep is cut into [4 for each CPU]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a new file that the lines are added to, a shard at a time")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="goes on with such a file, and adds to it")
    own, flags = parser.parse_known_args(arguments)
    if own.out and own.resume:
        parser.error("--out starts a file and --resume goes on with one: name one of them")
    with tempfile.TemporaryDirectory() as scratch:
        log: Path = own.resume or own.out or Path(scratch) / "swept.jsonl"
        if own.out and own.out.exists():
            parser.error(f"{own.out} exists: --resume {own.out} continues it")
        log.touch()
        # What shapes the answer, and nothing that shapes a record.
        shape = ("--json", "--count-only", "--dry-run", "--html", "--emit", "--emit-to", "--force", "--threads", "--progress")
        try:
            if "--dry-run" not in flags:
                # What Ray has to say of machines that die is not the answer.
                with contextlib.redirect_stdout(sys.stderr):
                    _fill(log, [own.plan, *_without(flags, shape)], own.address, own.shards)
        except _Refused as refused:
            status, message = refused.args
            print(message, file=sys.stderr)
            return int(status)
        # The command has nothing left to work out but the last record, which tells whether all of it is this sweep's.
        return subprocess.run([command(), "sweep", own.plan, *flags, f"--resume={log}"], check=False).returncode


def _without(flags: Sequence[str], names: Sequence[str]) -> list[str]:
    """The flags but for some, with their values."""
    switches = ("--json", "--count-only", "--dry-run", "--force")
    kept: list[str] = []
    dropped = False  # the flag before, whose value comes next
    for flag in flags:
        if dropped and not flag.startswith("--"):
            dropped = False
            continue
        name = flag.partition("=")[0]
        dropped = name in names and name not in switches and "=" not in flag
        if name not in names:
            kept.append(flag)
    return kept


if __name__ == "__main__":
    sys.exit(main())
