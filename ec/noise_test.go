package ec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// ofGPU stands for as many splits as on a GPU.
const ofGPU = -1

// asGPU returns a device's properties as if it were a GPU.
func asGPU(info vk.Info) vk.Info {
	info.Type = vk.DiscreteGPU
	return info
}

// TestNoise compares candidates and weighted sums of their noise with float64, for populations and dimensions that
// are no multiple of a tile.
func TestNoise(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(11))
	for _, c := range []struct {
		members, dim, population    int
		mirrored, diagonal, squares bool
		table, splits               int
	}{
		{members: 1, dim: 1, population: 1, splits: 1},
		{members: 3, dim: 5, population: 7, diagonal: true, squares: true, splits: 3},
		{members: 2, dim: 37, population: 10, mirrored: true, squares: true, splits: 2},
		{members: 2, dim: 4, population: 9, mirrored: true, splits: 1},                                   // the last candidate has no mirrored twin
		{members: 1, dim: 1027, population: 6, mirrored: true, diagonal: true, squares: true, splits: 4}, // more splits than pairs
		{members: 2, dim: 30, population: 12, table: 333, squares: true, splits: 2},
		{members: 1, dim: 8, population: 6, mirrored: true, table: 16, splits: 1}, // the smallest table
		{members: 1, dim: 3, population: 70000, splits: 5},                        // more candidates than one loop of a software driver can take
		{members: 1, dim: 50001, population: 3, splits: 1},                        // GPUs share candidates among more workgroups than software drivers
		{members: 1, dim: 1027, population: 801, squares: true, splits: ofGPU},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			space := Space{Members: c.members, Dim: c.dim}
			s := eng.NewState()
			defer s.Close()
			clock := engine.NewClock(s)
			n := NewNoise(s, clock, space, c.population, c.mirrored)
			if c.table > 0 {
				if err := n.UseTable(s, c.table); err != nil {
					t.Fatal(err)
				}
			}
			if c.splits == ofGPU {
				gpu, own := n.splits(asGPU(eng.Device().Info())), n.Splits(eng.Device())
				if c.splits = gpu; gpu < 60 || eng.Device().Info().Type.GPU() && own != gpu {
					t.Fatalf("%d splits on GPUs, %d on this device; want at least 60 on GPUs", gpu, own)
				}
			}
			m := engine.Members(c.members)
			const count = 3 // candidates picked
			mean, spread := space.Tensor(s, "mean"), s.Tensor("spread", engine.Float32, m)
			if c.diagonal {
				spread = space.Tensor(s, "spreads")
			}
			step := s.Tensor("step", engine.Float32, m)
			weight := s.Tensor("weight", engine.Float32, m, candidates(c.population))
			pick := s.Tensor("pick", engine.Uint32, m, candidates(count))
			formed := s.Scratch("formed", engine.Float32, engine.Members(c.members*count), engine.Axis("parameter", space.Row()))
			last := s.Scratch("last", engine.Float32, m, engine.Axis("parameter", space.Row()))
			sums := []engine.Dim{engine.Axis("split", c.splits), m, engine.Axis("parameter", space.Row())}
			first, second := s.Scratch("first", engine.Float32, sums...), s.Scratch("second", engine.Float32, sums...)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(s.Zero(t.Context()))
			must(s.Poison(t.Context()))
			dice := rand.New(rand.NewPCG(uint64(c.dim), uint64(c.population)))
			fill := func(tensor *engine.Tensor, floor float64) []float32 {
				values := make([]float32, tensor.Len())
				for i := range values {
					values[i] = float32(floor + math.Abs(dice.NormFloat64()))
				}
				if tensor == mean || tensor.Len() == mean.Len() {
					for i := range values {
						if i%space.Row() >= space.Dim {
							values[i] = 0
						}
					}
				}
				must(tensor.WriteFloat32(t.Context(), values))
				return values
			}
			means, spreads, steps, weights := fill(mean, -1), fill(spread, 0.1), fill(step, 0.1), fill(weight, -0.7)
			picks := make([]uint32, pick.Len())
			for i := range picks {
				picks[i] = uint32(dice.IntN(c.population))
			}
			must(pick.WriteUint32(t.Context(), picks))
			const generation = 5
			must(clock.Tensor().WriteUint32(t.Context(), []uint32{generation, 99}))
			p, err := eng.Record("noise", func(r *engine.Recorder) {
				n.Candidates(r, mean, spread, Pick{Index: pick}, formed)
				n.Candidates(r, mean, spread, Pick{First: c.population - 1}, last)
				if c.squares {
					n.Sum(r, weight, -0.5, step, first, second)
				} else {
					n.Sum(r, weight, -0.5, nil, first, nil)
				}
			})
			must(err)
			defer p.Free()
			must(p.Run(t.Context()))

			draw := func(member, candidate int) []float64 { return n.Draw(eng.Seed(), member, candidate, generation) }
			if n.table != nil {
				table, err := n.table.ReadFloat32(t.Context())
				must(err)
				checkNormal(t, table)
				draw = func(member, candidate int) []float64 {
					return fromTable(table, eng.Seed(), c.mirrored, space, member, candidate, generation)
				}
			}
			read := func(tensor *engine.Tensor) []float32 {
				t.Helper()
				values, err := tensor.ReadFloat32(t.Context())
				must(err)
				return values
			}
			row, worst := space.Row(), 0.0
			check := func(what string, got []float32, want []float64, tolerance float64) {
				t.Helper()
				d := deviation(got, want)
				if worst = max(worst, d); !(d <= tolerance) {
					t.Errorf("%s: deviation %.1e; want at most %.1e", what, d, tolerance)
				}
			}
			candidate := func(member, number int) []float64 {
				want := make([]float64, row)
				for i, z := range draw(member, number) {
					deviation := float64(spreads[member])
					if c.diagonal {
						deviation = float64(spreads[member*row+i])
					}
					want[i] = float64(means[member*row+i]) + deviation*z
				}
				return want
			}
			gotFormed, gotLast, gotFirst := read(formed), read(last), read(first)
			for member := range c.members {
				for k := range count {
					at := member*count + k
					check("candidate", gotFormed[at*row:][:row], candidate(member, int(picks[at])), 2e-6)
				}
				check("last candidate", gotLast[member*row:][:row], candidate(member, c.population-1), 2e-6)
				wantFirst, wantSecond := make([]float64, row), make([]float64, row)
				for k := range c.population {
					w := float64(weights[member*c.population+k])
					for i, z := range draw(member, k) {
						wantFirst[i] -= 0.5 * w * z
						wantSecond[i] -= 0.5 * w * z * z
					}
				}
				if c.squares {
					for i := range wantFirst {
						wantFirst[i] /= float64(steps[member])
					}
				}
				check("first sum", total(gotFirst, c.splits, c.members, row, member), wantFirst, 5e-6)
				if c.squares {
					check("second sum", total(read(second), c.splits, c.members, row, member), wantSecond, 5e-6)
				}
			}
			t.Logf("largest deviation %.1e", worst)
		})
	}
}

