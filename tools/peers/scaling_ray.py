#!/usr/bin/env python3
"""The peer that tools/scaling is read beside: Ray gives slices to workers that sleep instead of computing.

    python -m venv /tmp/ray && /tmp/ray/bin/pip install ray==2.60.0
    /tmp/ray/bin/python tools/peers/scaling_ray.py --workers 16 64 --json
    go run ./tools/scaling -workers 16,64 -latency 0s -rate 0 -dilate 20

What is equal: a generation is 4 slices a worker of --slice seconds, a slice's result has 96 bytes, and in the next generation all workers have all results, as
replicas of a search need them. Efficiency is the time slept, divided by the time of a generation and the number of workers. All processes are on one machine
and talk to each other without a delay. --dilate sleeps that many times as long and divides what was measured, as -dilate does.

There are two programs. --program actors, the default and the faster one: a worker is an actor with one slice running and the next one waiting, and gets
another for each that it returns. --program tasks: slices are tasks, as many at once as there are workers.

What differs: a worker of Ray is a Python process of its own (some 70 MB); virtual workers of tools/scaling share processes, and do what a real worker does
besides sleeping. Ray's store of objects gives all workers of a machine the results in shared memory; evorl sends them to each.
"""

import argparse
import json
import os
import statistics
import time

import ray

EACH, BYTES = 4, 96


def sleeps(results, seconds):
    time.sleep(seconds)
    return bytes(BYTES)


@ray.remote(num_cpus=1)
class Worker:
    def ready(self):
        return True

    def slice(self, results, seconds):
        return sleeps(results, seconds)


def by_actors(workers, results, seconds):
    """A generation by actors: results of all slices, by their index."""
    done, running, following = {}, {}, iter(range(EACH * len(workers)))
    for _ in range(2):  # one runs and one waits
        for worker in workers:
            k = next(following)
            running[worker.slice.remote(results, seconds)] = (k, worker)
    while running:
        for ref in ray.wait(list(running), num_returns=1)[0]:
            k, worker = running.pop(ref)
            done[k] = ray.get(ref)
            k = next(following, None)
            if k is not None:
                running[worker.slice.remote(results, seconds)] = (k, worker)
    return [done[k] for k in sorted(done)]


def by_tasks(slice_, n, results, seconds):
    return ray.get([slice_.remote(results, seconds) for _ in range(EACH * n)])


def measure(args, n):
    ray.init(num_cpus=n, include_dashboard=False, logging_level="error", log_to_driver=False, object_store_memory=256 << 20)
    seconds, begin = args.slice * args.dilate, time.perf_counter()
    if args.program == "actors":
        workers = [Worker.remote() for _ in range(n)]
        ray.get([w.ready.remote() for w in workers])
        generation = lambda results: by_actors(workers, results, seconds)
    else:
        slice_ = ray.remote(num_cpus=1)(sleeps)
        ray.get([slice_.remote(None, 0.5) for _ in range(n)])
        generation = lambda results: by_tasks(slice_, n, results, seconds)
    started = time.perf_counter() - begin
    results, times = [], []
    for g in range(args.generations + 2):
        begin = time.perf_counter()
        results = generation(ray.put(results))
        assert len(results) == EACH * n and all(len(r) == BYTES for r in results)
        if g >= 2:  # the first do not count
            times.append((time.perf_counter() - begin) / args.dilate)
    ray.shutdown()
    mean = statistics.mean(times)
    return {"workers": n, "program": args.program, "slice_s": args.slice, "dilation": args.dilate, "generations": args.generations,
            "generation_s": round(mean, 4), "efficiency": round(EACH * args.slice / mean, 4), "start_s": round(started, 1),
            "load_average": round(os.getloadavg()[0], 2), "ray": ray.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--program", choices=("actors", "tasks"), default="actors")
    parser.add_argument("--slice", type=float, default=0.1, help="seconds of a slice (default 0.1)")
    parser.add_argument("--dilate", type=float, default=1, help="sleep so many times as long, and divide what was measured")
    parser.add_argument("--generations", type=int, default=5, help="generations that are measured (default 5)")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each number of workers")
    args = parser.parse_args()
    for n in args.workers:
        row = measure(args, n)
        print(json.dumps(row) if args.json else "%(workers)4d workers: %(generation_s).3f s a generation, efficiency %(efficiency).3f" % row, flush=True)


if __name__ == "__main__":
    main()
