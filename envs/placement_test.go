package envs

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Networks of all kinds act as in float64 in every placement: at every observation of trajectories of one, several
// and more environments than a subgroup has lanes. Outputs are NaN before the rollout.
func TestPlacements(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		env          string
		net          nn.MLP
		environments []int
		placements   []Placement
	}{
		{"CartPole-v1", nn.MLP{Hidden: []int{16, 8}, Activation: nn.Tanh}, []int{1, 3, 11}, Placements()},
		{"CartPole-v1", nn.MLP{Hidden: []int{37, 29}, Activation: nn.ReLU}, []int{5}, Placements()[1:]},
		{"CartPole-v1", nn.MLP{Hidden: []int{301}, Activation: nn.Swish}, []int{2}, Placements()[2:]},
		{"Pendulum-v1", nn.MLP{Hidden: []int{9}, Activation: nn.Swish, LayerNorm: true}, []int{1, 19}, Placements()},
		{"Pendulum-v1", nn.MLP{Hidden: []int{13, 6}, Activation: nn.GELU}, []int{3}, Placements()},
		{"Pendulum-v1", nn.MLP{Hidden: []int{7, 10}, Activation: nn.ELU, LayerNorm: true}, []int{4}, Placements()},
		{"Pendulum-v1", nn.MLP{Hidden: []int{64, 64}, Activation: nn.Tanh, LayerNorm: true}, []int{9}, Placements()[1:]},
		{"Pendulum-v1", nn.MLP{Hidden: []int{50, 290}, Activation: nn.Linear}, []int{1}, Placements()[2:]},
		{"CartPoleSwingUp-easy", nn.MLP{Hidden: []int{256, 256}, Activation: nn.Tanh}, []int{1, 3}, Placements()[2:]},
	} {
		for _, placement := range c.placements {
			for _, environments := range c.environments {
				t.Run(fmt.Sprint(c.env, "/", c.net, "/", placement, "/", environments), func(t *testing.T) {
					cfg := RolloutConfig{Members: 3, Environments: environments, Horizon: 5, Trajectory: true, Mode: true}
					f := newFixture(t, engine.New(dev, engine.Seed(5)), c.env, cfg, &c.net, func(p *Policy) { p.Placement = placement })
					f.advance()
					f.checkActions()
				})
			}
		}
	}
}

// checkActions compares the policy's actions in a trajectory with its network in float64.
func (f *fixture) checkActions() {
	f.t.Helper()
	seen, actions, logProbs := f.floats(f.ro.Obs), f.floats(f.ro.Action), f.floats(f.ro.LogProb)
	for _, v := range append(f.floats(f.ro.Reward), f.floats(f.ro.NextObs)...) {
		if math.IsNaN(float64(v)) {
			f.t.Fatal("rewards or observations are missing")
		}
	}
	o, a, worst := f.env.ObsSize(), f.env.ActionWords(), 0.0
	for i := range logProbs {
		y := f.outputs(i/f.ro.cfg.Environments%f.ro.cfg.Members, seen[i*o:(i+1)*o])
		near := func(what string, got, want float64) {
			f.t.Helper()
			d := math.Abs(got-want) / max(1, math.Abs(want))
			worst = max(worst, d)
			if !(d <= 1e-5) {
				f.t.Fatalf("transition %d: %s is %v; want %v of outputs %v", i, what, got, want, y)
			}
		}
		action := actions[i*a : (i+1)*a]
		if f.env.Action.IsDiscrete() {
			near("log-probability", float64(logProbs[i]), f.logProb(0, y, action))
			for _, other := range y {
				if other > y[int(action[0])]+1e-5 {
					f.t.Fatalf("transition %d: action %v of outputs %v", i, action, y)
				}
			}
			continue
		}
		for j, v := range action {
			near("action", float64(v), y[j])
		}
	}
	f.t.Logf("largest deviation %.1e", worst)
}

// Rollouts without auto-reset end when the last episode ends, and count each episode once, also over several
// dispatches.
func TestPlacementsEnd(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(9))
	const members, environments = 2, 19
	var want []float32
	for _, placement := range Placements() {
		cfg := RolloutConfig{Members: members, Environments: environments, Horizon: 1100, Options: Options{TimeLimit: 60, AutoReset: Disabled}}
		f := newFixture(t, eng, "CartPole-v1", cfg, small, func(p *Policy) { p.Placement = placement })
		f.advance()
		finished := f.floats(f.ro.Finished())
		if want == nil {
			want = finished
		}
		lengths := map[float32]bool{}
		for i := range members * environments {
			count, length := finished[i], finished[2*members*environments+i]
			lengths[length] = true
			if count != 1 || length != want[2*members*environments+i] || finished[members*environments+i] != length {
				t.Errorf("%v: %v episodes of length %v end in environment %d; want 1 of %v", placement, count, length, i, want[2*members*environments+i])
			}
		}
		if len(lengths) < 5 {
			t.Errorf("%v: episodes of %d different lengths", placement, len(lengths))
		}
	}
}

// Placements that do not fit a device, and invalid ones, are errors that say so.
func TestPlacementErrors(t *testing.T) {
	f := newFixture(t, engine.New(open(t)), "CartPole-v1", RolloutConfig{Members: 1, Environments: 1, Horizon: 1}, &nn.MLP{Hidden: []int{1024, 1024}})
	for placement, want := range map[Placement]error{PlacementOwn: nn.ErrNoRoom, PlacementLanes: nn.ErrNoRoom, PlacementGroup: nn.ErrNoRoom, 17: nil} {
		f.policy.Placement = placement
		_, err := f.eng.Record("test", func(r *engine.Recorder) { f.ro.Record(r, f.clock, f.policy) })
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), placement.String()) {
			t.Errorf("%v: error %v", placement, err)
		}
	}
}

