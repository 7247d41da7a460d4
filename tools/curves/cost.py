#!/usr/bin/env python3
"""Cost of an iteration of hybrids against the population, in evorl and in JAX on Pendulum-v1, and its figure in docs.

    go test -c -o bin/bench.test ./cmd/bench
    python tools/curves/cost.py run --jax PYTHON     # a line of runs/cost.jsonl for each measurement; those that are there are skipped
    python tools/curves/cost.py figures              # docs/hybrids-cost.svg, a table on standard output

Both run in turns, from the smallest population to the largest, with one thread each, so that processor time is the time of an iteration on one free core.
The population is doubled until the next iteration would take more than --limit, or does not fit the device. JAX is measured at every second population.
"""

import argparse
import json
import math
import os
import re
import subprocess
from pathlib import Path

METHODS = {"erl": "ERL", "cem-rl": "CEM-RL", "pbt-sac": "PBT over SAC", "pbt-ppo": "PBT over PPO"}
COLORS = {"erl": "#1f77b4", "cem-rl": "#d62728", "pbt-sac": "#2ca02c", "pbt-ppo": "#9467bd"}
POPULATIONS = [2**n for n in range(4, 14)]
SHARES = ("steps", "updates", "evolution")  # of an iteration of at most two seconds
ONE_THREAD = {"LP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
FIGURE = Path("docs/hybrids-cost.svg")


def evorl(args, method, population, expected):
    """A measurement by BenchmarkHybrids, of one iteration if more than 2 seconds are expected, otherwise the better of two."""
    command = [args.bench, "-test.run", "NONE", "-test.bench", f"Hybrids/{method}/Pendulum-v1/{population}$",
               "-test.benchtime", "1x" if expected > 2 else "2x", "-test.timeout", "60m"]
    line = re.search(r"BenchmarkHybrids.*", run(command)).group()
    unit = {name: float(value) for value, name in re.findall(r"([0-9.e+-]+) (cpu-s/iteration|MB|%\w+)", line)}
    return {"seconds": unit["cpu-s/iteration"], "MB": unit["MB"], **{k: unit["%" + k] for k in SHARES if "%" + k in unit}}


def jax(args, method, population, _):
    """A measurement by the peers' scripts."""
    script, algorithm = ("pbt", method[4:]) if method.startswith("pbt") else ("hybrid", method)
    command = [args.jax, f"tools/peers/{script}_jax.py", "--algorithm", algorithm, "--population", str(population), "--seconds", "1", "--json"]
    measured = json.loads(run(command))
    return {"seconds": measured["best_cpu_seconds"], "compile": measured["compile_seconds"]}


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **ONE_THREAD}).stdout


def measure(args):
    known = {(m["program"], m["method"], m["population"]): m["seconds"] for m in measurements(args)}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    last = {}
    for population in POPULATIONS:
        for method in args.methods:
            for program, of, step in (("evorl", evorl, 1), ("jax", jax, 2)):
                key = (program, method, population)
                expected = last.get(key[:2], 0) * 2**step
                if program == "jax" and not args.jax or POPULATIONS.index(population) % step or expected > args.limit:
                    continue
                if key not in known:
                    try:
                        m = {"program": program, "method": method, "population": population, **of(args, method, population, expected)}
                    except subprocess.CalledProcessError as e:  # mostly a population that does not fit the device
                        print(f"{program}, {METHODS[method]}, {population}: {e.stdout.strip()}\n{e.stderr.strip()}")
                        last[key[:2]] = math.inf
                        continue
                    with open(args.out, "a") as f:
                        f.write(json.dumps(m) + "\n")
                    known[key] = m["seconds"]
                last[key[:2]] = known[key]


def measurements(args):
    return [json.loads(line) for line in open(args.out)] if args.out.exists() else []


def slope(points):
    """The power of the population with which the cost grows: least squares in logarithms."""
    xs, ys = [[math.log(v) for v in column] for column in zip(*points)]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


