"""evorl from Python: start and follow runs, read them as tables, act by trained policies, and train in evorl's environments.

evorl is one program, which trains populations of agents on any vendor's GPU. This package has it inside (evorlgpu.program) and needs no
compiled extension. Parts that need numpy, pandas or Gymnasium import them when they are used.

    import evorlgpu

    run = evorlgpu.run("configs/pbt.toml", iterations=50)     # blocks; evorlgpu.start does not
    run.frame().plot(x="env_steps", y="return/mean")          # pandas
    policy = run.policy()                                     # numpy
    action = policy(observations)                             # [n, observations] -> [n] or [n, dimensions]
"""

from .metrics import follow, read_metrics
from .policy import Policy
from .program import EvorlError, call, program, version
from .runs import Process, Run, Sweep, run, start, start_sweep, sweep

__all__ = [
    "EvorlError", "Policy", "Process", "Run", "Sweep", "call", "follow", "program", "read_metrics", "run", "start", "start_sweep", "sweep", "version",
]
