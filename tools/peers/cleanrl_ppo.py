#!/usr/bin/env python3
"""CleanRL's ppo.py learns in evorl's environments, stepped by evorlgpu.gymnasium:

    python -m venv /tmp/cleanrl && /tmp/cleanrl/bin/pip install torch tensorboard tyro gymnasium
    EVORL_PROGRAM=bin/evorl /tmp/cleanrl/bin/python tools/peers/cleanrl_ppo.py --checkout DIR --seed 1

DIR is a checkout of CleanRL (github.com/vwxyzjn/cleanrl, MIT). Other arguments are ppo.py's own. Three places of ppo.py are changed, none of them the
algorithm's: its environments are evorl's; the log reads returns where Gymnasium 1.1 or newer puts them; and at the end the policy plays, without drawing, in
--episodes episodes of Gymnasium's own environment with the same name, which it never saw. docs/python.md has the result.
"""

import argparse
import os
import runpy
import sys
import tempfile
from pathlib import Path

ENVIRONMENTS = """    from evorlgpu.gymnasium import VectorEnv

    envs = gym.wrappers.vector.RecordEpisodeStatistics(
        VectorEnv(args.env_id, num_envs=args.num_envs, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    )
"""
LOG = """            if "episode" in infos:
                ended = infos["_episode"]
                for r, l in zip(infos["episode"]["r"][ended], infos["episode"]["l"][ended]):
                    print(f"global_step={global_step}, episodic_return={r}")
                    writer.add_scalar("charts/episodic_return", r, global_step)
                    writer.add_scalar("charts/episodic_length", l, global_step)

"""
PLAY = """    own = gym.make(args.env_id)
    played = []
    for episode in range(int(os.environ["CLEANRL_EPISODES"])):
        seen, _ = own.reset(seed=episode)
        total, over = 0.0, False
        while not over:
            with torch.no_grad():
                choice = agent.actor(torch.Tensor(seen)).argmax().item()
            seen, gain, terminated, truncated, _ = own.step(choice)
            total, over = total + gain, terminated or truncated
        played.append(total)
    print("seconds:", round(time.time() - start_time))
    print(f"in Gymnasium's {args.env_id}: mean return {np.mean(played):.1f}, least {min(played):.0f} of {len(played)} episodes")
"""


def adapted(text):
    """Returns the program that learns in evorl's environments."""

    def replace(begin, end, new):
        nonlocal text
        if text.count(begin) != 1 or end not in text[text.index(begin):]:
            raise SystemExit("ppo.py has %d times, want once: %s" % (text.count(begin), begin))
        at = text.index(begin)
        text = text[:at] + new + text[text.index(end, at):]

    replace("    envs = gym.vector.SyncVectorEnv(", "    assert isinstance(envs.single_action_space", ENVIRONMENTS)
    replace('            if "final_info" in infos:', "        # bootstrap value if not done", LOG)
    replace("    envs.close()", "    envs.close()", PLAY)
    return text


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--checkout", type=Path, required=True, help="folder of CleanRL")
    p.add_argument("--episodes", type=int, default=100, help="episodes of Gymnasium's own environment (default 100)")
    a, rest = p.parse_known_args()
    os.environ["CLEANRL_EPISODES"] = str(a.episodes)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wheel"))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "ppo.py")
        program.write_text(adapted((a.checkout / "cleanrl" / "ppo.py").read_text()))
        sys.argv = [str(program), *rest]
        runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
