"""Records steps of the package slimevolleygym, which TestSlimeVolley repeats.

    python -m venv /tmp/slime && /tmp/slime/bin/pip install gym==0.26.2 "numpy<3" && /tmp/slime/bin/pip install --no-deps slimevolleygym==0.1.0
    /tmp/slime/bin/python tools/reference/slimevolley.py --out envs/testdata

SlimeVolley.npz has single steps of the package's game. Before each step everything is rounded to float32, so that both sides begin in the same state. The
players hold random actions, run to the ball, or are the package's script. To keep the file small, a step is kept every few steps, those in which the ball
meets something first.

    meta     uint8 [..]            JSON: source
    before   float32 [steps, 34]   the state as in shaders/envs/slimevolley.glsl, with the memory of the left seat's script
    action   uint8 [steps, 2]      left, right: an index of ACTIONS
    script   uint8 [steps]         what the script does at the left
    after    float32 [steps, 34]   the places of a ball that has been served are not compared
    obs      float32 [steps, 24]   of both seats, after the step
    reward   float32 [steps]       of the right seat
"""

import argparse
import importlib.metadata
import json
import pathlib
import sys
import types

import numpy as np

sys.modules.setdefault("cv2", types.ModuleType("cv2"))  # the package scales pictures with it

from slimevolleygym.slimevolley import BaselinePolicy, SlimeVolleyEnv

ACTIONS = SlimeVolleyEnv.action_table
AGENT, SEEN, KEPT = ("x", "y", "vx", "vy"), ("x", "y", "vx", "vy", "bx", "by", "bvx", "bvy", "ox", "oy", "ovx", "ovy"), 900


class Player:
    def __init__(self, kind, side, dice):
        self.kind, self.side, self.dice, self.held = kind, side, dice, 0

    def act(self, game, script):
        if self.kind == "script":
            return script
        me = game.agent_right if self.side else game.agent_left
        if self.kind == "chase" and self.dice.random() < 0.9:
            away = (game.ball.x - me.x) * me.dir + 0.4
            near = abs(away) < 2 and game.ball.y < 9
            return (4 if near else 5) if away > 0.3 else (2 if near else 1) if away < -0.3 else 3 if near else 0
        if self.dice.random() < 0.15:
            self.held = int(self.dice.integers(len(ACTIONS)))
        return self.held


def parts(game):
    return [(p, AGENT) for p in (game.agent_left, game.agent_right, game.ball)]


def rounded(game, script):
    for thing, names in parts(game) + [(a.state, SEEN) for a in (game.agent_left, game.agent_right)]:
        for n in names:
            setattr(thing, n, float(np.float32(getattr(thing, n))))
    script.outputState = np.float64(np.float32(script.outputState))


def shown(agent):
    """What both seats see, not mirrored: left, right, ball."""
    s, d = agent.state, agent.dir
    me, ball, other = [s.x * d, s.y, s.vx * d, s.vy], [s.bx * d, s.by, s.bvx * d, s.bvy], [s.ox * -d, s.oy, s.ovx * -d, s.ovy]
    return (other + me if d > 0 else me + other) + ball


def row(game, script):
    places = [getattr(thing, n) for thing, names in parts(game) for n in names]
    lives = [game.agent_left.life, game.agent_right.life]
    return np.array(places + [game.delayScreen.life] + lives + shown(game.agent_right) + list(script.outputState), np.float32)


def index(buttons):
    forward, backward, jump = buttons
    return ACTIONS.index([0, 0, jump] if forward and backward else [forward, backward, jump])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    env, dice = SlimeVolleyEnv(), np.random.default_rng(5)
    kinds = [("random", "random"), ("chase", "chase"), ("script", "chase"), ("chase", "script"), ("script", "script"), ("random", "chase")]
    steps = []
    for episode, pair in enumerate(kinds):
        env.seed(episode)
        env.reset()
        script, other = BaselinePolicy(), BaselinePolicy()
        players = [Player(kind, side, dice) for side, kind in enumerate(pair)]
        done = False
        while not done:
            game = env.game
            rounded(game, script)
            before, speed = row(game, script), (game.ball.vx, game.ball.vy)
            chosen = [index(p.predict(a.getObservation())) for p, a in ((script, game.agent_left), (other, game.agent_right))]
            action = [p.act(game, c) for p, c in zip(players, chosen)]
            _, reward, done, _ = env.step(ACTIONS[action[1]], ACTIONS[action[0]])
            obs = np.concatenate([game.agent_left.getObservation(), game.agent_right.getObservation()]).astype(np.float32)
            turned = speed[0] != game.ball.vx and game.delayScreen.life == 0
            steps.append((bool(reward) or turned, before, action, chosen[0], row(game, script), obs, reward))
    events = [s for s in steps if s[0]]
    others = [s for s in steps if not s[0]]
    keep = events[:: max(1, -(-len(events) // (2 * KEPT // 3)))]
    keep += others[:: len(others) // (KEPT - len(keep))]
    _, before, action, chosen, after, obs, reward = zip(*keep)
    meta = {"source": "slimevolleygym " + importlib.metadata.version("slimevolleygym")}
    arrays = {
        "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8), "before": np.array(before), "action": np.array(action, np.uint8),
        "script": np.array(chosen, np.uint8), "after": np.array(after), "obs": np.array(obs), "reward": np.array(reward, np.float32),
    }
    np.savez_compressed(out / "SlimeVolley.npz", **arrays)
    print(len(steps), "steps,", len(events), "events", {k: v.shape for k, v in arrays.items()})
    print("points", np.sum(arrays["reward"] != 0), "fence and stub", np.sum(abs(arrays["after"][:, 8]) < 2), "actions of the script", np.bincount(chosen))


if __name__ == "__main__":
    main()
