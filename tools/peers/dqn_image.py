#!/usr/bin/env python3
"""Updates of DQN with a convolutional network, in JAX or PyTorch: the peer of `evorl bench --suite rl --only 'dqn/minatar/*/*'`.

The network is MinAtar's (K. Young and T. Tian 2019): a convolution of 3 x 3 with 16 channels and 128 units, over 10 x 10 x 4. Settings are
those of configs/minatar-breakout-dqn.toml: batches of 32, Huber loss, Adam, targets copied every 1,000 updates. The code is ours.

    python tools/peers/dqn_image.py --peer jax --updates 50
    python tools/peers/dqn_image.py --peer torch --threads 2

JAX makes --updates in a call, by a scan; on a CPU its convolution is a product of patches, since XLA's gradients of convolutions are many times
slower there. PyTorch's convolution is oneDNN's; an update is a call. Batches are on the device before. It prints one line of JSON.
"""

import argparse
import json
import os
import time

DISCOUNT, LEARNING_RATE, TARGET_INTERVAL, HELD = 0.99, 2.5e-4, 1000, 50
CHANNELS, ACTIONS, BATCH = 4, 3, 32


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--peer", choices=["jax", "torch"], default="jax")
    p.add_argument("--updates", type=int, default=50, help="of a call, with JAX (default 50)")
    p.add_argument("--unroll", type=int, default=1, help="updates unrolled in the scan, with JAX (default 1)")
    p.add_argument("--convolution", action="store_true", help="XLA's convolution instead of a product of patches")
    p.add_argument("--threads", type=int, default=1, help="threads of a product, with PyTorch (default 1)")
    p.add_argument("--seconds", type=float, default=5)
    return p.parse_args()


def data(numpy, batches):
    rng = numpy.random.default_rng(0)
    image = lambda: (rng.random((batches, BATCH, 10, 10, CHANNELS)) < 0.05).astype(numpy.float32)
    factor = numpy.where(rng.random((batches, BATCH)) < 0.05, 0, DISCOUNT).astype(numpy.float32)
    reward = (rng.random((batches, BATCH)) < 0.1).astype(numpy.float32)
    return image(), rng.integers(0, ACTIONS, (batches, BATCH)), reward, image(), factor


def jax_call(a):
    import jax
    import jax.numpy as jnp
    import numpy
    import optax

    optimizer = optax.adam(LEARNING_RATE)

    def network(layers, x):
        (w, b), (w1, b1), (w2, b2) = layers
        if a.convolution:
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        else:
            x = jnp.concatenate([x[:, i : i + 8, j : j + 8] for i in range(3) for j in range(3)], 3) @ w.reshape(-1, 16)
        x = jax.nn.relu(x + b).reshape(x.shape[0], -1)
        return jax.nn.relu(x @ w1 + b1) @ w2 + b2

    def loss(params, target, batch):
        obs, action, reward, next_obs, factor = batch
        aim = reward + factor * network(target, next_obs).max(1)
        value = jnp.take_along_axis(network(params, obs), action[:, None], 1)[:, 0]
        return optax.huber_loss(value, jax.lax.stop_gradient(aim)).mean()

    def update(carry, batch):
        params, target, opt, count = carry
        steps, opt = optimizer.update(jax.grad(loss)(params, target, batch), opt, params)
        params, count = optax.apply_updates(params, steps), count + 1
        target = jax.tree.map(lambda t, p: jnp.where(count % TARGET_INTERVAL == 0, p, t), target, params)
        return (params, target, opt, count), None

    init = jax.nn.initializers.lecun_normal()
    k = jax.random.split(jax.random.key(0), 3)
    params = [(init(k[0], (3, 3, CHANNELS, 16)), jnp.zeros(16)), (init(k[1], (1024, 128)), jnp.zeros(128)), (init(k[2], (128, ACTIONS)), jnp.zeros(ACTIONS))]
    state = (params, jax.tree.map(jnp.copy, params), optimizer.init(params), jnp.int32(0))
    batches = [jax.device_put(data(numpy, a.updates)) for _ in range(max(1, HELD // a.updates))]
    run = jax.jit(lambda s, b: jax.lax.scan(update, s, b, unroll=a.unroll)[0], donate_argnums=0)
    run = run.lower(state, batches[0]).compile()

    def call(i):
        nonlocal state
        state = run(state, batches[i % len(batches)])
        jax.block_until_ready(state)

    return call, a.updates, {"jax": jax.__version__, "device": jax.devices()[0].device_kind}


def torch_call(a):
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import numpy
    import torch

    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    make = lambda: torch.nn.Sequential(
        torch.nn.Conv2d(CHANNELS, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1024, 128), torch.nn.ReLU(), torch.nn.Linear(128, ACTIONS)
    )
    online, target = make(), make()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=LEARNING_RATE, fused=True)
    arrays = [torch.from_numpy(x) for x in data(numpy, HELD)]
    arrays = [x.permute(0, 1, 4, 2, 3).contiguous() if x.ndim == 5 else x for x in arrays]
    batches = [tuple(x[i] for x in arrays) for i in range(HELD)]

    def call(i):
        obs, action, reward, next_obs, factor = batches[i % HELD]
        with torch.no_grad():
            aim = reward + factor * target(next_obs).amax(1)
        value = online(obs).gather(1, action[:, None])[:, 0]
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.huber_loss(value, aim).backward()
        optimizer.step()
        if (i + 1) % TARGET_INTERVAL == 0:
            target.load_state_dict(online.state_dict())

    return call, 1, {"torch": torch.__version__, "threads": a.threads}


def main():
    a = parse_arguments()
    call, updates, about = (jax_call if a.peer == "jax" else torch_call)(a)
    for i in range(3):
        call(i)
    times, i = [], 3
    while sum(times) < a.seconds:
        begin = time.perf_counter()
        call(i)
        times.append((time.perf_counter() - begin) / updates)
        i += 1
    times.sort()
    print(json.dumps({
        "peer": a.peer, "updates_a_call": updates, "milliseconds": round(1e3 * times[len(times) // 2], 4), "best_milliseconds": round(1e3 * times[len(times) // 20], 4), **about,
    }))


if __name__ == "__main__":
    main()
