#!/usr/bin/env python3
"""The peer that evorl's MAP-Elites and PGA-MAP-Elites are compared with: QDax's on gymnasium's Walker2d-v5.

Archive, variation, critics and gradients are QDax's (F. Chalumeau et al., 2023); episodes are MuJoCo's, one after the other. Settings are those of
configs/map-elites-walker2d.toml and configs/pga-me-walker2d.toml: policies and critics of two layers of 64, 100 candidates a
generation, a grid of 32 x 32 cells. A descriptor is the shares of an episode's steps after which each foot touches the ground: after which an end of its
capsule is within the contact margin. The score is the sum of the elites' returns. As there, the first candidates are one network whose parameters have
deviations of 0.1.

    python -m pip install --no-deps qdax==0.5.0   # after jax, flax, optax, scikit-learn and gymnasium[mujoco]
    python tools/peers/qdax_walker2d.py --method pga-me --evaluations 3000 --seed 1
"""

import argparse
import json
import sys
import time
import types

# QDax imports Brax for the annotations of types alone, and a version of it that current JAX does not run.
sys.modules["qdax.tasks.brax.v1.envs.base_env"] = types.SimpleNamespace(QDEnv=object)

import gymnasium
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from qdax.core.containers.mapelites_repertoire import MapElitesRepertoire, compute_euclidean_centroids
from qdax.core.emitters.mutation_operators import isoline_variation
from qdax.core.emitters.pga_me_emitter import PGAMEConfig, PGAMEEmitter
from qdax.core.emitters.standard_emitters import MixingEmitter
from qdax.core.neuroevolution.buffers.buffer import QDTransition
from qdax.core.neuroevolution.networks.networks import MLP

POPULATION, CELLS, CHUNK, WIDTH = 100, (32, 32), 1000, 47  # transitions go into the replay in pieces of one size, which compile once
FEET = ("foot_geom", "foot_left_geom")


class Walker:
    """Episodes of Walker2d-v5, with the contacts of the feet."""

    observation_size, action_size, state_descriptor_length = 17, 6, 2  # what QDax's emitters ask of an environment

    def __init__(self, seed, activation):
        self.env = gymnasium.make("Walker2d-v5")
        self.model, self.data = self.env.unwrapped.model, self.env.unwrapped.data
        self.feet = [self.model.geom(name).id for name in FEET]
        self.margin = max(self.model.geom("floor").margin[0], *(self.model.geom_margin[f] for f in self.feet))
        self.activation = np.tanh if activation == "tanh" else lambda x: np.maximum(x, 0)
        self.env.reset(seed=seed)

    def touching(self):
        """1 for each foot of which an end of the capsule is within the margin of the ground."""
        mujoco.mj_kinematics(self.model, self.data)  # positions after the step, not before its last part
        out = np.zeros(2, np.float32)
        for i, f in enumerate(self.feet):
            radius, half = self.model.geom_size[f, :2]
            out[i] = self.data.geom_xpos[f, 2] - half * abs(self.data.geom_xmat[f, 8]) - radius <= self.margin
        return out

    def episode(self, layers):
        """The return, the descriptor, and rows of transitions as QDax flattens them."""
        obs, _ = self.env.reset()
        feet, rows, total, done = self.touching(), [], 0.0, False
        contacts = np.zeros(2)
        while not done:
            action = obs.astype(np.float32)
            for w, b in layers[:-1]:
                action = self.activation(action @ w + b)
            action = np.tanh(action @ layers[-1][0] + layers[-1][1])
            after, reward, terminated, truncated, _ = self.env.step(action)
            now, done = self.touching(), terminated or truncated
            rows.append(np.concatenate([obs, after, [reward, terminated, truncated], action, feet, now]))
            obs, feet, total, contacts = after, now, total + reward, contacts + now
        return total, contacts / len(rows), np.array(rows, np.float32)

    def score(self, genotypes):
        """Fitness, descriptors and transitions of policies."""
        named = jax.tree_util.tree_map(np.asarray, genotypes)["params"]
        layers = [(named[n]["kernel"], named[n]["bias"]) for n in sorted(named)]
        out = [self.episode([(w[i], b[i]) for w, b in layers]) for i in range(len(layers[0][1]))]
        return jnp.array([o[0] for o in out]), jnp.array([o[1] for o in out]), np.concatenate([o[2] for o in out])


