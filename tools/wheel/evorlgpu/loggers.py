"""Callbacks that send a run's metrics to Weights & Biases or MLflow, for evorlgpu.run(…, callback=…) and Process.follow."""

import math
from typing import Any, Callable, Optional

from .metrics import Record

__all__ = ["mlflow", "wandb"]


def wandb(run: Optional[Any] = None, **options: Any) -> Callable[[Record], None]:
    """A callback that logs to a run of wandb, by iteration. Without one, wandb.init(**options) begins it; finish it with wandb.finish()."""
    if run is None:
        import wandb as package

        run = package.init(**options)
    elif options:
        raise ValueError(f"a run and options of another, {sorted(options)}; want one of the two")

    def log(record: Record) -> None:
        run.log({name: value for name, value in record.items() if name != "iteration"}, step=int(record["iteration"]))

    return log


def mlflow(client: Optional[Any] = None) -> Callable[[Record], None]:
    """A callback that logs to the active run of mlflow, by iteration; client is the module, or what has its log_metrics. Values that are not finite are
    left out."""
    if client is None:
        import mlflow as package

        client = package

    def log(record: Record) -> None:
        client.log_metrics({name: float(value) for name, value in record.items() if name != "iteration" and math.isfinite(value)},
                           step=int(record["iteration"]))

    return log
