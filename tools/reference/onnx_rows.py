"""Runs the models of TestONNX by onnxruntime and writes what it computes to engine/onnx/testdata/onnx.json.

    python -m venv /tmp/onnx && /tmp/onnx/bin/pip install onnx onnxruntime
    mkdir /tmp/models && go test . -run TestONNX -onnx-models /tmp/models
    /tmp/onnx/bin/python tools/reference/onnx_rows.py /tmp/models engine/onnx/testdata/onnx.json

Every model passes the checker of package onnx, with its shapes inferred, and is run in batches of all rows and of one row, which must agree.
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime


def main(models, to):
    results = {}
    for path in sorted(pathlib.Path(models).glob("*.onnx")):
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        obs = np.array(json.loads(path.with_suffix(".json").read_text()), np.float32)
        outputs = session.run(None, {"obs": obs})
        for name, all_rows, first in zip(session.get_outputs(), outputs, session.run(None, {"obs": obs[:1]})):
            assert np.allclose(all_rows[:1], first, rtol=1e-6, atol=1e-6), f"{path}: {name.name} of one row: {first}, among others: {all_rows[:1]}"
        result = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "runtime": f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}"}
        for name, values in zip(("action", "scores"), outputs):
            result[name] = [[float(f"{v:.9g}") for v in np.atleast_1d(row)] for row in values]
        results[path.stem] = result
    pathlib.Path(to).write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(result)}' for name, result in results.items()) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
