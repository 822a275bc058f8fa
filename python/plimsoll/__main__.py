"""`python -m plimsoll ARGS...` is the command `plimsoll ARGS...`."""
import os
import sys

from ._command import command

if __name__ == "__main__":
    os.execv(command(), ["plimsoll", *sys.argv[1:]])
