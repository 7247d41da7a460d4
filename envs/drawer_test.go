package envs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// drawnWorlds are worlds of each of the kernels that step: of floats, of words of bits, and of several agents.
func drawnWorlds(t *testing.T) []*Environment {
	t.Helper()
	return []*Environment{lookup(t, "Acrobot-v1"), lookup(t, minAtarBreakout().Name), sampleWorld(t).env}
}

// TestDrawnApart: what a kernel of its own draws is what the worlds' kernels draw, bit for bit: transitions, returns and log-probabilities, by a policy, by
// values with exploration, by the most likely actions, and at random.
func TestDrawnApart(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(31))
	values := func(p *Policy) { p.Head = nn.Head{Kind: nn.EpsilonGreedy, Size: p.Head.Size} }
	for _, env := range drawnWorlds(t) {
		for name, c := range map[string]struct {
			policy func(*Policy) // nil: at random
			mode   bool
			reset  AutoReset
		}{
			"policy": {policy: func(*Policy) {}}, "values": {policy: values}, "mode": {policy: func(*Policy) {}, mode: true}, "random": {},
			"episodes": {policy: func(*Policy) {}, reset: Disabled},
		} {
			t.Run(env.Name+"/"+name, func(t *testing.T) {
				cfg := RolloutConfig{
					Members: 3, Environments: 11, Horizon: 13, Trajectory: true, Mode: c.mode, Options: Options{TimeLimit: 9, AutoReset: c.reset},
				}
				var forms [2]*fixture
				for i := range forms {
					cfg.drawsApart = i == 1
					if c.policy == nil {
						forms[i] = fixtureIn(t, eng, env, cfg, nil)
						continue
					}
					forms[i] = fixtureIn(t, eng, env, cfg, small, c.policy, func(p *Policy) { p.Placement = PlacementStepped })
				}
				if forms[0].ro.drawer != nil || forms[1].ro.drawer == nil {
					t.Fatal("the forms are not what the test wants")
				}
				for range 2 {
					compareDrawn(t, forms)
				}
			})
		}
	}
}

// compareDrawn advances both and compares what they leave.
func compareDrawn(t *testing.T, forms [2]*fixture) {
	t.Helper()
	for _, f := range forms {
		if f.ro.drawer != nil {
			if err := f.ro.drawer.drawn.Fill(t.Context(), float32(math.NaN())); err != nil {
				t.Fatal(err)
			}
		}
		f.advance()
	}
	done := [2][]uint32{forms[0].words(forms[0].ro.Done), forms[1].words(forms[1].ro.Done)}
	if !slices.Equal(done[0], done[1]) {
		t.Fatal("flags differ")
	}
	tensors := func(f *fixture) []*engine.Tensor {
		return []*engine.Tensor{f.ro.Obs, f.ro.Action, f.ro.LogProb, f.ro.Reward, f.ro.NextObs, f.ro.finished}
	}
	for k, of := range tensors(forms[0]) {
		held, apart := forms[0].floats(of), forms[1].floats(tensors(forms[1])[k])
		each := max(1, len(held)/len(done[0]))
		for i, want := range held {
			if k < 5 && Done(done[0][i/each])&Void != 0 {
				continue // what a step after the end has means nothing
			}
			if got := apart[i]; math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("element %d of %v is %g where actions are drawn apart, and %g where they are not", i, of, got, want)
			}
		}
	}
}

// pickGLSL is a world with many actions, which observes the last one.
const pickGLSL = `// environment: Pick-v0
#include "engine/rng.glsl"
#define STATE_SIZE 2
#define OBS_SIZE 1
#define ACTION_SIZE 1000
#define DISCRETE 1
void env_reset(out float s[STATE_SIZE], inout Rng rng) { s[0] = rng_uniform(rng); s[1] = 0.0; }
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    s[0] = float(action) / 1000.0;
    s[1] += 1.0;
    reward = s[0];
    terminated = s[1] >= 5.0;
}
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { obs[0] = s[0]; }
`

