#!/usr/bin/env python3
"""Which of the packages that peers need there are, and on what JAX runs: what tools/compare asks before anything takes minutes.

    python tools/peers/about.py --json
"""

import argparse
import json
import platform
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    about, missing = {"python": platform.python_version()}, []
    for name in ("jax", "mujoco", "mujoco.mjx", "gymnasium"):
        try:
            module = __import__(name, fromlist=["__version__"])
            about[name] = str(getattr(module, "__version__", "found"))
        except Exception as error:  # a package may be there and fail
            about[name], line = "missing", " ".join(str(error).split())
            missing.append(f"{name}: {type(error).__name__}: {line}")
    if about["jax"] != "missing":
        import jax

        try:
            device = jax.devices()[0]
            about["platform"], about["device"] = device.platform, device.device_kind
        except RuntimeError as error:
            about["platform"] = "none"
            missing.append("jax: " + " ".join(str(error).split()))
    print(json.dumps(about) if args.json else about, flush=True)
    if missing:
        sys.exit("; ".join(missing))


if __name__ == "__main__":
    main()
