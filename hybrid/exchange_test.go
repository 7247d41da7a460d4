package hybrid

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// scramble fills every saved tensor with words of its own, so that a copy of the wrong thing shows, and the tensors of an exchange with
// what a test gives or must not see again.
func scramble(t testing.TB, p *PBT, rng *rand.Rand, iteration int, fitness []float32) {
	t.Helper()
	write := func(tensor *engine.Tensor, word func(i int) uint32) {
		t.Helper()
		data := make([]byte, 4*tensor.Len())
		for i := range tensor.Len() {
			binary.LittleEndian.PutUint32(data[4*i:], word(i))
		}
		if err := tensor.WriteBytes(t.Context(), data); err != nil {
			t.Fatal(err)
		}
	}
	for _, tensor := range p.State().Tensors() {
		name, isVelocity := strings.CutPrefix(tensor.Name(), "pbt/velocity/")
		name, isHyper := strings.CutPrefix(name, "hyper/")
		prior, searched := p.cfg.Search[name]
		low, high := ends(prior)
		write(tensor, func(i int) uint32 {
			switch {
			case tensor == p.Clock().Tensor():
				return uint32(iteration)
			case tensor == p.fitness:
				return math.Float32bits(fitness[i])
			case tensor == p.parent:
				return poison
			case isVelocity:
				return math.Float32bits(float32((high - low) * rng.NormFloat64() / 4))
			case isHyper && searched && i%4 == 0: // beyond the prior's range
				return math.Float32bits(float32(toValue(prior, high+0.01)))
			case isHyper && searched:
				return math.Float32bits(float32(toValue(prior, low+(high-low)*rng.Float64())))
			}
			return rng.Uint32()
		})
	}
	write(p.rank, func(int) uint32 { return poison })
}

// poison is a word that no exchange writes.
const poison = 0x7fdecade

// fitnesses are with ties, infinities and NaN.
func fitnesses(rng *rand.Rand, members int) []float32 {
	out := make([]float32, members)
	for i := range out {
		switch rng.IntN(8) {
		case 0:
			out[i] = float32(math.NaN())
		case 1:
			out[i] = float32(math.Inf(2*rng.IntN(2) - 1))
		case 2, 3:
			out[i] = 7 // a tie
		default:
			out[i] = float32(rng.NormFloat64())
		}
	}
	return out
}

// TestExchange compares whole exchanges with the model: every word of every tensor, but for the hyperparameters that move, which are
// near.
func TestExchange(t *testing.T) {
	for _, kind := range kinds {
		for _, members := range []int{2, 3, 33} {
			t.Run(fmt.Sprintf("%s of %d", kind.name, members), func(t *testing.T) {
				cfg := overPPO()
				cfg.Resample = 0.3
				cfg.Search["critic_weight"] = Prior{Uniform, -1, 2}
				p := kind.over(t, newPPO(t, 5, "CartPole-v1", small(members)), cfg)
				initialized(t, p)
				m := model{seed: 5, cfg: cfg, names: p.names, state: p.State()}
				rng := rand.New(rand.NewPCG(uint64(members), 1))
				moved := 0
				for iteration := range 6 {
					scramble(t, p, rng, iteration, fitnesses(rng, members))
					before := snapshot(t, p.State())
					run(t, p, p.recordExchange)
					got := snapshot(t, p.State())
					if kind.name == "pbt" {
						moved += compare(t, p, got, m.truncation(before, members, max(1, members/5), max(1, members/5)))
					} else {
						moved += compare(t, p, got, m.swarm(before, members))
					}
				}
				if moved == 0 {
					t.Error("nothing moved")
				}
			})
		}
	}
}

