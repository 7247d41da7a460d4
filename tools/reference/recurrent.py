#!/usr/bin/env python3
"""PyTorch's LSTM and GRU over a sequence with ends in the middle, in float64, written as engine/nn/testdata/recurrent.json for the Go tests.

    pip install torch numpy && python tools/reference/recurrent.py

Forward and backward passes are torch.nn.LSTM's, torch.nn.GRU's and torch.nn.Linear's, one step at a time; before a step that begins an episode the memory of
the row is multiplied by 0. Inputs are rounded to float32 first.

A file is {"source", "versions", "cases": [...]}, a case

  cell, inputs, units, outputs, steps, rows
  params              the row of nn.Recurrent: W [inputs, gates units], b, U [units, gates units], in GRUs the recurrent bias of n, then the linear
                      layer's weights [units, outputs] and bias. PyTorch's two biases of a gate are one here, except for a GRU's n: the second is 0
  x, done, memory     [steps, rows, inputs], [steps, rows], [rows, H] with H = [h, c] in an LSTM
  slopes              [steps, rows, outputs]: gradient of the loss at the outputs
  y, last             outputs, and the memory after the last step
  at_params, at_x, at_memory   gradients; of a gate's two biases, of which the sum counts, PyTorch has the same gradient
"""

import json
import pathlib
import platform

import numpy as np
import torch

INPUTS, UNITS, OUTPUTS, STEPS, ROWS = 3, 4, 2, 9, 2


def case(cell, rng):

    def draw(*shape, scale=1.0):
        return torch.tensor((scale * rng.standard_normal(shape)).astype(np.float32).astype(np.float64))

    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](INPUTS, UNITS).double()
    head = torch.nn.Linear(UNITS, OUTPUTS).double()
    with torch.no_grad():
        for p in [*layer.parameters(), *head.parameters()]:
            p.copy_(draw(*p.shape, scale=0.5))
        layer.bias_hh_l0[: (2 if cell == "gru" else 4) * UNITS] = 0
    x, slopes = draw(STEPS, ROWS, INPUTS).requires_grad_(), draw(STEPS, ROWS, OUTPUTS)
    memory = draw(ROWS, UNITS * (2 if cell == "lstm" else 1), scale=0.5).requires_grad_()
    done = torch.tensor((rng.random((STEPS, ROWS)) < 0.25).astype(np.float64))
    done[3, 0], done[3, 1] = 1, 0  # at least one, in one row alone

    now, y = memory, []
    for t in range(STEPS):
        if t > 0:
            now = now * (1 - done[t - 1])[:, None]
        state = now[None, :, :UNITS].contiguous()
        if cell == "lstm":
            out, (h, c) = layer(x[t][None], (state, now[None, :, UNITS:].contiguous()))
            now = torch.cat([h[0], c[0]], 1)
        else:
            out, h = layer(x[t][None], state)
            now = h[0]
        y.append(head(out[0]))
    y = torch.stack(y)
    (y * slopes).sum().backward()

    def row(of):
        parts = [of(layer.weight_ih_l0).T, of(layer.bias_ih_l0), of(layer.weight_hh_l0).T]
        if cell == "gru":
            parts.append(of(layer.bias_hh_l0)[2 * UNITS :])
        return torch.cat([p.reshape(-1) for p in [*parts, of(head.weight).T, of(head.bias)]])

    tensors = {
        "params": row(lambda p: p.detach()), "x": x, "done": done, "memory": memory, "slopes": slopes, "y": y, "last": now,
        "at_params": row(lambda p: p.grad), "at_x": x.grad, "at_memory": memory.grad,
    }
    return {"cell": cell, "inputs": INPUTS, "units": UNITS, "outputs": OUTPUTS, "steps": STEPS, "rows": ROWS} | {
        name: [float(f"{v:.10g}") for v in value.detach().reshape(-1).tolist()] for name, value in tensors.items()
    }


def main():
    rng = np.random.default_rng(1)
    file = {
        "source": "tools/reference/recurrent.py",
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
        "cases": [case(cell, rng) for cell in ("lstm", "gru")],
    }
    path = pathlib.Path(__file__).parents[2] / "engine/nn/testdata/recurrent.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(file) + "\n")
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
