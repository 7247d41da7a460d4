"""Records steps of EvoJAX's WaterWorld, which TestWaterWorld repeats.

    python -m venv /tmp/evojax && /tmp/evojax/bin/pip install evojax==0.2.17 pillow
    /tmp/evojax/bin/python tools/reference/waterworld.py --out envs/testdata

WaterWorld-v0.npz and WaterWorldMulti-v0.npz are single steps of the package's own functions in float32: states of short episodes, an action of every
agent in each, and what follows. To keep the files small, a step is kept every few steps, those in which something is touched first.

    meta     uint8 [..]            JSON: environment, source
    before   float32 [steps, S]    the state as in shaders/envs/waterworld.glsl
    action   uint8 [steps, agents]
    after    float32 [steps, S]
    obs      float32 [steps, ..]   of all agents, after the step
    reward   float32 [steps, agents]
"""

import argparse
import importlib.metadata
import json
import pathlib
import sys
import types

import numpy as np

sys.modules.setdefault("PIL", types.ModuleType("PIL"))  # the package draws pictures with it
for name in ("Image", "ImageDraw"):
    module = sys.modules.setdefault("PIL." + name, types.ModuleType("PIL." + name))
    setattr(sys.modules["PIL"], name, module)
    module.Image = object

import jax
import jax.numpy as jnp
from evojax.task import ma_waterworld, waterworld

KEPT = {"WaterWorld-v0": 120, "WaterWorldMulti-v0": 16}


def flat(agents, items):
    """The state as a row: agents, then items with their kinds."""
    a, i = (jax.tree_util.tree_map(np.asarray, x) for x in (agents, items))
    kind = np.where(i.bubble_type == waterworld.TYPE_FOOD, 1, -1) * np.where(i.valid > 0, 1, 2)
    moving = np.stack([a.pos_x, a.pos_y, a.vel_x, a.vel_y], -1).ravel()
    return np.concatenate([moving, np.stack([kind, i.pos_x, i.pos_y, i.vel_x, i.vel_y], -1).ravel()]).astype(np.float32)


def first(tree):
    return jax.tree_util.tree_map(lambda x: x[0], tree)


def record(name):
    multi = name == "WaterWorldMulti-v0"
    task = ma_waterworld.MultiAgentWaterWorld(max_steps=500) if multi else waterworld.WaterWorld(max_steps=500)
    agents, dice = (16, np.random.default_rng(3)) if multi else (1, np.random.default_rng(3))
    steps = []
    for seed in range(2 if multi else 6):
        state = task.reset(jax.random.PRNGKey(seed)[None])
        held = dice.integers(4, size=agents)
        for _ in range(250):
            turns = dice.random(agents) < 0.1
            held = np.where(turns, dice.integers(4, size=agents), held)
            before = flat(first(state.agent_state), first(state.item_state))
            certain = jax.nn.one_hot(jnp.array(held), 4)
            state, reward, _ = task.step(state, certain[None] if multi else certain)
            after = flat(first(state.agent_state), first(state.item_state))
            steps.append((before, held.astype(np.uint8), after, np.asarray(state.obs[0]).ravel(), np.asarray(reward, np.float32).reshape(agents)))
    touched = [i for i, s in enumerate(steps) if s[4].any()]
    others = [i for i, s in enumerate(steps) if not s[4].any()]
    n = min(KEPT[name], len(steps))
    kept = sorted(touched[: n // 2] + others[:: max(1, len(others) // (n - min(n // 2, len(touched))))])[:n]
    columns = [np.stack([steps[i][k] for i in kept]) for k in range(5)]
    meta = {"environment": name, "source": f"evojax {importlib.metadata.version('evojax')}, jax {jax.__version__}"}
    arrays = dict(zip(("before", "action", "after", "obs", "reward"), columns))
    return {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    for name in KEPT:
        arrays = record(name)
        np.savez_compressed(out / f"{name}.npz", **arrays)
        print(name, {k: v.shape for k, v in arrays.items()}, "rewards", np.unique(arrays["reward"], return_counts=True))


if __name__ == "__main__":
    main()
