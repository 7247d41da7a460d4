"""evorl's noise of candidates: number i of candidate pair p in generation g is number i % 4 of Philox4x32-10 with key (seed, stream) and
counter (member 0, p, g, i / 4), by Box and Muller."""

import numpy as np


def fnv1a(text):
    h = 0x811C9DC5
    for b in text.encode():
        h = (h ^ b) * 0x01000193 & 0xFFFFFFFF
    return h


def philox(key, counter):
    key, c = list(key), list(counter)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ key[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def normals(seed, pair, generation, dim):
    z = []
    for block in range((dim + 3) // 4):
        w = philox((seed, fnv1a("ec/noise")), (0, pair, generation, block))
        for i in (0, 2):
            radius = np.sqrt(-2 * np.log(((w[i] >> 8) + 1) / 2**24))
            angle = 2 * np.pi * (w[i + 1] >> 8) / 2**24
            z += [radius * np.cos(angle), radius * np.sin(angle)]
    return np.array(z[:dim])
