"""The notebook of the documentation runs, cell by cell. It needs pandas, numpy and Gymnasium, and the program in EVORL_TEST_PROGRAM."""

import contextlib
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    import gymnasium  # noqa: F401
    import pandas  # noqa: F401
except ImportError as missing:
    raise unittest.SkipTest(f"{missing}; EVORL_BRIDGE_PYTHON names a Python that has pandas and Gymnasium")
if "EVORL_TEST_PROGRAM" not in os.environ:
    raise unittest.SkipTest("EVORL_TEST_PROGRAM names no program")
os.environ["EVORL_PROGRAM"] = os.environ["EVORL_TEST_PROGRAM"]

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "examples" / "python" / "evorl.ipynb"


@contextlib.contextmanager
def folder():
    """A working folder of its own."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as path:
        os.chdir(path)
        try:
            yield
        finally:
            os.chdir(before)


class TestNotebook(unittest.TestCase):
    def test_cells(self):
        names = {}
        with folder():
            for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            self.assertEqual(len(names["frame"]), 20)
            self.assertGreater(names["played"], 30)


if __name__ == "__main__":
    unittest.main()
