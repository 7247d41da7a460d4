package envs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Policies of all sizes act as their network does in float64 on the recorded observations: in trajectories longer
// than a dispatch, of more environments than lanes.
func TestRolloutNetworks(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		env        string
		net        nn.MLP
		normalize  bool
		placements []Placement
	}{
		{"CartPole-v1", nn.MLP{Hidden: []int{16, 8}, Activation: nn.Tanh}, true, Placements()},
		{"CartPole-v1", nn.MLP{Hidden: []int{256, 256}, Activation: nn.ReLU}, false, []Placement{PlacementStream}},
		{"Pendulum-v1", nn.MLP{Hidden: []int{33, 17, 9}, Activation: nn.ELU, LayerNorm: true}, true, []Placement{PlacementStream}},
		{"Pendulum-v1", nn.MLP{Hidden: []int{9}, Activation: nn.Swish, LayerNorm: true}, true, Placements()},
		{"Pendulum-v1", nn.MLP{Hidden: []int{7, 10}, Activation: nn.ELU, LayerNorm: true}, false, []Placement{PlacementLanes, PlacementOwn}},
		{"Pendulum-v1", nn.MLP{}, false, []Placement{PlacementStream}},
	} {
		for _, placement := range c.placements {
			for _, environments := range []int{1, 3, 11} {
				t.Run(fmt.Sprint(c.env, "/", c.net.Hidden, "/", placement, "/environments ", environments), func(t *testing.T) {
					checkRollout(t, engine.New(dev, engine.Seed(5)), lookup(t, c.env), c.net, c.normalize, placement, environments)
				})
			}
		}
	}
}

// The returns of a policy differ between placements only by rounding: over 100 steps of swing-up, a difference of one
// part in 10^7 grows to at most 10^-4.
func TestPlacementsAgree(t *testing.T) {
	dev := open(t)
	const members, environments, horizon = 5, 3, 100
	var want []float32
	for _, placement := range Placements() {
		env, err := Lookup("CartPoleSwingUp-easy")
		if err != nil {
			t.Fatal(err)
		}
		eng := engine.New(dev, engine.Seed(3))
		s := eng.NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		net := nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: []int{8, 12}, Activation: nn.Tanh}
		policy := &Policy{Network: net, Placement: placement, Head: nn.Head{Kind: nn.Deterministic, Size: net.Out, Squash: true}}
		ro, err := NewRollout(t.Context(), s, env, RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Mode: true, Begin: true,
			Options: Options{TimeLimit: horizon, AutoReset: Disabled}, Policy: policy,
		})
		if err != nil {
			t.Fatal(err)
		}
		params := s.Tensor("params", engine.Float32, engine.Members(members), engine.Axis("parameter", nn.Align(net.Size())))
		policy.Params = params
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := engine.NewRng(1, engine.Stream("test"), 0, 0, 0)
		values := make([]float32, params.Len())
		for i := range values {
			values[i] = 0.5 * r.Normal()
		}
		if err := params.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		program, err := eng.Record(t.Name(), func(r *engine.Recorder) {
			ro.Record(r, clock, policy)
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Free()
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		sums, err := ro.Finished().ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count, returns := sums[:members*environments], sums[members*environments:2*members*environments]
		if want == nil {
			want = returns
		}
		distinct := map[float32]bool{}
		for i, got := range returns {
			distinct[got] = true
			if count[i] != 1 || !(math.Abs(float64(got-want[i])) <= 1e-4*math.Max(1, math.Abs(float64(want[i])))) {
				t.Errorf("%v, episode %d: %v episodes, return %v; want 1 and %v", placement, i, count[i], got, want[i])
			}
		}
		if len(distinct) < len(returns) {
			t.Errorf("%v: %d different returns of %d episodes", placement, len(distinct), len(returns))
		}
	}
}

func checkRollout(t *testing.T, eng *engine.Engine, env *Environment, net nn.MLP, normalize bool, placement Placement, environments int) {
	ctx := t.Context()
	const members, horizon = 3, 5
	net.In, net.Out = env.ObsSize(), env.Action.Size()
	s := eng.NewState()
	defer s.Close()
	clock := engine.NewClock(s)
	policy := &Policy{Network: net, Head: env.Action.Head(), ObsLimit: 1.2, Placement: placement}
	ro, err := NewRollout(ctx, s, env, RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Trajectory: true, Mode: true, Begin: true, Policy: policy,
	})
	if err != nil {
		t.Fatal(err)
	}
	row := nn.Align(net.Size() + net.Out)
	p := engine.Members(members)
	params := s.Tensor("params", engine.Float32, p, engine.Axis("parameter", row))
	policy.Params = params
	if normalize {
		policy.Normalizer = s.Tensor("normalizer", engine.Float32, p, engine.Axis("moment", 2), engine.Axis("feature", net.In))
	}
	outputs := s.Scratch("outputs", engine.Float32, engine.Time(horizon), p, engine.Environments(environments), engine.Axis("output", net.Out))
	network, err := nn.New(s, net, members, environments)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Zero(ctx); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*engine.Tensor{params, policy.Normalizer} {
		if x == nil {
			continue
		}
		values := make([]float32, x.Len())
		for i := range values {
			values[i] = float32(rand.NormFloat64() * 0.3)
		}
		if err := x.WriteFloat32(ctx, values); err != nil {
			t.Fatal(err)
		}
	}
	program, err := eng.Record(t.Name(), func(r *engine.Recorder) {
		ro.Record(r, clock, policy)
		network.Evaluate(r, policy.Weights, nn.Inputs{Parts: []*engine.Tensor{ro.Obs}, Normalizer: policy.Normalizer, Limit: policy.ObsLimit}, outputs)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(ctx); err != nil {
		t.Fatal(err)
	}
	y, err := outputs.ReadFloat32(ctx)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := ro.Action.ReadFloat32(ctx)
	if err != nil {
		t.Fatal(err)
	}
	logProbs, err := ro.LogProb.ReadFloat32(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, logProb := range logProbs {
		row := y[i*net.Out : (i+1)*net.Out]
		if env.Action.IsDiscrete() {
			best, sum := 0, 0.0
			for o, v := range row {
				if v > row[best] {
					best = o
				}
				sum += math.Exp(float64(v))
			}
			want := float64(row[best]) - math.Log(sum)
			if !(math.Abs(float64(logProb)-want) <= 1e-5) {
				t.Fatalf("transition %d: log-probability %v, want %v of outputs %v", i, logProb, want, row)
			}
			if other := row[1-best]; actions[i] != float32(best) && row[best]-other > 1e-5 {
				t.Fatalf("transition %d: action %v of outputs %v", i, actions[i], row)
			}
			continue
		}
		for o, v := range row {
			if a := actions[i*net.Out+o]; !(math.Abs(float64(a-v)) <= 1e-5*(1+math.Abs(float64(v)))) {
				t.Fatalf("transition %d: action %v, want the mode %v", i, a, v)
			}
		}
	}
}
