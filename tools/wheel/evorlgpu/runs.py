"""Runs and sweeps: starting, following and reading them."""

import csv
import json
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, IO, Iterator, List, Mapping, Optional, Union

from . import metrics
from .metrics import PathLike, Record
from .policy import Policy
from .program import EvorlError, call, program

__all__ = ["Picture", "Process", "Run", "Sweep", "run", "start", "start_sweep", "sweep"]


class Picture:
    """An SVG that a notebook shows."""

    def __init__(self, svg: str):
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, file: PathLike) -> None:
        """Writes the picture."""
        Path(file).write_text(self.svg, encoding="utf-8")


def draw(runs: List[str], options: Mapping[str, Any]) -> Picture:
    """What evorl plot draws. options are its flags: metric="evaluation", x="seconds", lineage=True."""
    with tempfile.TemporaryDirectory(prefix="evorlgpu-") as folder:
        file = Path(folder) / "plot.svg"
        call("plot", "--out", str(file), *flags(options), *runs)
        return Picture(file.read_text(encoding="utf-8"))


def flags(options: Mapping[str, Any]) -> List[str]:
    """Flags of the command line: best_episodes=3 is --best-episodes=3, a list is a flag several times, True is a flag, None and False are none."""
    out: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            out.append(flag)
        elif isinstance(value, (list, tuple)):
            out.extend(f"{flag}={one}" for one in value)
        elif value is not None and value is not False:
            out.append(f"{flag}={value}")
    return out


def literal(value: Any) -> str:
    """A value as --set takes it: TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(one) for one in value) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value)


class Run:
    """A run directory, of an active or an ended run."""

    def __init__(self, path: PathLike):
        self.path = Path(path)
        metrics.metrics_file(self.path)  # refuses what is no run

    def __repr__(self) -> str:
        return f"evorlgpu.Run({str(self.path)!r})"

    @property
    def config(self) -> str:
        """The configuration, TOML with all defaults."""
        return (self.path / "config.toml").read_text(encoding="utf-8")

    @property
    def provenance(self) -> Dict[str, Any]:
        """Version, device, driver and seed of the run."""
        with open(self.path / "provenance.json", encoding="utf-8") as file:
            return dict(json.load(file))

    def metrics(self) -> List[Record]:
        """The metrics so far, one record an iteration."""
        return metrics.read_metrics(self.path)

    def frame(self) -> Any:
        """The metrics as a pandas.DataFrame, a row an iteration; pandas must be installed."""
        return metrics.table(self.metrics())

    def follow(self, **options: Any) -> Iterator[Record]:
        """The metrics as they are written: see evorlgpu.follow."""
        return metrics.follow(self.path, **options)

    def evaluate(self, episodes: int = 100, **options: Any) -> Dict[str, Any]:
        """New episodes with the newest checkpoint, as evorl eval has them: mean_return, std_return, member_returns and more. options are its flags."""
        return dict(json.loads(call("eval", "--json", f"--episodes={episodes}", *flags(options), str(self.path))))

    def export(self, file: PathLike, **options: Any) -> None:
        """Writes a policy as ONNX, safetensors or JSON, by the file's suffix. options are the flags of evorl export: member=3, best=True."""
        forms = {".onnx": "onnx", ".safetensors": "safetensors", ".json": "policy"}
        form = forms.get(Path(file).suffix)
        if form is None:
            raise ValueError(f"{file}: want a file that ends in {', '.join(forms)}")
        call("export", f"--{form}", str(file), *flags(options), str(self.path))

    def policy(self, **options: Any) -> Policy:
        """The policy of a member in the newest checkpoint, the best one unless member=N names it. options are the flags of evorl export."""
        with tempfile.TemporaryDirectory(prefix="evorlgpu-") as folder:
            file = Path(folder) / "policy.safetensors"
            self.export(file, **options)
            return Policy.load(file)

    def plot(self, **options: Any) -> Picture:
        """What evorl plot draws of the run, for a notebook. options are its flags."""
        return draw([str(self.path)], options)


class Sweep:
    """The folder of a sweep, or of the repetitions of a run with seeds."""

    def __init__(self, path: PathLike):
        self.path = Path(path)
        if not self.path.is_dir():
            raise FileNotFoundError(f"{self.path} is no folder of a sweep")

    def __repr__(self) -> str:
        return f"evorlgpu.Sweep({str(self.path)!r})"

    def runs(self) -> List[Run]:
        """The runs so far, by name."""
        return [Run(file.parent) for file in sorted(self.path.glob("*/config.toml"))]

    def results(self) -> List[Dict[str, Union[str, float]]]:
        """The table of results.csv, the best trial first, as it is when the sweep ended. Numbers are float."""
        with open(self.path / "results.csv", encoding="utf-8", newline="") as file:
            return [{name: number(text) for name, text in row.items()} for row in csv.DictReader(file)]

    def frame(self) -> Any:
        """The results as a pandas.DataFrame; pandas must be installed."""
        import pandas

        return pandas.DataFrame(self.results())

    def plot(self, **options: Any) -> Picture:
        """What evorl plot draws of the runs. options are its flags."""
        return draw([str(self.path)], options)


