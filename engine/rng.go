package engine

import (
	"hash/fnv"
	"math"
	"math/bits"
)

// Philox is Philox4x32-10, a bijection of 128 bits under a 64-bit key: J. K. Salmon, M. A. Moraes, R. O. Dror,
// D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. shaders/engine/rng.glsl computes the same.
func Philox(key [2]uint32, counter [4]uint32) [4]uint32 {
	for round := range 10 {
		if round > 0 {
			key[0] += 0x9E3779B9 // golden ratio
			key[1] += 0xBB67AE85 // sqrt(3) - 1
		}
		high0, low0 := bits.Mul32(0xD2511F53, counter[0])
		high1, low1 := bits.Mul32(0xCD9E8D57, counter[2])
		counter = [4]uint32{high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0}
	}
	return counter
}

// Stream returns the number of the random stream for a purpose, e.g. "env" or "pbt/perturb/learning_rate": the 32-bit FNV-1a
// hash of its name. Streams of one seed are independent.
func Stream(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return h.Sum32()
}

// Rng draws the same numbers as struct Rng of shaders/engine/rng.glsl for the same seed, stream, member, environment
// and step. Integers and uniform numbers have the same bits; normal numbers agree to rounding. Draw d is word
// d mod 4 of Philox((seed, stream), (member, environment, step, d div 4)). The zero value has seed, stream and counters zero.
type Rng struct {
	key     [2]uint32
	counter [3]uint32
	draw    uint32
	block   [4]uint32 // of draw/4, valid while draw is not a multiple of 4
}

// NewRng returns the generator at its first draw.
func NewRng(seed, stream, member, environment, step uint32) *Rng {
	return &Rng{key: [2]uint32{seed, stream}, counter: [3]uint32{member, environment, step}}
}

// Uint32 returns a uniform 32-bit word; one draw.
func (r *Rng) Uint32() uint32 {
	word := r.draw % 4
	if word == 0 {
		r.block = Philox(r.key, [4]uint32{r.counter[0], r.counter[1], r.counter[2], r.draw / 4})
	}
	r.draw++
	return r.block[word]
}

// Uniform returns a number in [0, 1), a multiple of 2^-24; one draw.
func (r *Rng) Uniform() float32 {
	return float32(r.Uint32()>>8) * (1.0 / (1 << 24))
}

// UniformIn returns a number in [low, high); rounding may give high. One draw.
func (r *Rng) UniformIn(low, high float32) float32 {
	// The conversion forbids a fused multiply-add, as precise does in GLSL.
	return low + float32((high-low)*r.Uniform())
}

// Normal returns a standard normal number by the Box-Muller method; two draws. Its magnitude is at most 5.77.
func (r *Rng) Normal() float32 {
	u := float64(r.Uint32()>>8+1) / (1 << 24)
	v := float64(r.Uniform())
	return float32(math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v))
}