// compare counts the members that were replaced.
func compare(t *testing.T, p *PBT, got, want contents) (replaced int) {
	t.Helper()
	parents := want["pbt/parent"]
	if !slices.Equal(got["pbt/parent"], parents) {
		t.Fatalf("parents %d; want %d, fitness %v", got["pbt/parent"], parents, floats(want["pbt/fitness"]))
	}
	for i, parent := range parents {
		if int(parent) != i {
			replaced++
		}
	}
	for _, tensor := range p.State().Tensors() {
		name := tensor.Name()
		short := name[strings.LastIndex(name, "/")+1:]
		prior, moves := p.cfg.Search[short]
		_, isVelocity := strings.CutPrefix(name, "pbt/velocity/")
		for i, w := range want[name] {
			g := got[name][i]
			if g == w {
				continue
			}
			if !moves || int(parents[i]) == i {
				t.Fatalf("%v is %#x at %d; want %#x", tensor, g, i, w)
			}
			a, b := got.float(name, i), want.float(name, i)
			tolerance := 1e-5 * math.Abs(b)
			switch {
			case isVelocity || prior.Prior == Uniform: // sums that may cancel
				tolerance += 1e-5
			case prior.Prior == Horizon:
				tolerance = 2e-7 // a step of float32 below 1 is 6e-8
			}
			if !(math.Abs(a-b) <= tolerance) {
				t.Errorf("%s of member %d is %.9g; want %.9g", name, i, a, b)
			}
			low, high := ends(prior)
			if !isVelocity && !(a >= toValue(prior, low)*(1-1e-6)-1e-9 && a <= toValue(prior, high)*(1+1e-6)) {
				t.Errorf("%s of member %d is %.9g, outside its prior %+v", name, i, a, prior)
			}
		}
	}
	return replaced
}

func floats(words []uint32) []float32 {
	out := make([]float32, len(words))
	for i, w := range words {
		out[i] = math.Float32frombits(w)
	}
	return out
}

// TestChoosing runs the selection alone for populations that PBT itself refuses or does not care for.
func TestChoosing(t *testing.T) {
	for _, members := range []int{1, 2, 3, 5, 33, 257} {
		s := engine.New(open(t), engine.Seed(3)).NewState()
		t.Cleanup(func() { s.Close() })
		n := engine.Members(members)
		p := &PBT{Workflow: stub{state: s, clock: engine.NewClock(s)}, cfg: overPPO(), scope: s.Sub("pbt")}
		p.fitness, p.rank, p.parent = s.Tensor("fitness", engine.Float32, n), s.Tensor("rank", engine.Uint32, n), s.Tensor("parent", engine.Uint32, n)
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		fitness := make([]float32, members)
		for i := range fitness {
			fitness[i] = float32(i * 7 % members)
		}
		if err := p.fitness.WriteFloat32(t.Context(), fitness); err != nil {
			t.Fatal(err)
		}
		for _, e := range []chooser{
			newTruncation(members, 0.2, 0.2), newTruncation(members, 0, 1), newTruncation(members, 0.5, 0.5),
			newTruncation(members, 1, 0), &swarm{},
		} {
			words := slices.Repeat([]uint32{poison}, members)
			if err := p.parent.WriteUint32(t.Context(), words); err != nil {
				t.Fatal(err)
			}
			run(t, p, func(r *engine.Recorder) {
				engine.Rank(r, p.fitness, p.rank)
				e.choose(r, p)
			})
			parents, err := p.parent.ReadUint32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			replaced := 0
			for i, parent := range parents {
				if int(parent) >= members || parents[parent] != parent || fitness[parent] < fitness[i] {
					t.Fatalf("%T %+v of %d: parents %d; want survivors that are better", e, e, members, parents)
				}
				if int(parent) != i {
					replaced++
				}
			}
			want := members / 2
			if e, ok := e.(*truncation); ok {
				want = e.bottom
				if e.top+e.bottom > members || e.top < 1 {
					t.Errorf("%+v of %d", e, members)
				}
			}
			if replaced != want {
				t.Errorf("%T %+v of %d replaces %d; want %d", e, e, members, replaced, want)
			}
		}
	}
}

// stub is a workflow that has only a state and a clock.
type stub struct {
	engine.Workflow
	state *engine.State
	clock engine.Clock
}

func (s stub) State() *engine.State { return s.state }
func (s stub) Clock() engine.Clock  { return s.clock }