func pickWorld(t *testing.T) *Environment {
	t.Helper()
	var r Registry
	spec := Spec{Name: "Pick-v0", Observation: Symmetric(1), Action: Discrete(1000), State: []string{"last", "steps"}, MaxSteps: 20}
	if err := r.Register(spec, pickGLSL); err != nil {
		t.Fatal(err)
	}
	env, err := r.Lookup("Pick-v0")
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestManyActions: a world in GLSL of a thousand actions. Each action is the one that the world took, with the log-probability of the network in float64, and a
// broken network ends no episode with a return.
func TestManyActions(t *testing.T) {
	eng, env := engine.New(open(t), engine.Seed(32)), pickWorld(t)
	cfg := RolloutConfig{Members: 2, Environments: 13, Horizon: 6, Trajectory: true}
	for _, random := range []bool{false, true} {
		network := small
		if random {
			network = nil
		}
		f := fixtureIn(t, eng, env, cfg, network)
		f.advance()
		obs, actions, rewards, logProbs := f.floats(f.ro.Obs), f.floats(f.ro.Action), f.floats(f.ro.Reward), f.floats(f.ro.LogProb)
		different := map[float32]bool{}
		for i, a := range actions {
			different[a] = true
			want := -math.Log(1000)
			if !random {
				want = logSoftmax(f.outputs(i%26/13, obs[i:i+1]), int(a))
			}
			if math.Abs(float64(rewards[i]-a/1000)) > 1e-6 || !(math.Abs(float64(logProbs[i])-want) <= 1e-5*math.Abs(want)) {
				t.Fatalf("random %v, transition %d: action %g, reward %g, log-probability %g; want %g and %g", random, i, a, rewards[i], logProbs[i], a/1000, want)
			}
		}
		if len(different) < 100 {
			t.Errorf("random %v: %d different actions of %d", random, len(different), len(actions))
		}
		if random {
			continue
		}
		f.params[0] = float32(math.NaN()) // of the first member
		f.begin()
		f.advance()
		ends := f.floats(f.ro.finished)
		for i, n := range ends[:26] {
			if sum := ends[26+i]; n == 0 || (sum != sum) != (i < 13) {
				t.Errorf("environment %d: %g episodes with the sum of returns %g; want numbers except for the broken member", i, n, sum)
			}
		}
		policy := *f.policy
		policy.Placement = PlacementLanes
		if _, err := f.ro.Placement(&policy, eng.Device().Info()); err == nil || !strings.Contains(err.Error(), "more than 48 actions") {
			t.Errorf("placement lanes: %v", err)
		}
	}
}

// logSoftmax is the log-probability of a logit in float64.
func logSoftmax(y []float64, chosen int) float64 {
	top, sum := slices.Max(y), 0.0
	for _, v := range y {
		sum += math.Exp(v - top)
	}
	return y[chosen] - top - math.Log(sum)
}

// TestHostedForms: actions in worlds that the host steps are the same bits whether outputs are held or read from memory.
func TestHostedForms(t *testing.T) {
	const members, environments = 3, 7
	box := Box([]float32{-2, 0}, []float32{6, 1})
	bins := func(p *Policy) { p.Head = nn.Head{Kind: nn.Binned, Size: 2, Bins: 7} }
	for name, c := range map[string]struct {
		action Space
		head   func(*Policy)
		form   ActionForm
		mode   bool
	}{
		"logits": {action: Discrete(48), head: func(*Policy) {}}, "mode": {action: Discrete(48), head: func(*Policy) {}, mode: true},
		"random": {action: Discrete(48)},
		"values": {action: Discrete(47), head: func(p *Policy) { p.Head = nn.Head{Kind: nn.EpsilonGreedy, Size: 47, Dueling: true} }},
		"bins":   {action: box, head: bins}, "applied bins": {action: box, head: bins, form: Applied},
	} {
		t.Run(name, func(t *testing.T) {
			env := echoEnvironment(t, c.action, newEcho(members*environments))
			cfg := RolloutConfig{Members: members, Environments: environments, Horizon: 4, Trajectory: true, Actions: c.form, Mode: c.mode}
			network := small
			if c.head == nil {
				network = nil
			}
			f := fixtureIn(t, engine.New(open(t), engine.Seed(33)), env, cfg, network, func(p *Policy) {
				c.head(p)
				net := p.Network.(nn.MLP)
				net.Out = p.Head.Outputs()
				p.Network = net
			})
			h := f.ro.hosted
			var forms [2][]float32
			for i := range forms {
				for _, x := range []*engine.Tensor{f.ro.Action, f.ro.LogProb} {
					if err := x.Fill(t.Context(), float32(math.NaN())); err != nil {
						t.Fatal(err)
					}
				}
				f.run(func(r *engine.Recorder) {
					if f.policy != nil {
						f.ro.stepped.evaluate(r, f.policy)
					}
					act, err := h.acting(r, &f.clock, f.policy, 0)
					if err != nil {
						t.Fatal(err)
					}
					if _, ok := act.(hostedActKernel); !ok {
						t.Fatalf("actions are drawn by %T", act)
					}
					if i == 1 {
						act = h.actingLogits(r, &f.clock, f.policy, 0)
					}
					r.Repeat(3, func(r *engine.Recorder, n engine.Counter) {
						act.record(r, n, section{0, 5}) // in two parts
						act.record(r, n, section{5, members*environments - 5})
					})
				})
				chosen, err := engine.Mapped[float32](h.chosen)
				if err != nil {
					t.Fatal(err)
				}
				forms[i] = slices.Concat(chosen, f.floats(f.ro.Action), f.floats(f.ro.LogProb))
			}
			for i, want := range forms[0] {
				if got := forms[1][i]; math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("element %d is %g of outputs in memory, and %g of held ones", i, got, want)
				}
			}
		})
	}
}

