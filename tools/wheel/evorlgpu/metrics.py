"""The metrics of a run: metrics.jsonl, one line of JSON an iteration. Needs the standard library alone."""

import json
import os
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

__all__ = ["Record", "follow", "read_metrics"]

#: Metrics of an iteration, by name. iteration and env_steps are int, everything else float.
Record = Dict[str, Union[int, float]]

PathLike = Union[str, "os.PathLike[str]"]


def parse(line: str) -> Record:
    """One line of metrics.jsonl. Values that are not finite are the strings NaN, Infinity and -Infinity."""
    record: Record = {}
    for name, value in json.loads(line).items():
        record[name] = float(value) if isinstance(value, str) else value
    return record


def metrics_file(run: PathLike) -> Path:
    """The file of a run directory."""
    folder = Path(run)
    if not (folder / "config.toml").is_file():
        raise FileNotFoundError(f"{folder} is no run directory: it has no config.toml")
    return folder / "metrics.jsonl"


def read_metrics(run: PathLike) -> List[Record]:
    """The metrics of a run directory, one record an iteration. Of an active run, a line that is being written is left out."""
    file = metrics_file(run)
    if not file.exists():
        return []
    with open(file, encoding="utf-8") as lines:
        return [parse(line) for line in lines if line.endswith("\n")]


def follow(run: PathLike, ended: Optional[Callable[[], bool]] = None, interval: float = 1.0, timeout: Optional[float] = None) -> Iterator[Record]:
    """Yields the metrics of a run from its first iteration on, as they are written.

    It ends when ended() is true and everything is read; without ended, after timeout seconds without a new line, and without both when everything that is
    there is read. A run that is resumed from an earlier checkpoint writes its file anew from there: only iterations that are new are yielded.
    """
    if interval <= 0:
        raise ValueError(f"interval is {interval}; want more than 0 seconds")
    file = Path(run) / "metrics.jsonl"
    at, newest, last = 0, 0, time.monotonic()
    while True:
        over = ended() if ended is not None else timeout is None
        size = file.stat().st_size if file.exists() else 0
        if size < at:
            at = 0
        if size > at:
            with open(file, "rb") as lines:
                lines.seek(at)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    at += len(line)
                    last = time.monotonic()
                    record = parse(line.decode("utf-8"))
                    if record["iteration"] > newest:
                        newest = int(record["iteration"])
                        yield record
        if over or ended is None and timeout is not None and time.monotonic() - last > timeout:
            return
        time.sleep(interval)


def table(records: List[Record]) -> Any:
    """Records as a pandas frame: a row an iteration, which is the index."""
    import pandas  # only here: everything else works without

    frame = pandas.DataFrame(records)
    return frame.set_index("iteration") if len(frame) else frame
