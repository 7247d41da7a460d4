#!/usr/bin/env python3
"""Learning curves of hybrids beside their parts: runs of configs/curves, two at a time, until each has taken its steps, and their figures.

    nice -n 12 python tools/curves/curves.py run             # into runs/curves; what is complete is skipped, what is not begins anew
    python tools/curves/curves.py figures                    # pictures in docs, tables on standard output

Beside every run, processor.csv has its processor time against wall time. For figures at equal processor time, copies of the runs have that in the
place of seconds, from the end of the first iteration, so that start-up and compilation do not count.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
from bisect import bisect_right
from fnmatch import fnmatch
from pathlib import Path

MEMBERS = 5  # of a run: seeds
ROBOTS = {"Hopper-v5": [], "HalfCheetah-v5": [], "Swimmer-v5": ["td3.discount=0.999"]}
METHODS = {"erl": 1, "cem-rl": 1, "td3": 1, "ga": 3, "cem": 3}  # steps, in units of --steps
LABELS = {"erl": "ERL", "cem-rl": "CEM-RL", "td3": "TD3", "ga": "genetic algorithm", "cem": "cross-entropy method"}
SHORT = {  # settings on Hopper-v5, whose episodes are short: fewer updates an iteration, more iterations between evaluations
    "erl": ["td3.rollout_length=200", "td3.updates_per_step=2", "evaluation.every=10"],
    "cem-rl": ["td3.rollout_length=200", "td3.updates_per_step=0.5", "evaluation.every=10"],
    "td3": [], "ga": ["evaluation.every=10"], "cem": ["evaluation.every=10"],
}
COUNTS = {  # of updates, on Hopper-v5
    "erl-iteration": ("erl", ["erl.updates=iteration", "td3.updates_per_step=0.33"]),
    "erl-run": ("erl", ["erl.updates=run", "td3.updates_per_step=0.01"]),
    "cem-rl-iteration": ("cem-rl", ["cem-rl.updates=iteration", "td3.updates_per_step=0.1"]),
}
TICK = os.sysconf("SC_CLK_TCK")


def studies(steps):
    """Name, configuration, settings and steps a seed of every run."""
    for env, settings in ROBOTS.items():
        for method, share in METHODS.items():
            of = SHORT[method] if env == "Hopper-v5" else settings if method in ("erl", "cem-rl", "td3") else []
            yield f"{env}/{method}", method, [f"env={env}", *of], share * steps
    for name, (method, settings) in COUNTS.items():
        yield f"Hopper-v5/{name}", method, ["env=Hopper-v5", *SHORT[method], *settings], steps


class Run:
    """A run in progress, with its processor time, which ends when enough(run)."""

    def __init__(self, evorl, folder, config, settings, enough):
        self.folder, self.enough, self.begun = folder, enough, time.time()
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        command = [evorl, "run", "--quiet", "--out", str(folder), *(x for s in settings for x in ("--set", s)), config]
        self.process = subprocess.Popen(command, stderr=open(f"{folder}.log", "w"), stdout=subprocess.DEVNULL)
        self.samples, self.asked = [], False

    def poll(self):
        """Samples the processor time; reports whether the run has ended, which it is asked to when it is enough."""
        if self.process.poll() is not None:
            if self.samples and self.enough(self):
                (self.folder / "processor.csv").write_text("".join(f"{wall:.2f},{processor:.2f}\n" for wall, processor in self.samples))
            else:
                print(f"{self.folder}: status {self.process.returncode}, see {self.folder}.log", flush=True)
            return True
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        self.samples.append((time.time() - self.begun, (int(fields[11]) + int(fields[12])) / TICK))
        if not self.asked and self.enough(self):
            self.asked = True
            self.process.send_signal(signal.SIGINT)
        return False

    def taken(self):
        try:
            with open(self.folder / "metrics.jsonl", "rb") as f:
                f.seek(max(0, f.seek(0, os.SEEK_END) - 20000))
                return max((json.loads(x)["env_steps"] for x in f.read().split(b"\n")[1:-1]), default=0)
        except FileNotFoundError:
            return 0


def run(args):
    waiting = [s for s in studies(args.steps) if fnmatch(s[0], args.only) and not (args.out / s[0] / "processor.csv").exists()]
    running = []
    while waiting or running:
        while waiting and len(running) < args.jobs:
            name, config, settings, steps = waiting.pop(0)
            print(time.strftime("%H:%M:%S"), name, flush=True)
            running.append(Run(args.evorl, args.out / name, f"configs/curves/{config}.toml", settings, lambda r, steps=steps: r.taken() >= steps * MEMBERS))
        time.sleep(0.5)
        running = [r for r in running if not r.poll()]


def copied(source, to, keep):
    """A copy of a run with the records for which keep returns one. Its members are repetitions for plot and compare."""
    to.mkdir(parents=True)
    for file in source.iterdir():
        if file.suffix == ".jsonl":
            records = filter(None, (keep(json.loads(x)) for x in open(file)))
            (to / file.name).write_text("".join(json.dumps(r) + "\n" for r in records))
        elif file.is_file() and file.name != "processor.csv":
            shutil.copy(file, to)


def by_steps(source, to, steps):
    copied(source, to, lambda r: r if r["env_steps"] <= steps * MEMBERS * 1.03 else None)


def processor(source):
    """Processor time as a function of a run's seconds, from the first iteration."""
    rows = [tuple(map(float, x.split(","))) for x in open(source / "processor.csv")]
    walls = [w for w, _ in rows]
    seconds = [json.loads(x)["seconds"] for x in open(source / "metrics.jsonl")]
    begun = walls[-1] - seconds[-1]  # the run's clock starts after the process

    def at(second):
        i = min(max(bisect_right(walls, begun + second), 1), len(rows) - 1)
        (w0, p0), (w1, p1) = rows[i - 1], rows[i]
        return p0 + (p1 - p0) * (begun + second - w0) / max(w1 - w0, 1e-9)

    first = at(seconds[0])
    return lambda second: max(0.0, at(second) - first)


