package engine

import "math/bits"

// Permute returns the position of x, 0 <= x < n <= 2^31 (0 for n = 0), under a keyed permutation of [0, n), computed as in
// shaders/engine/permutation.glsl: an eight-round Feistel network over the next even power of two (M. Luby, C. Rackoff, 1988),
// repeated until the result is inside the domain (cycle walking: J. Black, P. Rogaway, 2002).
func Permute(x, n uint32, key [4]uint32) uint32 {
	if n == 0 {
		return 0
	}
	half := (bits.Len32(n-1) + 1) / 2
	mask := uint32(1)<<half - 1
	for {
		left, right := x>>half, x&mask
		for round := range 8 {
			left, right = right, left^(permutationMix(right+key[round%4]+uint32(round/4)*0x9E3779B9)&mask)
		}
		if x = left<<half | right; x < n {
			return x
		}
	}
}

// permutationMix is the finalizer of MurmurHash3 (A. Appleby), a bijection of 32-bit words.
func permutationMix(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85EBCA6B
	x = (x ^ x>>13) * 0xC2B2AE35
	return x ^ x>>16
}