// total adds the splits of a member's sums.
func total(parts []float32, splits, members, row, member int) []float32 {
	out := make([]float32, row)
	for i := range out {
		sum := 0.0
		for s := range splits {
			sum += float64(parts[(s*members+member)*row+i])
		}
		out[i] = float32(sum)
	}
	return out
}

// fromTable returns a candidate's noise from a table, beginning at the offset that its counter gives.
func fromTable(table []float32, seed uint32, mirrored bool, space Space, member, candidate, generation int) []float64 {
	sign := 1.0
	if mirrored {
		if candidate%2 == 1 {
			sign = -1
		}
		candidate /= 2
	}
	word := engine.Philox([2]uint32{seed, engine.Stream("noise")}, [4]uint32{uint32(member), uint32(candidate), uint32(generation), 0})[0]
	places := (len(table)-space.Row())/4 + 1
	at := 4 * (int(word) % places)
	out := make([]float64, space.Dim)
	for i := range out {
		out[i] = sign * float64(table[at+i])
	}
	return out
}

func checkNormal(t *testing.T, values []float32) {
	t.Helper()
	n, sum, square := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	if mean, variance := sum/n, square/n; math.Abs(mean) > 5/math.Sqrt(n) || math.Abs(variance-1) > 5*math.Sqrt(2/n) {
		t.Errorf("a table of %g numbers has mean %g and variance %g; want a standard normal distribution", n, mean, variance)
	}
}

// TestSplits: there are enough splits that no invocation sums more than a software driver allows.
func TestSplits(t *testing.T) {
	dev := open(t)
	eng := engine.New(dev)
	for _, c := range []struct {
		members, dim, population int
		mirrored                 bool
	}{{1, 1, 1, false}, {1, 5, 1 << 20, false}, {3, 5, 1 << 20, true}, {1, 1 << 20, 1 << 17, true}, {64, 1000, 40000, false}} {
		n := NewNoise(eng.NewState(), engine.Clock{}, Space{Members: c.members, Dim: c.dim}, c.population, c.mirrored)
		splits := n.Splits(dev)
		pairs := c.population
		if c.mirrored {
			pairs = (pairs + 1) / 2
		}
		if share := (pairs + splits - 1) / splits; splits < 1 || splits > pairs || share > 16384 {
			t.Errorf("%+v: %d splits of %d candidates each", c, splits, share)
		}
	}
}

// TestNoiseTableTooSmall: a small table gives one clear error.
func TestNoiseTableTooSmall(t *testing.T) {
	eng := engine.New(open(t))
	cfg := DefaultOpenES()
	cfg.NoiseTable = 39
	s := eng.NewState()
	defer s.Close()
	_, err := cfg.New(s, engine.NewClock(s), engine.NewHyper(s, 1), Space{Members: 1, Dim: 20})
	if err == nil || err.Error() != "ec: a noise table of 39 numbers for candidates of 20; want at least 40" {
		t.Errorf("error %v", err)
	}
}
