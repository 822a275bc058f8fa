"""A folder for what a model writes, which goes when the model does."""
from __future__ import annotations

import shutil
import tempfile
import weakref
from typing import Any


def folder_of(owner: Any) -> str:
    """Nobody has to close it, and nobody is warned (a TemporaryDirectory warns whom it is dropped by)."""
    folder = tempfile.mkdtemp(prefix="plimsoll-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder
