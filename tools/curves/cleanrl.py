#!/usr/bin/env python3
"""Learning curves of TD3 and SAC beside CleanRL's programs: configs/cleanrl, three agents as members of one run, and three seeds of each program.

    nice -n 5 python tools/curves/cleanrl.py run --checkout DIR     # into runs/cleanrl, one at a time; what is complete is skipped
    python tools/curves/cleanrl.py figures                           # off-policy.csv, docs/off-policy.svg, tables on standard output

DIR is a checkout of CleanRL (github.com/vwxyzjn/cleanrl). Its programs are adapted to Gymnasium 1.1 or newer, whose environments of version 5 they
need, and write the returns of episodes to a file; the lines of the algorithms are untouched. --python has PyTorch, tyro, tensorboard and
gymnasium[mujoco]. off-policy.csv, beside this script, keeps the curves; figures replaces those of the tasks that are in runs/cleanrl and draws
all. It has every second point of the tasks that were run before the file existed: TD3's, and SAC's on HalfCheetah-v5 to 90,000 steps.
"""

import argparse
import csv
import json
import math
import os
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from statistics import mean, stdev, variance

TASKS = [(algorithm, env) for env in ("HalfCheetah-v5", "Hopper-v5", "Swimmer-v5") for algorithm in ("td3", "sac")]
RANDOM = {"td3": 25_000, "sac": 5_000}  # steps before the first update
DISCOUNT = {"Swimmer-v5": 0.995}  # CleanRL's is 0.99
SEEDS = (1, 2, 3)  # of CleanRL's programs; here three members
BLOCK = 50  # steps of an iteration here
EPISODE = 1_000  # steps of the longest episode
WINDOW = 5_000  # steps over which returns are averaged
DATA = Path(__file__).with_name("off-policy.csv")


def name(algorithm, env):
    return f"{algorithm}-{env.removesuffix('-v5').lower()}"


def adapted(checkout, algorithm):
    """CleanRL's program, which writes returns to the file that EPISODES names."""
    text = (checkout / f"cleanrl/{algorithm}_continuous_action.py").read_text()

    def replace(old, new):
        nonlocal text
        if text.count(old) != 1:
            raise SystemExit(f"{algorithm}_continuous_action.py has {text.count(old)} times, want once: {old}")
        text = text.replace(old, new)

    replace("for i in range(args.num_envs)]\n    )",
            "for i in range(args.num_envs)],\n        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,\n    )")
    begin = '            for info in infos["final_info"]:\n'
    end = "                    break\n"
    i = text.index(begin)
    replace(text[i : text.index(end, i) + len(end)],
            '            episode = infos["final_info"]["episode"]\n'
            '            returns.write("%d,%.6f\\n" % (global_step, episode["r"][0]))\n            returns.flush()\n')
    replace('infos["final_observation"][idx]', 'infos["final_obs"][idx]')
    start = "    start_time = time.time()\n"
    replace(start, start + "    returns = open(os.environ['EPISODES'], 'w')\n    returns.write('global_step,episodic_return\\n')\n")
    return text