// TestDrawsOfMany: many actions have their probabilities, and successive ones are independent.
func TestDrawsOfMany(t *testing.T) {
	const members, environments, horizon = 2, 40, 1000
	for _, n := range []int{49, 64, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			env := echoEnvironment(t, Discrete(n), newEcho(members*environments))
			cfg := RolloutConfig{Members: members, Environments: environments, Horizon: horizon, Trajectory: true}
			f := fixtureIn(t, engine.New(open(t), engine.Seed(34)), env, cfg, &nn.MLP{Hidden: []int{5}})
			logits := func(m int) []float64 {
				y := make([]float64, n)
				for a := range y {
					y[a] = math.Sin(float64(a)*0.37 + float64(m))
				}
				return y
			}
			clear(f.params)
			layers := f.policy.Network.Layers()
			for m := range members {
				for o, y := range logits(m) {
					f.params[m*f.policy.Row()+layers[len(layers)-1].Bias+o] = float32(y)
				}
			}
			f.begin()
			f.advance()
			actions := f.floats(f.ro.Action)
			for m := range members {
				counts, expected := make([]float64, n), make([]float64, n)
				var pairs, pairsExpected [4]float64 // of actions in the lower and the upper half
				var half [2]float64
				for a := range n {
					p := math.Exp(logSoftmax(logits(m), a))
					expected[a] = p * environments * horizon
					half[2*a/n] += p
				}
				for e := range environments {
					for step := range horizon {
						a := int(actions[(step*members+m)*environments+e])
						counts[a]++
						if step%2 == 1 {
							before := int(actions[((step-1)*members+m)*environments+e])
							pairs[2*(2*before/n)+2*a/n]++
						}
					}
				}
				for i := range pairs {
					pairsExpected[i] = half[i/2] * half[i%2] * environments * horizon / 2
				}
				chi, chiPairs := chiSquare(counts, expected), chiSquare(pairs[:], pairsExpected[:])
				t.Logf("member %d: chi-square %.1f of %d, pairs %.1f of 3 degrees of freedom", m, chi, n-1, chiPairs)
				if chi > quantile(float64(n-1)) || chiPairs > quantile(3) {
					t.Errorf("member %d: chi-square %.1f, of pairs %.1f; want at most %.1f and %.1f", m, chi, chiPairs, quantile(float64(n-1)), quantile(3))
				}
			}
		})
	}
}
