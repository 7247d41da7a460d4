"""Records steps of PufferLib's Pong, which TestPufferPong repeats.

    git clone --branch dev https://github.com/PufferAI/PufferLib /tmp/pufferlib
    python tools/reference/puffer_pong.py --source /tmp/pufferlib --out envs/testdata

The world is PufferLib's own pong.h, compiled in a temporary folder without its window (tools/peers/pong_pufferlib.py); nothing of it is stored. Games are
played by random actions that are held for a while, and by following the ball with slips. To keep the file small, a step is kept every few steps, those with a
bounce or a point first.

What is committed was recorded with the pong.h of October 2024 (d0dc27a), whose rewards, 10, 0 and 1, were changed to those of 2025, 1, -1 and 0.1, by
hand; by reading, that of 2025 differs in nothing else of a step.

    meta     uint8 [..]            JSON: source
    before   float32 [steps, 14]   the state as in shaders/envs/puffer_pong.glsl
    action   uint8 [steps]         0 stay, 1 up, 2 down
    after    float32 [steps, 14]   the vertical speed of a ball that has been served is not compared
    obs      float32 [steps, 8]    after the step; when a game ends, those of the next one, which are not compared
    reward   float32 [steps]
    end      uint8 [steps]         1: the game ends
"""

import argparse
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

STEPS, KEPT, FRAMES, POINTS = 20000, 900, 4, 21

MAIN = """
#include "pong.h"

static void state(Pong *p) {
    float row[] = {p->paddle_yl, p->paddle_yr, p->ball_x, p->ball_y, p->ball_vx, p->ball_vy, p->score_l, p->score_r};
    fwrite(row, sizeof row, 1, stdout);
    fwrite(p->observations, sizeof(float), 8, stdout);
}

static unsigned long long x = 7;
static unsigned draw(unsigned n) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    return (x >> 33) % n;
}

int main(int argc, char **argv) {
    Pong p = {.width = 500, .height = 640, .paddle_width = 20, .paddle_height = 70, .ball_width = 32, .ball_height = 32, .paddle_speed = 8,
        .ball_initial_speed_x = 10, .ball_initial_speed_y = 1, .ball_speed_y_increment = 3, .ball_max_speed_y = 13, .max_score = POINTS, .frameskip = FRAMES};
    float observations[8] = {0}, reward = 0;
    ACTION action = 0;
    END end = 0;
    p.observations = observations;
    p.actions = &action;
    p.rewards = &reward;
    p.terminals = &end;
    LOG
    init(&p);
    RESET(&p);
    int follows = 0, held = 0;
    for (int i = 0; i < STEPS; i++) {
        if (draw(200) == 0) follows = !follows;
        if (draw(8) == 0) held = draw(3);
        float away = p.ball_y + 16 - (p.paddle_yr + 35);
        action = follows && draw(10) ? (away > 16 ? 1 : away < -16 ? 2 : held) : held;
        float chosen = action;
        state(&p);
        fwrite(&chosen, sizeof chosen, 1, stdout);
        STEP(&p);
        state(&p);
        float last[] = {reward, end};
        fwrite(last, sizeof last, 1, stdout);
    }
    return 0;
}
"""


def peer():
    path = pathlib.Path(__file__).parents[1] / "peers" / "pong_pufferlib.py"
    spec = importlib.util.spec_from_file_location("pong_pufferlib", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play(header):
    text = header.read_text()
    prefix = "c_" if re.search(r"\bvoid c_step\(Pong", text) else ""
    action, end = re.search(r"\b(\w+)\s*\*\s*actions;", text), re.search(r"\b(unsigned char|float)\s*\*\s*terminals;", text)
    if not action or not end or "rewards[0] = -1.0" not in text:
        sys.exit("%s is another Pong; want PufferLib's of 2025, which pays 1, -1 and 0.1" % header)
    log = "p.log_buffer = allocate_logbuffer(1024);" if "allocate_logbuffer" in text else ""
    names = {"ACTION": action[1], "END": end[1], "LOG\n": log + "\n", "RESET(": prefix + "reset(", "STEP(": prefix + "step("}
    program = MAIN
    for name, value in {**names, "STEPS": STEPS, "FRAMES": FRAMES, "POINTS": POINTS}.items():
        program = program.replace(name, str(value))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "raylib.h").write_text(peer().RAYLIB)
        (folder / "main.c").write_text(program)
        subprocess.run(["cc", "-O1", "-w", "-I", folder, "-I", header.parent, folder / "main.c", "-o", folder / "pong", "-lm"], check=True)
        out = subprocess.run([folder / "pong"], check=True, capture_output=True).stdout
    return np.frombuffer(out, np.float32).reshape(STEPS, 16 + 1 + 16 + 2)


def states(rows):
    """The states: what an observation shows is a multiple of a half, before it is divided."""
    scale, shift = np.array([640, 640, 500, 640, 20, 26]), np.array([35, 35, 0, 0, 10, 13])
    seen = np.round(2 * (rows[:, 8:14].astype(np.float64) * scale - shift)) / 2
    return np.concatenate([rows[:, :8], seen], axis=1).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=pathlib.Path, required=True, help="a checkout of PufferLib")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    a = parser.parse_args()
    found = sorted(a.source.rglob("pong/pong.h"))
    if len(found) != 1:
        sys.exit("%s has %d files pong/pong.h; want a checkout of PufferLib with one" % (a.source, len(found)))
    rows = play(found[0])
    before, action, after, obs, reward, end = states(rows[:, :16]), rows[:, 16], states(rows[:, 17:33]), rows[:, 25:33], rows[:, 33], rows[:, 34]
    turned = np.any(before[:, 4:6] != after[:, 4:6], axis=1) | (reward != 0)
    events, others = np.flatnonzero(turned), np.flatnonzero(~turned)
    ends = np.flatnonzero(end)
    keep = np.unique(np.concatenate([ends, events[:: -(-len(events) // (2 * KEPT // 3))], others[:: -(-len(others) // (KEPT // 3))]]))
    arrays = {
        "meta": np.frombuffer(json.dumps({"source": "PufferLib's ocean/pong/pong.h"}).encode(), np.uint8), "before": before[keep],
        "action": action[keep].astype(np.uint8), "after": after[keep], "obs": obs[keep], "reward": reward[keep], "end": end[keep].astype(np.uint8),
    }
    np.savez_compressed(a.out / "PufferPong-v0.npz", **arrays)
    print(len(events), "events", {k: v.shape for k, v in arrays.items()})
    paid, counts = np.unique(arrays["reward"], return_counts=True)
    print("paid", dict(zip(paid.tolist(), counts.tolist())), "ended", np.sum(arrays["end"]))
    print("fastest", np.abs(before[:, 5]).max(), "outside", np.sum(before[:, 3] < 0), np.sum(before[:, 3] > 608))


if __name__ == "__main__":
    main()
