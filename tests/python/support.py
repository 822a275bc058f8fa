"""What tests of the package share."""
import gzip
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).parent / "plimsoll"  # the wheel's own


def command(*arguments):
    """(status, standard output) of the command."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def unpacked(packed, folder):
    """Path of a golden, unpacked into `folder`."""
    path = Path(folder) / packed.name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return os.fspath(path)
