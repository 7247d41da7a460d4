package engine

import (
	"math"
	"testing"
)

// The known answers are the Random123 library's, tests/kat_vectors, lines "philox4x32 10".
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{"zeros", [4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{"ones",
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{"pi",
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.key, c.counter); got != c.want {
			t.Errorf("%s: %08x, want %08x", c.name, got, c.want)
		}
	}
}

// The test values of FNV-1a are its authors' (draft-eastlake-fnv, "" and "foobar").
func TestStream(t *testing.T) {
	for name, want := range map[string]uint32{"": 0x811c9dc5, "foobar": 0xbf9cf968} {
		if got := Stream(name); got != want {
			t.Errorf("Stream(%q) = %#x, want %#x", name, got, want)
		}
	}
}

func TestRngDrawsByCounter(t *testing.T) {
	r := NewRng(1, 2, 3, 4, 5)
	for draw := range uint32(11) {
		want := Philox([2]uint32{1, 2}, [4]uint32{3, 4, 5, draw / 4})[draw%4]
		if got := r.Uint32(); got != want {
			t.Fatalf("draw %d: %#x, want %#x", draw, got, want)
		}
	}
}

func TestRngDistributions(t *testing.T) {
	const n = 200000
	r := NewRng(7, Stream("test"), 0, 0, 0)
	var uniform, normal [5]float64 // n, and moments 1 to 4
	for range n {
		u := float64(r.Uniform())
		if u < 0 || u >= 1 {
			t.Fatalf("uniform number %v outside [0, 1)", u)
		}
		z := float64(r.Normal())
		for k := range uniform {
			uniform[k] += math.Pow(u, float64(k)) / n
			normal[k] += math.Pow(z, float64(k)) / n
		}
	}
	for k, want := range []float64{1, 0, 1, 0, 3} {
		// Five standard errors: the variance of z^k is at most (2k-1)!! = 105 for k = 4.
		if tolerance := 5 * math.Sqrt([]float64{0, 1, 3, 15, 105}[k]/n); math.Abs(normal[k]-want) > tolerance+1e-9 {
			t.Errorf("moment %d of normal numbers: %v, want %v ± %v", k, normal[k], want, tolerance)
		}
		if want := 1 / float64(k+1); math.Abs(uniform[k]-want) > 5*math.Sqrt(1.0/12/n)+1e-9 {
			t.Errorf("moment %d of uniform numbers: %v, want %v", k, uniform[k], want)
		}
	}
	for range 1000 {
		if x := r.UniformIn(-2, 3); x < -2 || x > 3 {
			t.Fatalf("UniformIn(-2, 3) = %v", x)
		}
	}
}
