"""The package's types hold in mypy, strictly, as pyproject.toml says."""
import importlib.util
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import plimsoll
from support import SOURCE

MYPY = [sys.executable, "-m", "mypy"] if importlib.util.find_spec("mypy") else [shutil.which("mypy")]


@unittest.skipIf(MYPY == [None], "needs mypy")
class Types(unittest.TestCase):
    def test_strict(self):
        # As installed: the keywords' module is made by the build.
        installed = Path(plimsoll.__file__).parent
        checked = subprocess.run([*MYPY, f"--python-executable={sys.executable}", "--cache-dir=/dev/null",
                                  f"--config-file={SOURCE / 'pyproject.toml'}", str(installed)],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
