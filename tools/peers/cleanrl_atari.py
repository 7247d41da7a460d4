#!/usr/bin/env python3
"""CleanRL's ppo_atari.py or dqn_atari.py learns one of Atari's games with today's Gymnasium:

    python -m venv atari && atari/bin/pip install torch tensorboard tyro gymnasium ale-py opencv-python-headless
    atari/bin/python tools/peers/cleanrl_atari.py --checkout DIR --program ppo_atari --steps 300000 --env-id PongNoFrameskip-v4 --seed 1

DIR is a checkout of CleanRL (github.com/vwxyzjn/cleanrl, MIT). Other arguments are the program's own. What is changed is where Gymnasium 1 differs from the
version that CleanRL was written for: names of two wrappers, environments that are reset in the step in which they end, places of what is known of an episode at
its end, and that a module registers the games. Learning stops after --steps steps without a change to schedules, which go by --total-timesteps. docs/atari.md has
the result.
"""

import argparse
import runpy
import sys
import tempfile
from pathlib import Path

LOG = """if "final_info" in infos and "episode" in infos["final_info"]:
    for r, ended in zip(infos["final_info"]["episode"]["r"], infos["final_info"]["_episode"]):
        if ended:
            print(f"global_step={global_step}, episodic_return={r}, seconds={time.time() - start_time:.1f}", flush=True)
            writer.add_scalar("charts/episodic_return", r, global_step)

"""


def adapted(text, steps):
    """Returns the program for Gymnasium 1, which ends after steps steps."""

    def replace(old, new):
        nonlocal text
        if text.count(old) != 1:
            raise SystemExit("the program has %d times, want once: %s" % (text.count(old), old))
        text = text.replace(old, new)

    def indented(lines, by):
        return "".join(" " * by + line if line.strip() else line for line in lines.splitlines(True))

    replace("import gymnasium as gym\n", "import ale_py\nimport gymnasium as gym\n")
    replace('if __name__ == "__main__":\n', 'gym.register_envs(ale_py)\n\nif __name__ == "__main__":\n')
    replace("gym.wrappers.GrayScaleObservation(env)", "gym.wrappers.GrayscaleObservation(env)")
    replace("gym.wrappers.FrameStack(env, 4)", "gym.wrappers.FrameStackObservation(env, 4)")
    replace("for i in range(args.num_envs)]", "for i in range(args.num_envs)], autoreset_mode=gym.vector.AutoresetMode.SAME_STEP")
    begin = text.index('if "final_info" in infos:')
    by = begin - text.rindex("\n", 0, begin) - 1
    end = text.index("        # ", begin)
    text = text[: begin - by] + indented(LOG, by) + text[end:]
    if "final_observation" in text:
        replace('infos["final_observation"][idx]', 'infos["final_obs"][idx]')
    if "    for iteration in range(1, args.num_iterations + 1):\n" in text:
        replace("    for iteration in range(1, args.num_iterations + 1):\n", "    for iteration in range(1, %d // args.batch_size + 1):\n" % steps)
    else:
        replace("    for global_step in range(args.total_timesteps):\n", "    for global_step in range(%d):\n" % steps)
    return text


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--checkout", type=Path, required=True, help="folder of CleanRL")
    p.add_argument("--program", choices=["ppo_atari", "dqn_atari"], required=True, help="which program learns")
    p.add_argument("--steps", type=int, required=True, help="steps, of four frames each, after which it stops")
    a, rest = p.parse_known_args()
    sys.path.insert(0, str(a.checkout.resolve()))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, a.program + ".py")
        program.write_text(adapted((a.checkout / "cleanrl" / program.name).read_text(), a.steps))
        sys.argv = [str(program), *rest]
        runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
