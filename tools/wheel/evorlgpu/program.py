"""The program evorl: where it is, and calling it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Sequence

__all__ = ["EvorlError", "call", "main", "program", "version"]


class EvorlError(RuntimeError):
    """A call of evorl failed. status is its exit status: 2 for a wrong command line or configuration, 1 for a failure at run time."""

    def __init__(self, arguments: Sequence[str], status: int, text: str):
        super().__init__(f"evorl {' '.join(arguments)}: status {status}\n{text.strip()}")
        self.arguments = list(arguments)
        self.status = status
        self.text = text


def program() -> str:
    """The path of the program: $EVORL_PROGRAM, else the one in this package, else evorl of the PATH."""
    named = os.environ.get("EVORL_PROGRAM")
    if named:
        if not Path(named).is_file():
            raise FileNotFoundError(f"EVORL_PROGRAM is {named}, which is no file; want the program evorl")
        return named
    inside = Path(__file__).parent / "bin" / ("evorl.exe" if os.name == "nt" else "evorl")
    if inside.is_file():
        return str(inside)
    found = shutil.which("evorl")
    if found is None:
        raise FileNotFoundError("there is no program evorl: not in this package, which was not installed from a wheel, nor on the PATH; "
                                "want one of them, or its path in EVORL_PROGRAM")
    return found


def call(*arguments: str) -> str:
    """Calls evorl and returns its standard output. Raises EvorlError if it fails."""
    done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        raise EvorlError(arguments, done.returncode, done.stderr)
    return done.stdout


def version() -> str:
    """The version of the program."""
    return call("--version").strip()


def main() -> int:
    """The console command evorlgpu: the program, with the arguments of this process."""
    command: List[str] = [program(), *sys.argv[1:]]
    if os.name != "nt":
        os.execv(command[0], command)
    child = subprocess.Popen(command)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # of the console, which the program gets too
            continue


if __name__ == "__main__":
    sys.exit(main())
