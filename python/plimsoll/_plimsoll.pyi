from collections.abc import Sequence

__version__: str

def defaults() -> list[tuple[str, str]]:
    """Flags that a command takes here where none are given, with their texts: of the environment and plimsoll.yaml."""

def run(arguments: Sequence[bytes], /) -> tuple[int, str, list[str]]:
    """A command, run here without the interpreter's lock: exit status, standard output, messages as JSON."""
