// A keyed permutation of [0, n), computed element by element: an eight-round Feistel network over the next even power
// of two (M. Luby, C. Rackoff, 1988), iterated until the result is in the domain (J. Black, P. Rogaway, 2002). Four
// rounds, enough for large n, would leave pairs of positions for n < 100 unevenly likely. engine/permutation.go is
// the same in Go.

// The finalizer of MurmurHash3 (A. Appleby), a bijection of 32-bit words.
uint permutation_mix(uint x) {
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}

#define PERMUTATION_ROUNDS(offset)                                                          \
    left ^= permutation_mix(right + (key.x + offset)) & mask;                               \
    right ^= permutation_mix(left + (key.y + offset)) & mask;                               \
    left ^= permutation_mix(right + (key.z + offset)) & mask;                               \
    right ^= permutation_mix(left + (key.w + offset)) & mask;

// The position of x, 0 <= x < n <= 2^31, under the permutation of the four key words.
uint permute(uint x, uint n, uvec4 key) {
    int half_bits = (findMSB(n - 1u) + 2) / 2;
    uint mask = (1u << half_bits) - 1u;
    do {
        uint left = x >> half_bits, right = x & mask;
        PERMUTATION_ROUNDS(0u)
        PERMUTATION_ROUNDS(0x9E3779B9u)
        x = (left << half_bits) | right;
    } while (x >= n);
    return x;
}