def transition(rows):
    """Flat rows as transitions."""
    o, a, d = Walker.observation_size, Walker.action_size, Walker.state_descriptor_length
    dummy = QDTransition.init_dummy(observation_dim=o, action_dim=a, descriptor_dim=d)
    return QDTransition.from_flatten(jnp.asarray(rows), dummy)


def emitter(method, network, walker):
    variation = lambda x, y, key: isoline_variation(x, y, key, iso_sigma=0.005, line_sigma=0.05)
    if method == "map-elites":
        return MixingEmitter(mutation_fn=None, variation_fn=variation, variation_percentage=1.0, batch_size=POPULATION)
    config = PGAMEConfig(env_batch_size=POPULATION, critic_hidden_layer_size=(64, 64), replay_buffer_size=500_000)  # all else by default
    return PGAMEEmitter(config=config, policy_network=network, env=walker, variation_fn=variation)


class Transitions:
    """Transitions on their way into the replay; those that do not fill a piece wait for the next generation."""

    def __init__(self):
        self.waiting = np.zeros((0, WIDTH), np.float32)
        self.insert = jax.jit(lambda ring, rows: ring.insert(rows), donate_argnums=0)

    def add(self, rows):
        """The last piece, and the pieces before it."""
        rows = np.concatenate([self.waiting, rows])
        at = [i * CHUNK for i in range(len(rows) // CHUNK)]
        self.waiting = rows[at[-1] + CHUNK :]
        pieces = [transition(rows[i : i + CHUNK]) for i in at]
        return pieces[-1], pieces[:-1]

    def store(self, state, pieces):
        if not pieces:
            return state
        first, *others = state.emitter_states
        ring = first.replay_buffer
        for piece in pieces:
            ring = self.insert(ring, piece)
        return state.replace(emitter_states=(first.replace(replay_buffer=ring), *others))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--method", choices=["map-elites", "pga-me"], default="pga-me")
    p.add_argument("--evaluations", type=int, default=1500)
    p.add_argument("--activation", choices=["relu", "tanh"], default="relu", help="of policies; QDax's critics have relu (default relu)")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    walker, key = Walker(args.seed, args.activation), jax.random.key(args.seed)
    uniform = jax.nn.initializers.variance_scaling(1 / 3, "fan_in", "uniform")
    network = MLP(layer_sizes=(64, 64, 6), activation=getattr(jax.nn, args.activation), kernel_init=uniform, final_activation=jnp.tanh)
    key, k_start, k_noise, k_init = jax.random.split(key, 4)
    start, tree = network.init(k_start, jnp.zeros(17)), jax.tree_util
    keys = tree.tree_unflatten(tree.tree_structure(start), jax.random.split(k_noise, len(tree.tree_leaves(start))))
    genotypes = tree.tree_map(lambda x, k: x + 0.1 * jax.random.normal(k, (POPULATION, *x.shape)), start, keys)
    of, repertoire, transitions, steps = emitter(args.method, network, walker), None, Transitions(), 0
    emit, update = jax.jit(of.emit), jax.jit(of.state_update, donate_argnums=0)
    for done in range(POPULATION, args.evaluations + 1, POPULATION):
        key, k_emit = jax.random.split(key)
        if repertoire is not None:
            genotypes, _ = emit(repertoire, state, k_emit)
        fitnesses, descriptors, rows = walker.score(genotypes)
        steps += len(rows)
        last, pieces = transitions.add(rows)
        if repertoire is None:
            centroids = compute_euclidean_centroids(grid_shape=CELLS, minval=0.0, maxval=1.0)
            repertoire = MapElitesRepertoire.init(genotypes, fitnesses, descriptors, centroids)
            state = of.init(k_init, repertoire, genotypes, fitnesses, descriptors, {"transitions": last})
            state = tree.tree_map(jnp.copy, state)  # buffers of their own, to be donated
        else:
            repertoire = repertoire.add(genotypes, descriptors, fitnesses)
        if args.method == "pga-me":
            state = update(transitions.store(state, pieces), repertoire, genotypes, fitnesses, descriptors, {"transitions": last})
        elites = np.asarray(repertoire.fitnesses).ravel()
        elites = elites[np.isfinite(elites)]
        print(json.dumps({
            "peer": "qdax", "method": args.method, "seed": args.seed, "evaluations": done, "steps": steps, "coverage": len(elites) / np.prod(CELLS),
            "qd_score": float(elites.sum()), "best": float(elites.max()), "cpu_seconds": round(time.process_time(), 1),
        }), flush=True)


main()
