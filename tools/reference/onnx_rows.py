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
        rows = {name: np.array(values, np.float32) for name, values in json.loads(path.with_suffix(".json").read_text()).items()}
        rows = {i.name: rows[i.name] for i in session.get_inputs()}
        outputs = session.run(None, rows)
        for name, all_rows, first in zip(session.get_outputs(), outputs, session.run(None, {name: values[:1] for name, values in rows.items()})):
            assert np.allclose(all_rows[:1], first, rtol=1e-6, atol=1e-6), f"{path}: {name.name} of one row: {first}, among others: {all_rows[:1]}"
        result = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "runtime": f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}"}
        for output, values in zip(session.get_outputs(), outputs):
            name = {"action": "action", "next_memory": "memory"}.get(output.name, "scores")
            result[name] = [[float(f"{v:.9g}") for v in np.atleast_1d(row)] for row in values]
        results[path.stem] = result
    pathlib.Path(to).write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(result)}' for name, result in results.items()) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