def by_processor(source, to, seconds):
    of = processor(source)
    copied(source, to, lambda r: {**r, "seconds": of(r["seconds"])} if of(r["seconds"]) <= seconds else None)


def spent(source):
    return processor(source)(json.loads(open(source / "metrics.jsonl").readlines()[-1])["seconds"])


def figures(args):
    """Figures and tables of the runs that are complete."""
    trimmed = args.out / "trimmed"
    shutil.rmtree(trimmed, ignore_errors=True)
    complete = lambda name: (args.out / name / "processor.csv").exists()
    named = [f"{env}/{m}" for env in ROBOTS for m in METHODS if complete(f"{env}/{m}")]
    labels = [x for m in METHODS if any(n.endswith("/" + m) for n in named) for x in ("--label", LABELS[m])]
    for name in named:
        by_steps(args.out / name, trimmed / "steps" / name, args.steps)
        by_processor(args.out / name, trimmed / "processor" / name, spent(args.out / name.split("/")[0] / "erl"))
    seconds = ["--x", "seconds", "--log", "x", "--xlabel", "processor seconds of five seeds"]
    for kind, axis in (("steps", ["--x", "env_steps"]), ("processor", seconds)):
        runs = [str(trimmed / kind / name) for name in named]
        title = ["--title", f"Five seeds, inter-quartile means, at equal {'steps' if kind == 'steps' else 'processor time'}"]
        common = ["--metric", "evaluation", "--center", "iqm", "--band", "bootstrap", *title, *labels]
        subprocess.run([args.evorl, "plot", "-o", f"docs/curves-{kind}.svg", *axis, *common, *runs], check=True)
        subprocess.run([args.evorl, "compare", *labels, *runs], check=True)
    counts = [name for name in ["erl", "cem-rl", *COUNTS] if complete(f"Hopper-v5/{name}")]
    for name in counts:
        by_steps(args.out / "Hopper-v5" / name, trimmed / "counts" / name, args.steps)
    subprocess.run([args.evorl, "compare", *(str(trimmed / "counts" / name) for name in counts)], check=True)
    for name, *_ in studies(args.steps):
        if complete(name):
            with open(args.out / name / "metrics.jsonl") as f:
                last = json.loads(f.readlines()[-1])
            print(f"{name}: {last['env_steps'] / MEMBERS:.0f} steps a seed, {last['iteration']} iterations, {spent(args.out / name):.0f} processor seconds")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=["run", "figures"])
    p.add_argument("--evorl", default="bin/evorl", help="the program (default bin/evorl)")
    p.add_argument("--out", type=Path, default=Path("runs/curves"), help="folder of the runs (default runs/curves)")
    p.add_argument("--steps", type=int, default=60_000, help="environment steps a seed; searches alone take three times as many (default 60000)")
    p.add_argument("--jobs", type=int, default=2, help="runs at a time (default 2)")
    p.add_argument("--only", default="*", help="runs whose names match PATTERN, such as Hopper-v5/*")
    args = p.parse_args()
    (run if args.what == "run" else figures)(args)


if __name__ == "__main__":
    main()
