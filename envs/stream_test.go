package envs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// Policies of all sizes act as their network says, evaluated afterwards on the observations that the rollout kept: in trajectories longer than
// a dispatch, of more environments than lanes.
func TestRolloutNetworks(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		env       string
		net       nn.MLP
		normalize bool
		forms     []networkForm
	}{
		{"CartPole-v1", nn.MLP{Hidden: []int{16, 8}, Activation: nn.Tanh}, true, []networkForm{networkLanes, networkStream, networkOwn}},
		{"CartPole-v1", nn.MLP{Hidden: []int{256, 256}, Activation: nn.ReLU}, false, []networkForm{networkStream}},
		{"Pendulum-v1", nn.MLP{Hidden: []int{33, 17, 9}, Activation: nn.ELU, LayerNorm: true}, true, []networkForm{networkStream}},
		{"Pendulum-v1", nn.MLP{Hidden: []int{9}, Activation: nn.Swish, LayerNorm: true}, true, []networkForm{networkLanes, networkStream, networkOwn}},
		{"Pendulum-v1", nn.MLP{Hidden: []int{7, 10}, Activation: nn.ELU, LayerNorm: true}, false, []networkForm{networkLanes, networkOwn}},
		{"Pendulum-v1", nn.MLP{}, false, []networkForm{networkStream}},
	} {
		for _, form := range c.forms {
			for _, environments := range []int{1, 3, 11} {
				t.Run(fmt.Sprint(c.env, "/", c.net.Hidden, "/form ", form, "/environments ", environments), func(t *testing.T) {
					checkRollout(t, engine.New(dev, engine.Seed(5)), c.env, c.net, c.normalize, form, environments)
				})
			}
		}
	}
}

func checkRollout(t *testing.T, eng *engine.Engine, name string, net nn.MLP, normalize bool, form networkForm, environments int) {
	ctx := t.Context()
	env, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	const members, horizon = 3, 5
	net.In, net.Out = env.ObsSize(), env.Action.Size()
	s := eng.NewState()
	defer s.Close()
	clock := engine.NewClock(s)
	ro, err := NewRollout(ctx, s, env, RolloutConfig{Members: members, Environments: environments, Horizon: horizon, Trajectory: true, Mode: true, Begin: true})
	if err != nil {
		t.Fatal(err)
	}
	ro.only = &form
	row := nn.Align(net.Size()) + nn.Align(net.Out)
	p := engine.Population(members)
	params := s.Tensor("params", engine.Float32, p, engine.Axis("parameter", row))
	policy := &Policy{Weights: nn.Weights{Params: params}, Network: net, LogStd: nn.Align(net.Size()), ObsLimit: 1.2}
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
	if err := ro.Init(ctx); err != nil {
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
		network.Forward(r, policy.Weights, policy.Normalizer, policy.ObsLimit, ro.Obs, outputs)
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
