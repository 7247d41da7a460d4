"""evorl's random integers and keyed permutation in plain Python, written from their descriptions: Philox4x32-10, streams named by
FNV-1a, and an eight-round Feistel network over the next even power of two, walked until it falls inside the domain."""

WORD = 0xFFFFFFFF


def philox(key, counter):
    """Philox4x32-10 (Salmon et al., SC 2011): key of two words, counter of four."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        low, high = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (high >> 32) ^ c1 ^ k0, high & WORD, (low >> 32) ^ c3 ^ k1, low & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c0, c1, c2, c3


# The first and the last of the published vectors (Random123, kat_vectors).
assert philox((0, 0), (0, 0, 0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def stream(name):
    """FNV-1a, 32 bits."""
    h = 0x811C9DC5
    for byte in name.encode():
        h = ((h ^ byte) * 0x01000193) & WORD
    return h


def mix(x):
    """The finalizer of MurmurHash3."""
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & WORD
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & WORD
    return x ^ (x >> 16)


def permute(x, n, key):
    """The place of x < n."""
    half = ((n - 1).bit_length() + 1) // 2  # bits of either half
    mask = (1 << half) - 1
    while True:
        left, right = x >> half, x & mask
        for r in range(8):
            left, right = right, left ^ (mix((right + key[r % 4] + r // 4 * 0x9E3779B9) & WORD) & mask)
        x = left << half | right
        if x < n:
            return x


def minibatches(seed, member, iteration, epoch, n):
    """The order in which an epoch takes a member's n samples."""
    key = philox((seed, stream("minibatch")), (member, 0, iteration, epoch))
    order = [permute(i, n, key) for i in range(n)]
    assert sorted(order) == list(range(n))
    return order