def run(args):
    """Runs what is missing, one after the other, each with one thread."""
    args.out.mkdir(parents=True, exist_ok=True)
    for algorithm, env in TASKS:
        folder = args.out / name(algorithm, env)
        if not fnmatch(folder.name, args.only):
            continue
        iterations = (args.steps - RANDOM[algorithm]) // BLOCK
        subprocess.run([args.evorl, "run", "--quiet", "--resume", "--iterations", str(iterations), "--out", str(folder),
                        f"configs/cleanrl/{name(algorithm, env)}.toml"], env={**os.environ, "LP_NUM_THREADS": "1"}, check=True)
        for seed in SEEDS:
            done = episodes(args.out, algorithm, env, seed)
            if done.exists():
                continue
            part, program = done.with_suffix(".part"), args.checkout.resolve() / f"adapted_{algorithm}.py"
            program.write_text(adapted(args.checkout, algorithm))
            settings = {**os.environ, "EPISODES": str(part.resolve()), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
            subprocess.run([args.python, program.name, "--env-id", env, "--seed", str(seed), "--total-timesteps", str(args.steps), "--no-cuda",
                            "--gamma", str(DISCOUNT.get(env, 0.99))], cwd=args.checkout, env=settings, check=True)
            part.rename(done)


def episodes(out, algorithm, env, seed):
    return out / f"{name(algorithm, env)}-{seed}.csv"


def of_cleanrl(path):
    """(step, return) of a program's episodes: means of those that end in the same BLOCK steps, which is what an iteration here reports."""
    blocks = {}
    for row in csv.DictReader(open(path)):
        blocks.setdefault(-(-(int(row["global_step"]) + 1) // BLOCK) * BLOCK, []).append(float(row["episodic_return"]))
    return [(step, mean(returns)) for step, returns in blocks.items()]


def of_evorl(folder, member):
    rows = [json.loads(x) for x in open(folder / "members.jsonl")]
    return [(r["env_steps"] // len(SEEDS), r[f"return/{member}"]) for r in rows if r.get(f"return/{member}") is not None]


def windows(points, first, last):
    """Means over the WINDOW steps up to each multiple of it, after first; None where no episode ended."""
    out = {}
    for at in range(first + WINDOW, last + 1, WINDOW):
        values = [v for step, v in points if at - WINDOW < step <= at]
        out[at] = mean(values) if values else None
    return out


def curves(args, algorithm, env):
    """Both programs' curves as far as all agents have come, three each or fewer: {"evorl": [{step: return}], "CleanRL": [...]}."""
    found, folder = {"evorl": []}, args.out / name(algorithm, env)
    if (folder / "members.jsonl").exists():
        found["evorl"] = [of_evorl(folder, member) for member in range(len(SEEDS))]
    found["CleanRL"] = [of_cleanrl(p) for p in (episodes(args.out, algorithm, env, seed) for seed in SEEDS) if p.exists()]
    if not all(found.values()):
        return None
    last = min(points[-1][0] for agents in found.values() for points in agents) + EPISODE
    return {k: [windows(p, RANDOM[algorithm], min(last, args.steps)) for p in v] for k, v in found.items()}


def figures(args):
    """A picture of all curves, and tables of the tasks of which both programs have run."""
    stored = read(DATA)
    for algorithm, env in TASKS:
        of = curves(args, algorithm, env)
        if of is None:
            print(f"{algorithm} on {env}: not in {args.out}")
            continue
        table(f"{algorithm} on {env}", of)
        for program, agents in of.items():
            stored = {k: v for k, v in stored.items() if k[:3] != (algorithm, env, program)}
            stored.update(((algorithm, env, program, i), agent) for i, agent in enumerate(agents))
    write(DATA, stored)
    drawn = args.out / "drawn"
    shutil.rmtree(drawn, ignore_errors=True)
    runs, labels = [], {}
    for (algorithm, env, program, agent), curve in stored.items():
        labels[algorithm, program] = f"{algorithm.upper()}, {program}"
        runs.append(as_run(drawn, algorithm, env, program, agent, curve))
    named = [x for label in labels.values() for x in ("--label", label)]
    subprocess.run([args.evorl, "plot", "-o", "docs/off-policy.svg", "--metric", "evaluation", "--center", "mean", "--band", "range", *named,
                    "--title", "TD3 and SAC here and by CleanRL's programs", "--ylabel", "Training return", *runs], check=True)


def read(path):
    """{(algorithm, environment, program, agent): {step: return}} of a file of curves."""
    stored = {}
    for row in csv.DictReader(open(path)):
        key = row["algorithm"], row["environment"], row["program"], int(row["agent"])
        stored.setdefault(key, {})[int(row["step"])] = float(row["return"])
    return stored


def write(path, stored):
    with open(path, "w") as f:
        f.write("algorithm,environment,program,agent,step,return\n")
        for task in TASKS:
            for key, curve in stored.items():
                if key[:2] == task:
                    f.writelines(f"{','.join(map(str, key))},{at},{value:.1f}\n" for at, value in curve.items() if value is not None)


def table(title, of):
    """Means and each agent's returns, and Welch's t of the agents' means over all windows and over the last four."""
    print(f"\n{title}\n")
    steps = [at for at in next(iter(of["evorl"])) if at % 10_000 == 0]
    print("| thousand steps | " + " | ".join(str(at // 1000) for at in steps) + " |\n|" + "---|" * (len(steps) + 1))
    cell = lambda values: " | ".join("" if None in v else f"{mean(v):.0f}" for v in values)
    each = lambda values: " | ".join(", ".join("–" if x is None else f"{x:.0f}" for x in v) for v in values)
    for program, agents in of.items():
        values = [[a[at] for a in agents] for at in steps]
        print(f"| {program}, mean | {cell(values)} |\n| each | {each(values)} |")
    for part, first in (("whole curve", 0), ("last 20,000 steps", -4)):
        agents = {program: [mean(v for v in list(a.values())[first:] if v is not None) for a in of[program]] for program in of}
        if min(map(len, agents.values())) < 2:
            continue
        (a, b), error = agents.values(), math.sqrt(sum(variance(v) / len(v) for v in agents.values()))
        shown = "; ".join(f"{program} {mean(v):.0f} ± {stdev(v):.0f}" for program, v in agents.items())
        print(f"\n{part}: {shown}; t = {(mean(a) - mean(b)) / error:.2f}")


def as_run(drawn, algorithm, env, program, agent, curve):
    """A curve as the run directory of one agent, for evorl plot."""
    folder = drawn / f"{name(algorithm, env)}-{program}-{agent}"
    folder.mkdir(parents=True)
    config = []
    for line in Path(f"configs/cleanrl/{name(algorithm, env)}.toml").read_text().splitlines():
        key = line.split(" = ")[0]
        if key == "rollout_length" and program == "CleanRL":
            line = "rollout_length = 1"  # it updates after every step
        config.append({"seed": f"seed = {agent}", "members": "members = 1"}.get(key, line))
    (folder / "config.toml").write_text("\n".join(config) + "\n")
    rows = ({"iteration": at // BLOCK, "env_steps": at, "seconds": 0, "evaluation/mean": value} for at, value in curve.items() if value is not None)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return str(folder)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=["run", "figures"])
    p.add_argument("--evorl", default="bin/evorl", help="the program (default bin/evorl)")
    p.add_argument("--checkout", type=Path, default=Path("cleanrl"), help="folder of CleanRL's checkout (default cleanrl)")
    p.add_argument("--python", default="python", help="the interpreter for CleanRL's programs (default python)")
    p.add_argument("--out", type=Path, default=Path("runs/cleanrl"), help="folder of the runs (default runs/cleanrl)")
    p.add_argument("--steps", type=int, default=100_000, help="environment steps of an agent (default 100000)")
    p.add_argument("--only", default="*", help="run what matches PATTERN, such as td3-*")
    args = p.parse_args()
    (run if args.what == "run" else figures)(args)


main()