def figures(args):
    of = {}
    for m in measurements(args):
        of.setdefault((m["program"], m["method"]), {})[m["population"]] = m
    print("| | population | evorl | JAX | ratio | memory | steps | updates | evolution |\n|---|---|---|---|---|---|---|---|---|")
    for method, label in METHODS.items():
        peer = of.get(("jax", method), {})
        for i, (population, m) in enumerate(sorted(of.get(("evorl", method), {}).items())):
            theirs = peer.get(population, {}).get("seconds")
            ratio = f"{theirs:.3g} | {theirs / m['seconds']:.2f}" if theirs else " | "
            shares = " | ".join(f"{m[k]:.0f} %" if k in m else "" for k in SHARES)
            print(f"| {label if i == 0 else ''} | {population:,} | {m['seconds']:.3g} | {ratio} | {m['MB']:.0f} MB | {shares} |")
    for (program, method), measured in of.items():
        points = sorted((p, m["seconds"]) for p, m in measured.items())
        large = [p for p in points if p[0] >= 256]
        if len(points) > 2:
            beyond = f", from 256 {slope(large):.2f}" if len(large) > 1 else ""
            print(f"{program}, {METHODS[method]}: the cost grows with the population's power {slope(points):.2f}{beyond}, up to {points[-1][0]}")
    FIGURE.write_text(picture(of))


def picture(of):
    """An SVG with logarithmic axes: evorl's lines solid, JAX's dashed."""
    left, top, width, height = 70, 40, 560, 380
    seconds = [m["seconds"] for measured in of.values() for m in measured.values()]
    populations = [p for p in POPULATIONS if p <= max(p for measured in of.values() for p in measured)]
    low, high = 10 ** math.floor(math.log10(min(seconds))), 10 ** math.ceil(math.log10(max(seconds)))
    x = lambda p: left + width * math.log(p / populations[0]) / math.log(populations[-1] / populations[0])
    y = lambda s: top + height * math.log(high / s) / math.log(high / low)
    text = lambda at, to, s, more="": f'<text x="{at:.1f}" y="{to:.1f}" {more}>{s}</text>'
    line = lambda a, b, c, d: f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="#ddd"/>'
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="820" height="480" font-family="sans-serif" font-size="12" fill="none">',
           '<rect width="820" height="480" fill="white"/>', '<g fill="#222">',
           text(left, 24, "Seconds of one core for an iteration, Pendulum-v1, networks [64, 64]", 'font-size="15"'),
           text(left + width / 2, top + height + 40, "population", 'text-anchor="middle"')]
    out += [text(x(p), top + height + 18, f"{p:,}", 'text-anchor="middle"') for p in populations]
    decades = [low * 10**n for n in range(round(math.log10(high / low)) + 1)]
    out += [text(left - 8, y(s) + 4, f"{s:g}", 'text-anchor="end"') for s in decades] + ["</g>"]
    out += [line(left, y(s), left + width, y(s)) for s in decades] + [line(x(p), top, x(p), top + height) for p in populations]
    for i, ((program, method), measured) in enumerate(sorted(of.items(), key=lambda item: (list(METHODS).index(item[0][1]), item[0][0]))):
        points = [(x(p), y(m["seconds"])) for p, m in sorted(measured.items())]
        style = f'stroke="{COLORS[method]}" stroke-width="2"' + (' stroke-dasharray="5 4"' if program == "jax" else "")
        out.append(f'<path d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in points)}" {style}/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{COLORS[method]}"/>' for a, b in points]
        row, end = top + 14 + 20 * i, left + width + 14
        out.append(f'<path d="M{end} {row}h24" {style}/>')
        out.append(text(end + 30, row + 4, METHODS[method] + (", JAX" if program == "jax" else ""), 'fill="#222"'))
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=["run", "figures"])
    p.add_argument("--bench", default="bin/bench.test", help="the benchmarks (default bin/bench.test)")
    p.add_argument("--jax", help="a Python that has JAX; without it only evorl is measured")
    p.add_argument("--out", type=Path, default=Path("runs/cost.jsonl"), help="file of the measurements (default runs/cost.jsonl)")
    p.add_argument("--limit", type=float, default=6, help="most seconds of an iteration (default 6)")
    p.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="what is measured (default all)")
    args = p.parse_args()
    (measure if args.what == "run" else figures)(args)


main()
