"""Tests of what needs the standard library alone. A script stands for the program."""

import math
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import evorlgpu  # noqa: E402
from evorlgpu import loggers, metrics, runs  # noqa: E402

PROGRAM = """
import json, os, signal, sys, time
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("evorl version v9")
elif arguments[0] == "run" and arguments[-1] == "wrong.toml":
    print("wrong.toml:1:1: unknown key", file=sys.stderr)
    sys.exit(2)
elif arguments[0] == "run":
    folder = [a[6:] for a in arguments if a.startswith("--out=")][0]
    os.makedirs(folder)
    open(os.path.join(folder, "config.toml"), "w").close()
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    print(json.dumps({"event": "run", "run_dir": folder}), file=sys.stderr, flush=True)
    n = 10**6 if "long.toml" in arguments else 5
    with open(os.path.join(folder, "metrics.jsonl"), "w") as file:
        for i in range(1, n + 1):
            file.write(json.dumps({"iteration": i, "env_steps": 10 * i, "loss": "NaN" if i == 2 else i / 2}) + "\\n")
            file.flush()
            time.sleep(0.02)
            if stopped:
                sys.exit(130)
    print(json.dumps({"run_dir": folder, "iterations": n}))
elif arguments[0] == "export":
    print(json.dumps(arguments))
elif arguments[0] == "eval":
    print(json.dumps({"mean_return": 3, "arguments": arguments}))
elif arguments[0] == "plot":
    open(arguments[2], "w").write("<svg>" + " ".join(arguments[3:]) + "</svg>")
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        program = self.folder / "evorl"
        program.write_text(f"#!{sys.executable}\n{PROGRAM}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        before = os.environ.get("EVORL_PROGRAM")
        os.environ["EVORL_PROGRAM"] = str(program)

        def restore():
            if before is None:
                del os.environ["EVORL_PROGRAM"]
            else:
                os.environ["EVORL_PROGRAM"] = before

        self.addCleanup(restore)

    def run_folder(self, lines=""):
        folder = self.folder / "r"
        folder.mkdir()
        (folder / "config.toml").write_text("iterations = 3\n")
        (folder / "metrics.jsonl").write_text(lines)
        return folder


class TestProgram(Case):
    def test_calls(self):
        self.assertEqual(evorlgpu.version(), "evorl version v9")
        self.assertEqual(subprocess.run([sys.executable, "-m", "evorlgpu", "--version"], cwd=Path(__file__).resolve().parent.parent,
                                        stdout=subprocess.PIPE, check=True).stdout.decode().strip(), "evorl version v9")

    def test_missing(self):
        os.environ["EVORL_PROGRAM"] = str(self.folder / "nothing")
        with self.assertRaisesRegex(FileNotFoundError, "which is no file"):
            evorlgpu.program()


class TestMetrics(Case):
    def test_reads_what_is_whole(self):
        folder = self.run_folder('{"iteration": 1, "loss": "-Infinity"}\n{"iteration": 2, "loss": 0.5}\n{"iterat')
        records = evorlgpu.read_metrics(folder)
        self.assertEqual(records, [{"iteration": 1, "loss": -math.inf}, {"iteration": 2, "loss": 0.5}])
        self.assertIsInstance(records[0]["iteration"], int)
        with self.assertRaisesRegex(FileNotFoundError, "no run directory"):
            evorlgpu.read_metrics(self.folder)

    def test_follows_a_file_that_grows_and_begins_anew(self):
        folder, lines = self.run_folder(), []
        over = threading.Event()

        def write():
            file = folder / "metrics.jsonl"
            for i in (1, 2, 3):
                with open(file, "a") as out:
                    out.write('{"iteration": %d, ' % i)
                    out.flush()
                    time.sleep(0.03)  # half a line
                    out.write('"loss": 1}\n')
            time.sleep(0.1)
            file.write_text('{"iteration": 2, "loss": 2}\n')  # resumed from iteration 1
            time.sleep(0.1)
            with open(file, "a") as out:
                out.write('{"iteration": 3, "loss": 2}\n{"iteration": 4, "loss": 2}\n')
            over.set()

        writer = threading.Thread(target=write)
        writer.start()
        for record in evorlgpu.follow(folder, ended=over.is_set, interval=0.01):
            lines.append(record["iteration"])
        writer.join()
        self.assertEqual(lines, [1, 2, 3, 4])

    def test_timeout(self):
        folder = self.run_folder('{"iteration": 1}\n')
        begin = time.monotonic()
        self.assertEqual(len(list(evorlgpu.follow(folder, timeout=0.2, interval=0.05))), 1)
        self.assertGreater(time.monotonic() - begin, 0.2)
        self.assertEqual(len(list(evorlgpu.follow(folder))), 1)


class TestRuns(Case):
    def test_run_to_its_end(self):
        seen = []
        run = evorlgpu.run("a.toml", {"ppo.members": 3}, callback=seen.append, out=str(self.folder / "r"))
        self.assertEqual([r["iteration"] for r in seen], [1, 2, 3, 4, 5])
        self.assertEqual(len(run.metrics()), 5)
        self.assertTrue(math.isnan(run.metrics()[1]["loss"]))

    def test_result_and_arguments(self):
        with evorlgpu.start("a.toml", {"a.b": 0.5, "c": "x\"y", "d": True, "e": [1, 2]}, out=str(self.folder / "r"), seed=7, quiet=False) as process:
            self.assertEqual(process.wait(20)["iterations"], 5)
        self.assertEqual(process.arguments, ["run", "--json", "--log-format=json", f"--out={self.folder / 'r'}", "--seed=7", "--set", "a.b=0.5",
                                             "--set", 'c="x\\"y"', "--set", "d=true", "--set", "e=[1, 2]", "a.toml"])

    def test_failure(self):
        with self.assertRaisesRegex(evorlgpu.EvorlError, "unknown key") as caught:
            evorlgpu.run("wrong.toml", out=str(self.folder / "r"))
        self.assertEqual(caught.exception.status, 2)

    def test_stop(self):
        process = evorlgpu.start("long.toml", out=str(self.folder / "r"))
        self.assertEqual(process.folder(20), self.folder / "r")
        for record in process.follow(interval=0.01):
            if record["iteration"] == 3:
                break
        process.stop()
        self.assertFalse(process.running)
        with self.assertRaises(evorlgpu.EvorlError) as caught:
            process.wait()
        self.assertEqual(caught.exception.status, 130)

    def test_commands_of_a_run(self):
        run = evorlgpu.Run(self.run_folder())
        self.assertEqual(run.config, "iterations = 3\n")
        self.assertEqual(run.evaluate(5, member=1)["arguments"], ["eval", "--json", "--episodes=5", "--member=1", str(run.path)])
        self.assertEqual(run.plot(metric="loss", label=["a", "b"])._repr_svg_(), f"<svg>--metric=loss --label=a --label=b {run.path}</svg>")
        with self.assertRaisesRegex(ValueError, "onnx"):
            run.export("policy.pt")
        with self.assertRaises(FileNotFoundError):
            evorlgpu.Run(self.folder)

    def test_sweep(self):
        folder = self.folder / "s"
        for name in ("trial-1", "trial-0"):
            (folder / name).mkdir(parents=True)
            (folder / name / "config.toml").touch()
        (folder / "results.csv").write_text("trial,method,score\n1,ppo,3.5\n")
        sweep = evorlgpu.Sweep(folder)
        self.assertEqual([run.path.name for run in sweep.runs()], ["trial-0", "trial-1"])
        self.assertEqual(sweep.results(), [{"trial": 1.0, "method": "ppo", "score": 3.5}])


class TestLoggers(Case):
    def test_loggers(self):
        logged = []

        class Client:
            def log(self, values, step):
                logged.append((step, values))

            log_metrics = log

        record = {"iteration": 4, "loss": math.nan, "return/mean": 2.0}
        loggers.wandb(Client())(record)
        loggers.mlflow(Client())(record)
        self.assertEqual(logged[1], (4, {"return/mean": 2.0}))
        self.assertEqual(logged[0][0], 4)
        self.assertEqual(set(logged[0][1]), {"loss", "return/mean"})
        with self.assertRaises(ValueError):
            loggers.wandb(Client(), project="a")


class TestLiterals(unittest.TestCase):
    def test_flags(self):
        self.assertEqual(runs.flags({"best_episodes": 3, "best": True, "quiet": False, "seed": None, "set": ["a=1", "b=2"]}),
                         ["--best-episodes=3", "--best", "--set=a=1", "--set=b=2"])
        self.assertEqual(runs.literal(1e-3), "0.001")
        self.assertEqual(metrics.parse('{"iteration": 1, "a": "Infinity"}')["a"], math.inf)


if __name__ == "__main__":
    unittest.main()
