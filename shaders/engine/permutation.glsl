// A keyed permutation of [0, n), computed element by element: a four-round Feistel network over the next even power of two
// (M. Luby, C. Rackoff, 1988), walked until it falls inside the domain (J. Black, P. Rogaway, 2002). engine/permutation.go is the same in Go.

// The finalizer of MurmurHash3 (A. Appleby), a bijection of 32-bit words.
uint permutation_mix(uint x) {
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}

// The place of x, 0 <= x < n <= 2^31, under the permutation of the four key words.
uint permute(uint x, uint n, uvec4 key) {
    int half_bits = (findMSB(n - 1u) + 2) / 2;
    uint mask = (1u << half_bits) - 1u;
    do {
        uint left = x >> half_bits, right = x & mask;
        for (int i = 0; i < 4; i++) {
            uint next = left ^ (permutation_mix(right + key[i]) & mask);
            left = right;
            right = next;
        }
        x = (left << half_bits) | right;
    } while (x >= n);
    return x;
}
