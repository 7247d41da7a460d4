#!/usr/bin/env python3
"""The peer that evorl's MNIST generations are timed against: EvoJAX's network and PGPE, in JAX.

A generation of EvoJAX's example (Y. Tang et al. 2022, github.com/google/evojax): 64 candidates, mirrored about the
centre, each with weights of its own (11,274), the mean log-likelihood of the same 1,024 images of 28 x 28, centred ranks
and the update of centre and deviations. The images are noise: the time does not depend on them. The code is ours.

Two settings: --conv lax is how EvoJAX's users have it, a vmap over XLA's convolution; --conv patches, the default, makes
convolutions products of patches, which XLA computes four times faster on two cores, candidates one after the other
(lax.map) so that they stay in the cache.

    python tools/peers/mnist_jax.py --generations 3
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp

POPULATION, IMAGES, SHAPES = 64, 1024, [(5, 5, 1, 8), (5, 5, 8, 16), (784, 10)]
SIZES = [(5 * 5 * 1 * 8, 8), (5 * 5 * 8 * 16, 16), (7840, 10)]
SIZE = sum(w + b for w, b in SIZES)


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--generations", type=int, default=3)
    p.add_argument("--conv", choices=("patches", "lax"), default="patches")
    return p.parse_args()


def unpack(row):
    out, at = [], 0
    for shape, (w, b) in zip(SHAPES, SIZES):
        out.append((row[at : at + w].reshape(shape), row[at + w : at + w + b]))
        at += w + b
    return out


def convolution(x, w, how):
    if how == "lax":
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    rows, columns = x.shape[1:3]
    x = jnp.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)))
    patches = jnp.concatenate([x[:, i : i + rows, j : j + columns] for i in range(5) for j in range(5)], 3)
    return patches @ w.reshape(-1, w.shape[3])


def pool(x):
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).max((2, 4))


def likelihood(row, images, labels, how):
    (w0, b0), (w1, b1), (w2, b2) = unpack(row)
    x = pool(jax.nn.relu(convolution(images, w0, how) + b0))
    x = pool(jax.nn.relu(convolution(x, w1, how) + b1))
    scores = jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ w2 + b2)
    return jnp.take_along_axis(scores, labels[:, None], 1).mean()


def generation(how):
    def step(carry, key):
        centre, deviation = carry
        k_noise, k_image, k_label = jax.random.split(key, 3)
        images = jax.random.uniform(k_image, (IMAGES, 28, 28, 1))
        labels = jax.random.randint(k_label, (IMAGES,), 0, 10)
        noise = deviation * jax.random.normal(k_noise, (POPULATION // 2, SIZE))
        rows = jnp.concatenate([centre + noise, centre - noise])
        if how == "lax":
            fitness = jax.vmap(lambda r: likelihood(r, images, labels, how))(rows)
        else:
            fitness = jax.lax.map(lambda r: likelihood(r, images, labels, how), rows)
        ranks = jnp.argsort(jnp.argsort(fitness)) / (POPULATION - 1) - 0.5
        plus, minus = ranks[: POPULATION // 2], ranks[POPULATION // 2 :]
        centre = centre + 0.006 * ((plus - minus) @ noise)
        spread = ((plus + minus) / 2) @ ((noise**2 - deviation**2) / deviation)
        return (centre, jnp.maximum(deviation + 0.089 * spread, 1e-4)), fitness.mean()

    return step


def main():
    a = parse_arguments()
    run = lambda key: jax.lax.scan(generation(a.conv), (jnp.zeros(SIZE), jnp.full(SIZE, 0.039)), jax.random.split(key, a.generations))[1]
    begin = time.time()
    compiled = jax.jit(run).lower(jax.random.key(0)).compile()
    ready = time.time()
    fitness = compiled(jax.random.key(0)).block_until_ready()
    seconds = time.time() - ready
    print(json.dumps({
        "conv": a.conv, "generations": a.generations, "seconds_a_generation": round(seconds / a.generations, 2), "compile_seconds": round(ready - begin, 2),
        "fitness": round(float(fitness[-1]), 3), "device": jax.devices()[0].device_kind, "jax": jax.__version__,
    }))


if __name__ == "__main__":
    main()