def number(text: str) -> Union[str, float]:
    """A number of a table, or the text."""
    try:
        return float(text)
    except ValueError:
        return text


class Process:
    """A run or sweep that evorl is working on. As a context manager it is stopped at the end."""

    def __init__(self, arguments: List[str]):
        self.arguments = arguments
        self.path: Optional[Path] = None  # the folder, as soon as it is known
        self.result: Any = None  # of --json, when it has ended
        self.events: List[Dict[str, Any]] = []  # lines of progress
        self._known = threading.Event()
        self._text: List[str] = []
        # A session of its own: Ctrl-C in a notebook interrupts what waits for the run, and stop() the run.
        own: Dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            own = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
        self._child = subprocess.Popen([program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       encoding="utf-8", errors="replace", **own)
        assert self._child.stdout is not None and self._child.stderr is not None
        self._out: List[str] = []
        self._readers = [
            threading.Thread(target=self._read_events, args=(self._child.stderr,), daemon=True),
            threading.Thread(target=self._read_result, args=(self._child.stdout,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_events(self, lines: IO[str]) -> None:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                self._text.append(line)
                continue
            self.events.append(event)
            if "run_dir" in event and self.path is None:
                self.path = Path(event["run_dir"])
                self._known.set()
        self._known.set()

    def _read_result(self, lines: IO[str]) -> None:
        self._out.extend(lines)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._child.poll() is None

    def folder(self, timeout: Optional[float] = None) -> Path:
        """The run directory, of a sweep that of its first run, when the program has said which; raises EvorlError if it ends before."""
        if not self._known.wait(timeout):
            raise TimeoutError(f"evorl did not begin a run in {timeout} s")
        if self.path is None:
            self.wait()
            raise EvorlError(self.arguments, self._child.returncode, "".join(self._text) or "it began no run")
        return self.path

    def follow(self, callback: Optional[Callable[[Record], None]] = None, interval: float = 1.0) -> Iterator[Record]:
        """Yields the metrics of the run until it ends, and calls a callback with each, such as those of evorlgpu.loggers. A failure is raised at the end."""
        for record in metrics.follow(self.folder(), ended=lambda: not self.running, interval=interval):
            if callback is not None:
                callback(record)
            yield record
        self.wait()

    def stop(self, timeout: float = 60) -> None:
        """Ends it as Ctrl-C does: the run writes a checkpoint, from which start(…, resume=True) goes on. Does nothing if it has ended."""
        if self.running:
            if os.name == "nt":
                self._child.send_signal(signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined]
            else:
                self._child.send_signal(signal.SIGINT)
            try:
                self._child.wait(timeout)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._end()

    def _end(self) -> None:
        """Waits for the child and for what it wrote."""
        self._child.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def wait(self, timeout: Optional[float] = None) -> Any:
        """Waits for the end and returns the result, which evorl --json documents. Raises EvorlError if it failed, subprocess.TimeoutExpired after timeout."""
        self._child.wait(timeout)
        self._end()
        if self._child.returncode != 0:
            raise EvorlError(self.arguments, self._child.returncode, "".join(self._text))
        if self.result is None and self._out:
            self.result = json.loads("".join(self._out).splitlines()[-1])
        return self.result

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def begin(command: str, file: Optional[PathLike], settings: Optional[Mapping[str, Any]], options: Mapping[str, Any]) -> Process:
    """Starts evorl run or evorl sweep."""
    arguments = [command, "--json", "--log-format=json", *flags(options)]
    for key, value in (settings or {}).items():
        arguments += ["--set", f"{key}={literal(value)}"]
    if file is not None:
        arguments.append(str(file))
    return Process(arguments)


def start(config: Optional[PathLike] = None, settings: Optional[Mapping[str, Any]] = None, **options: Any) -> Process:
    """Starts a run of a configuration and returns at once.

    settings are keys of the configuration, such as {"ppo.members": 64}; options are flags of evorl run: out="runs/a", iterations=100, seed=7,
    device="nvidia", resume=True.
    """
    return begin("run", config, settings, options)


def run(config: Optional[PathLike] = None, settings: Optional[Mapping[str, Any]] = None, callback: Optional[Callable[[Record], None]] = None,
        **options: Any) -> Run:
    """Runs a configuration to its end and returns the run. A callback gets the metrics of each iteration, such as those of evorlgpu.loggers. If it is
    interrupted, the run is stopped and has a checkpoint. See start for the arguments."""
    with start(config, settings, **options) as process:
        for _ in process.follow(callback):
            pass
        return Run(process.folder())


def start_sweep(file: Optional[PathLike] = None, **options: Any) -> Process:
    """Starts a sweep and returns at once. options are flags of evorl sweep, among them out, which the folder of the sweep is."""
    return begin("sweep", file, None, options)


def sweep(file: PathLike, out: PathLike, **options: Any) -> Sweep:
    """Runs a sweep to its end and returns it. out is its folder."""
    with start_sweep(file, out=str(out), **options) as process:
        process.wait()
        return Sweep(out)
