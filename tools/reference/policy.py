"""Networks and action distributions in float64 NumPy, with their derivatives by hand: what ppo_update.py is made of."""

import numpy as np

# ---- networks: a member's flat row, forward and backward ----


def layers(row, sizes):
    """Views (W [in, out], bias [out]) into the flat row."""
    out, at = [], 0
    for i, o in zip(sizes[:-1], sizes[1:]):
        out.append((row[at : at + i * o].reshape(i, o), row[at + i * o : at + i * o + o]))
        at += i * o + o
    assert at == row.size
    return out


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def activate(kind, z):
    return np.tanh(z) if kind == "tanh" else z * sigmoid(z)


def activate_slope(kind, z):
    if kind == "tanh":
        return 1 - np.tanh(z) ** 2
    return sigmoid(z) * (1 + z * (1 - sigmoid(z)))


def forward(row, sizes, x, kind):
    """Output [N, out] and what backward needs."""
    tape, stack = [], layers(row, sizes)
    for k, (w, b) in enumerate(stack):
        z = x @ w + b
        tape.append((x, z))
        x = activate(kind, z) if k < len(stack) - 1 else z
    return x, tape


def backward(row, sizes, tape, d_out, kind):
    """Gradient row of sum(output * d_out)."""
    grad = np.zeros_like(row)
    stack, grads = layers(row, sizes), layers(grad, sizes)
    for k in reversed(range(len(stack))):
        x, z = tape[k]
        dz = d_out if k == len(stack) - 1 else d_out * activate_slope(kind, z)
        grads[k][0][:] = x.T @ dz
        grads[k][1][:] = dz.sum(0)
        d_out = dz @ stack[k][0].T
    return grad


# ---- action distributions: log-probability and entropy with their derivatives ----


def log_softmax(logits):
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def categorical(logits, log_std, action):
    """log_prob [N], entropy [N], and their derivatives by logits [N, A] (none by log_std)."""
    lp = log_softmax(logits)
    prob = np.exp(lp)
    entropy = -(prob * lp).sum(1)
    d_log_prob = np.eye(logits.shape[1])[action.astype(int)] - prob
    d_entropy = -prob * (lp + entropy[:, None])
    nothing = np.zeros((len(logits), log_std.size))
    return lp[np.arange(len(lp)), action.astype(int)], entropy, d_log_prob, d_entropy, nothing, nothing


def gaussian(mean, log_std, u):
    """As categorical, with derivatives by mean [N, A] and by log_std [N, A]."""
    z = (u - mean) / np.exp(log_std)
    log_prob = (-0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi)).sum(1)
    entropy = np.full(len(u), (0.5 + 0.5 * np.log(2 * np.pi) + log_std).sum())
    return log_prob, entropy, z / np.exp(log_std), np.zeros_like(z), z**2 - 1, np.ones_like(z)


def squashed(mean, log_std, u):
    log_prob, *rest = gaussian(mean, log_std, u)
    # log(1 - tanh(u)^2), without cancellation
    return (log_prob - (2 * (np.log(2) - u - np.logaddexp(0, -2 * u))).sum(1), *rest)


DISTRIBUTIONS = {"categorical": categorical, "gaussian": gaussian, "squashed": squashed}
