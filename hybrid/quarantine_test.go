package hybrid

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// member is what a member has of a tensor [outer, M, inner].
func member(tensor *engine.Tensor, words []uint32, p int) []uint32 {
	outer, members, inner, ok := tensor.Split(engine.MemberAxis)
	if !ok {
		return nil
	}
	var own []uint32
	for o := range outer {
		own = append(own, words[(o*members+p)*inner:][:inner]...)
	}
	return own
}

// TestQuarantine: a member with an infinite learning rate breaks. Its updates are then refused and counted, no bit of another member
// differs from a run without it, and PBT replaces it.
func TestQuarantine(t *testing.T) {
	const members, broken = 4, 2
	for _, env := range []string{"CartPole-v1", "Pendulum-v1"} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s in %s", kind.name, env), func(t *testing.T) {
				cfg := early()
				cfg.Warmup, cfg.Interval = 4, 100
				delete(cfg.Search, "learning_rate") // it is to come from the parent
				begun := func(rate float32) *PBT {
					p := kind.over(t, newPPO(t, 2, env, small(members)), cfg)
					initialized(t, p)
					rates := slices.Repeat([]float32{3e-4}, members)
					rates[broken] = rate
					if err := p.inner.Hyper().Lookup("learning_rate").WriteFloat32(t.Context(), rates); err != nil {
						t.Fatal(err)
					}
					return p
				}
				healthy, sick := begun(3e-4), begun(float32(math.Inf(1)))
				steps(t, healthy, 0, 4)
				steps(t, sick, 0, 4)
				want, got := snapshot(t, healthy.State()), snapshot(t, sick.State())
				for _, tensor := range sick.State().Tensors() {
					for p := range members {
						if p != broken && !slices.Equal(member(tensor, got[tensor.Name()], p), member(tensor, want[tensor.Name()], p)) {
							t.Errorf("%v of member %d differs", tensor, p)
						}
					}
				}
				refused := got["agent/actor/optimizer/refused"]
				for p, n := range refused {
					if (n > 0) != (p == broken) {
						t.Errorf("refused updates %d; want some of member %d alone", refused, broken)
					}
					if updates := got["agent/actor/optimizer/updates"][p]; updates+n != 4*2 {
						t.Errorf("member %d: %d updates, %d refused; want 8 together", p, updates, n)
					}
				}
				m, err := sick.Metrics().Read(3)
				if err != nil {
					t.Fatal(err)
				}
				for p, norm := range m["gradient/norm"] {
					if (norm == -1) != (p == broken) {
						t.Errorf("gradient norms %v; want -1 of member %d alone", m["gradient/norm"], broken)
					}
					if scores := m["gradient/refused"][p]; float64(scores) != float64(refused[p]) {
						t.Errorf("metrics tell %g refused gradients of member %d; there were %d", scores, p, refused[p])
					}
				}

				steps(t, sick, 4, 5)
				after, err := sick.Members(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if env == "Pendulum-v1" && !math.IsNaN(after[broken].Fitness) {
					t.Errorf("fitness %g of a member whose actions are NaN; want NaN", after[broken].Fitness)
				}
				if after[broken].Parent == broken {
					t.Fatalf("the broken member was not replaced: %+v", after)
				}
				rates, err := sick.inner.Hyper().Lookup("learning_rate").ReadFloat32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for p, rate := range rates {
					if rate != 3e-4 {
						t.Errorf("learning rate %g of member %d", rate, p)
					}
				}
				for _, tensor := range sick.State().Tensors() {
					if tensor.Type() != engine.Float32 || tensor == sick.fitness {
						continue
					}
					values, err := tensor.ReadFloat32(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for i, v := range values {
						if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
							t.Fatalf("%v is %g at %d after the exchange", tensor, v, i)
						}
					}
				}
			})
		}
	}
}
