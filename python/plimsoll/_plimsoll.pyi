from collections.abc import Sequence

__version__: str

def run(arguments: Sequence[bytes], /) -> tuple[int, str, list[str]]:
    """A command, run here without the interpreter's lock: exit status, standard output, messages as JSON."""
