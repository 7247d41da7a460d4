package problem

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestVirtualBatchNorm: candidates, and solutions, of a search with virtual batch normalization act as the equal networks without it, whatever the
// windows; the reference batch is of observations of the member's random steps, and its moments decide.
func TestVirtualBatchNorm(t *testing.T) {
	const members, population, random, rows = 2, 5, 1300, 50
	for _, c := range []struct {
		name   string
		bytes  int // of a window
		sample bool
	}{{"CartPole-v1", windowBytes, false}, {"Pendulum-v1", 1, true}} { // a window of one candidate, with parameters of the head
		t.Run(c.name, func(t *testing.T) {
			env := lookup(t, c.name)
			network, cfg := DefaultNetwork(), DefaultPolicy()
			network.NormalizeObs, network.RandomSteps, network.VirtualBatchNorm, cfg.Sample = VirtualBatch, random, rows, c.sample
			of := func(network NetworkConfig) *policy {
				p := Policy(env, envs.Options{TimeLimit: 100}, network, cfg).(*policy)
				p.memory = c.bytes
				return p
			}
			eng, p := engine.New(open(t), engine.Seed(6)), of(network)
			g := newGeneration(t, eng, p, members, population)
			candidates := p.Start(3, 4, members*population) // scales of 1
			at := p.Space(members).Dim - p.scales()
			g.set(func(m, c int) []float32 {
				row := candidates[(m*population+c)*p.Space(members).Dim:][:p.Space(members).Dim]
				row[at+c] = 2 // not all scales
				return row
			})
			g.run()

			const horizon = 100
			environments, obs := random/horizon, env.ObsSize()
			seen, _ := trajectory(t, eng, "virtual_batch", env, envs.RolloutConfig{
				Members: members, Environments: environments, Horizon: horizon, Options: envs.Options{TimeLimit: 100},
			}, 0, nil)
			for i, x := range g.floats(g.e.observations.reference) {
				row := i / obs % rows * random / rows
				if want := seen[((row/environments*members+i/(rows*obs))*environments+row%environments)*obs+i%obs]; x != want {
					t.Fatalf("float %d of the reference batch is %v; want %v", i, x, want)
				}
			}

			// The same networks without normalization of layers act alike.
			solutions := g.state.Scratch("solutions", engine.Float32, engine.Members(members), engine.Axis("parameter", g.row))
			for m := range members {
				g.must(solutions.Index(m).WriteFloat32(t.Context(), g.floats(g.candidates.Index(m*population))))
			}
			returns, err := g.e.Evaluate(t.Context(), solutions, 3)
			g.must(err)
			ev, err := g.e.Evaluator(t.Context(), solutions)
			g.must(err)
			network.VirtualBatchNorm = 0
			plain := newGeneration(t, eng, of(network), members, population)
			apart := eng.NewState()
			t.Cleanup(func() { g.must(apart.Close()) })
			v, err := nn.NewVirtualBatch(apart, p.model(), members, population, rows, p.head().Parameters())
			g.must(err)
			program, err := eng.Record("all", func(r *engine.Recorder) {
				o := g.e.observations
				v.Record(r, g.candidates, nn.Inputs{Parts: []*engine.Tensor{o.reference}, Normalizer: o.values(), Limit: float32(network.ObsLimit)})
			})
			g.must(err)
			defer program.Free()
			g.must(program.Run(t.Context()))
			folded := g.floats(v.Folded())
			row := len(folded) / (members * population)
			plain.set(func(m, c int) []float32 { return folded[(m*population+c)*row:][:row] })
			plain.run()
			if got, want := g.floats(g.fitness), plain.floats(plain.fitness); !slices.Equal(got, want) {
				t.Errorf("fitness %v; want %v", got, want)
			}
			for m := range members {
				params, _, err := ev.Policy().Member(t.Context(), m)
				g.must(err)
				if want := folded[m*population*row:][:row]; !slices.Equal(params[:at], want[:at]) {
					t.Errorf("member %d's policy is %v; want %v", m, params, want)
				}
			}
			same := plain.state.Scratch("solutions", engine.Float32, engine.Members(members), engine.Axis("parameter", plain.row))
			for m := range members {
				g.must(same.Index(m).WriteFloat32(t.Context(), folded[m*population*row:][:plain.row]))
			}
			want, err := plain.e.Evaluate(t.Context(), same, 3)
			g.must(err)
			for m := range members {
				if !slices.Equal(returns.Returns[m], want.Returns[m]) {
					t.Errorf("member %d: returns %v; want %v", m, returns.Returns[m], want.Returns[m])
				}
			}
		})
	}
}

// TestVirtualBatchNormRefused: of actors that learn by gradients, of candidates of low rank, of more observations than there are.
func TestVirtualBatchNormRefused(t *testing.T) {
	env, network := lookup(t, "CartPole-v1"), DefaultNetwork()
	network.VirtualBatchNorm, network.RandomSteps = 11, 10
	for want, p := range map[string]ec.Problem{
		"11 observations of 10 random steps": Policy(env, envs.Options{}, network, DefaultPolicy()),
		"learn by gradients":                 Actors(env, envs.Options{}, network, env.Action.Head(), DefaultPolicy()),
	} {
		if err := p.(*policy).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	network.RandomSteps = 100
	if err := Policy(env, envs.Options{}, network, DefaultPolicy()).(ec.LowRankProblem).CheckLowRank(); err == nil {
		t.Error("candidates of low rank are accepted")
	}
}
