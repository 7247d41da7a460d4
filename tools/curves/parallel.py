#!/usr/bin/env python3
"""Return against processor time of TD3 in many environments (configs/fast-td3-*.toml) and of PPO, one agent each, on one thread.

    nice -n 12 python tools/curves/parallel.py run             # into runs/parallel, two at a time; what is complete is skipped
    python tools/curves/parallel.py figures                    # docs/off-policy-processor.svg, tables on standard output

Time counts from the end of the first iteration, so that start-up and compilation do not. Evaluations count.
"""

import argparse
import json
import os
import shutil
import subprocess
import time
from fnmatch import fnmatch
from pathlib import Path

from curves import Run, processor

PPO = ["ppo.members=1", "ppo.anneal_steps=0", "network.hidden=[64, 64]"]  # of configs/ppo-ant.toml, 32 environments
RUNS = {
    "HalfCheetah-v5/fast-td3": ("configs/fast-td3-halfcheetah.toml", ["evaluation.every=100"]),
    "HalfCheetah-v5/ppo": ("configs/ppo-ant.toml", ["env=HalfCheetah-v5", "evaluation.every=10", "evaluation.episodes=10", *PPO]),
    "Humanoid-v5/fast-td3": ("configs/fast-td3-humanoid.toml", ["evaluation.every=100"]),
    "Humanoid-v5/ppo": ("configs/ppo-ant.toml", ["env=Humanoid-v5", "evaluation.every=10", "evaluation.episodes=10", *PPO]),
}
LABELS = {"fast-td3": "TD3 in 32 environments", "ppo": "PPO in 32 environments"}


def run(args):
    os.environ["LP_NUM_THREADS"] = "1"
    waiting = [n for n in RUNS if fnmatch(n, args.only) and not (args.out / n / "processor.csv").exists()]
    running = []
    while waiting or running:
        while waiting and len(running) < args.jobs:
            name = waiting.pop(0)
            config, settings = RUNS[name]
            print(time.strftime("%H:%M:%S"), name, flush=True)
            enough = lambda r: bool(r.samples) and r.taken() > 0 and r.samples[-1][1] >= r.started() + args.seconds
            running.append(Timed(args.evorl, args.out / name, config, [*settings, "iterations=1000000"], enough))
        time.sleep(0.5)
        running = [r for r in running if not r.poll()]


class Timed(Run):
    first = 0.0

    def started(self):
        """Processor time when the first iteration ended."""
        self.first = self.first or self.samples[-1][1]
        return self.first


def evaluations(folder, seconds):
    """(processor seconds, steps, return) of a run's evaluations."""
    of = processor(folder)
    rows = map(json.loads, open(folder / "metrics.jsonl"))
    rows = [(of(r["seconds"]), r["env_steps"], r["evaluation/mean"]) for r in rows if "evaluation/mean" in r]
    return [r for r in rows if r[0] <= seconds]


def figures(args):
    drawn = args.out / "drawn"
    shutil.rmtree(drawn, ignore_errors=True)
    runs = []
    for name in RUNS:
        if not (args.out / name / "processor.csv").exists():
            print(f"{name}: missing")
            continue
        points, folder = evaluations(args.out / name, args.seconds), drawn / name
        folder.mkdir(parents=True)
        for file in ("config.toml", "provenance.json"):
            shutil.copy(args.out / name / file, folder)
        rows = ({"iteration": i, "env_steps": n, "seconds": s, "evaluation/mean": v} for i, (s, n, v) in enumerate(points, 1))
        (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        runs.append(str(folder))
        print(f"\n{name}: {points[-1][1]} steps in {points[-1][0]:.0f} processor seconds\n")
        marks = [args.seconds * i / 8 for i in range(1, 9)]
        value = lambda at: next((f"{v:.0f}" for s, _, v in reversed(points) if s <= at), "")
        print("| processor seconds | " + " | ".join(f"{m:.0f}" for m in marks) + " |\n|" + "---|" * 9)
        print("| return | " + " | ".join(map(value, marks)) + " |")
    labels = [x for method in LABELS if any(r.endswith(method) for r in runs) for x in ("--label", LABELS[method])]
    subprocess.run([args.evorl, "plot", "-o", "docs/off-policy-processor.svg", "--metric", "evaluation", "--x", "seconds", *labels, "--title",
                    "Return against processor time, one agent on one thread", "--xlabel", "processor seconds", *runs], check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=["run", "figures"])
    p.add_argument("--evorl", default="bin/evorl", help="the program (default bin/evorl)")
    p.add_argument("--out", type=Path, default=Path("runs/parallel"), help="folder of the runs (default runs/parallel)")
    p.add_argument("--seconds", type=float, default=900, help="processor seconds of a run, and of the figures (default 900)")
    p.add_argument("--jobs", type=int, default=2, help="runs at a time (default 2)")
    p.add_argument("--only", default="*", help="run what matches PATTERN, such as Humanoid-v5/*")
    args = p.parse_args()
    (run if args.what == "run" else figures)(args)


if __name__ == "__main__":
    main()