// Networks of seats act in the kernel or before it, and those that seats do not share before it only.
func TestSeatsPlacementErrors(t *testing.T) {
	eng := engine.New(open(t))
	env, err := Lookup("SimpleSpread-v3")
	if err != nil {
		t.Fatal(err)
	}
	f := fixtureIn(t, eng, env, RolloutConfig{Members: 1, Environments: 2, Horizon: 1}, small)
	for _, placement := range []Placement{PlacementOwn, PlacementLanes, PlacementGroup} {
		f.policy.Placement = placement
		if _, err := f.ro.Placement(f.policy, eng.Device().Info()); err == nil || !strings.Contains(err.Error(), "want stream or stepped") {
			t.Errorf("%v: error %v", placement, err)
		}
	}
	others := eng.NewState()
	t.Cleanup(func() { _ = others.Close() })
	_, err = NewRollout(t.Context(), others.Sub("each"), env, RolloutConfig{Members: 3, Environments: 2, Horizon: 1, EachSeat: true,
		Policy: &Policy{Network: f.policy.Network, Head: f.policy.Head, Weights: f.policy.Weights, Placement: PlacementStream}})
	if err == nil || !strings.Contains(err.Error(), "placement stream") || !strings.Contains(err.Error(), "networks of their own; want stepped") {
		t.Errorf("of candidates that play together: error %v", err)
	}
	f.policy.Placement = PlacementStream
	random, err := NewRollout(t.Context(), others.Sub("random"), env, RolloutConfig{Members: 1, Environments: 2, Horizon: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Record("test", func(r *engine.Recorder) { random.Record(r, f.clock, f.policy) }); err == nil ||
		!strings.Contains(err.Error(), "want one of those that the rollout was made for") {
		t.Errorf("a policy in a rollout that was made for none: error %v", err)
	}
	software, gpu := eng.Device().Info(), eng.Device().Info()
	software.Type, gpu.Type = vk.CPU, vk.DiscreteGPU
	f.policy.Placement = Automatic
	for _, c := range []struct {
		info         vk.Info
		environments int
		steps        bool
	}{{software, 2, false}, {software, 1000, true}, {gpu, 2, true}} {
		f.ro.cfg.Environments = c.environments
		if got := f.ro.steps(f.policy, c.info); got != c.steps {
			t.Errorf("%v, %d environments: stepped %t; want %t", c.info.Type, c.environments, got, c.steps)
		}
	}
}

// On GPUs networks are placed by their sizes and the number of environments: in a subgroup's registers, in a
// workgroup's for few environments, else streamed, or stepped beside an environment that fills a lane's registers.
func TestAutomaticPlacement(t *testing.T) {
	gpu := func(vendor, subgroup, least uint32) vk.Info {
		return vk.Info{
			Type: vk.DiscreteGPU, VendorID: vendor, SubgroupSize: subgroup, MinSubgroupSize: least,
			Limits: vk.Limits{MaxSharedBytes: 48 << 10, MaxInvocations: 1024},
		}
	}
	nvidia, rdna, gcn, intel, other := gpu(0x10de, 32, 32), gpu(0x1002, 64, 32), gpu(0x1002, 64, 64), gpu(0x8086, 32, 8), gpu(0x13b5, 16, 16)
	software := vk.Info{Type: vk.CPU, SubgroupSize: 8, MinSubgroupSize: 8, Limits: vk.Limits{MaxSharedBytes: 32 << 10, MaxInvocations: 1024}}
	for _, c := range []struct {
		info         vk.Info
		env          string
		hidden       []int
		environments int
		want         Placement
	}{
		{nvidia, "CartPole-v1", []int{64, 64}, 1, PlacementLanes},
		{nvidia, "CartPole-v1", []int{128, 128}, 1, PlacementGroup},
		{nvidia, "CartPole-v1", []int{256, 256}, 1, PlacementGroup},
		{nvidia, "CartPole-v1", []int{256, 256}, 4, PlacementGroup},
		{nvidia, "CartPole-v1", []int{256, 256}, 64, PlacementStream},
		{nvidia, "CartPole-v1", []int{512, 512}, 1, PlacementStream},
		{nvidia, "CartPole-v1", []int{64, 64, 64}, 1, PlacementStream},
		{nvidia, "HalfCheetah-v5", []int{256, 256}, 1, PlacementStream},
		{nvidia, "Humanoid-v5", []int{256, 256}, 1, PlacementStepped},
		{software, "Humanoid-v5", []int{256, 256}, 1, PlacementStream},
		{rdna, "CartPole-v1", []int{256, 256}, 1, PlacementGroup},
		{gcn, "CartPole-v1", []int{256, 256}, 1, PlacementGroup},
		{intel, "CartPole-v1", []int{256, 256}, 1, PlacementStream},
		{other, "CartPole-v1", []int{256, 256}, 1, PlacementStream},
		{software, "CartPole-v1", []int{8}, 1, PlacementOwn},
		{software, "CartPole-v1", []int{64, 64}, 1, PlacementLanes},
		{software, "CartPole-v1", []int{256, 256}, 1, PlacementStream},
	} {
		env := lookup(t, c.env)
		ro := &Rollout{env: env, cfg: RolloutConfig{Environments: c.environments}, stepped: &stepped{}}
		got, err := ro.Placement(&Policy{Network: nn.MLP{In: env.ObsSize(), Out: env.Action.Size(), Hidden: c.hidden}}, c.info)
		if err != nil || got != c.want {
			t.Errorf("%s, %v, %d environments on vendor %#x: %v, %v; want %v", c.env, c.hidden, c.environments, c.info.VendorID, got, err, c.want)
		}
	}
}
