package rl

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// net are a network's parameters with the noise of a set of factors, of a row of means and deviations (M. Fortunato et al., 2018, equation 9).
func (f *dqnReference) net(params []float64, set int) []float64 {
	if f.cfg.NoisyStd == 0 {
		return params
	}
	out, half, e := append([]float64(nil), params[:len(params)/2]...), len(params)/2, f.factors[set][2:]
	for _, l := range f.model.Layers() {
		for i := range l.In {
			for o := range l.Out {
				k := l.Weight + i*l.Out + o
				out[k] += params[half+k] * e[i] * e[l.In+o]
			}
		}
		for o := range l.Out {
			out[l.Bias+o] += params[half+l.Bias+o] * e[l.In+o]
		}
		e = e[l.In+l.Out:]
	}
	return out
}

// noisyFactors are the factors of an update's noise by member and set, as float64 draws them, after a comparison of the device's; nil: there is none.
func noisyFactors(t *testing.T, o *OffPolicy, update int) [][3][]float64 {
	t.Helper()
	q := o.learner.(*qLearner)
	if q.noisy == nil {
		return nil
	}
	y, got := q.noisy, read(t, q.noisy.learning)
	out := make([][3][]float64, dqnMembers)
	for m := range out {
		for set := range out[m] {
			key := engine.Philox([2]uint32{o.State().Engine().Seed(), y.learningStream}, [4]uint32{uint32(m), uint32(set), 0, uint32(update)})
			factors, squares, drawn := []float64{1, 0}, []float64{1, 0}, []float64{1, 0}
			for unit := 2; unit < y.units; unit++ {
				x := float64(engine.NewRng(key[0], key[1], uint32(m), uint32(unit), 0).Normal())
				e := got[(set*dqnMembers+m)*y.units+unit]
				factors, squares, drawn = append(factors, math.Copysign(math.Sqrt(math.Abs(x)), x)), append(squares, e*math.Abs(e)), append(drawn, x)
			}
			if off := deviation(squares, drawn); !(off <= 1e-6) { // of roots, small numbers have larger errors
				t.Errorf("update %d: squares of factors %d of member %d deviate by %g of the largest", update, set, m, off)
			}
			out[m][set] = factors
		}
	}
	return out
}

// TestNoisyInit: deviations begin at sigma_0 / sqrt(inputs), or at 0 where there is no noise.
func TestNoisyInit(t *testing.T) {
	cases := dqnCases()
	o := newDQNCase(t, cases[len(cases)-3]) // with layer normalization
	q := o.learner.(*qLearner)
	params := read(t, q.network.params())
	want := make([]float64, q.noisy.row)
	for _, l := range q.network.Model().Layers() {
		for k := l.Weight; k < l.Bias+l.Out; k++ {
			want[k] = 0.5 / math.Sqrt(float64(l.In))
		}
	}
	for i, v := range params {
		if k := i%(2*q.noisy.row) - q.noisy.row; k >= 0 && !(math.Abs(v-want[k]) <= 1e-7) {
			t.Fatalf("deviation %d begins at %g; want %g", k, v, want[k])
		}
	}
}

// TestNoisyConvolutions: of a network with convolutions the dense layers alone have noise.
func TestNoisyConvolutions(t *testing.T) {
	s := engine.New(open(t)).NewState()
	defer s.Close()
	model := nn.Sequential{In: nn.Shape{6, 6, 2}, Out: 3, Hidden: []nn.LayerConfig{
		{Kind: nn.Convolution, Channels: 4, Kernel: 3}, {Kind: nn.Residual, Kernel: 3}, {Kind: nn.Dense, Units: 5},
	}}
	y := newNoisy(s, engine.NewClock(s), model, 1, 0.5)
	table, row, kinds := y.factors(), make([]float32, 2*y.row), map[bool]int{}
	y.init(row)
	for _, l := range model.Layers() {
		noise := l.Kind == nn.Dense
		for _, p := range l.Parameters() {
			kinds[noise]++
			for k := p.At; k < p.At+p.Len(); k++ {
				if (table[2*k] != noisyNone) != noise || (row[y.row+k] > 0) != noise {
					t.Fatalf("%s of a %v layer has factors %d and a deviation of %g", p.Name, l.Kind, table[2*k:2*k+2], row[y.row+k])
				}
			}
		}
	}
	if kinds[true] != 4 || kinds[false] != 6 {
		t.Errorf("%d parameters of dense layers, %d of others; want 4 and 6", kinds[true], kinds[false])
	}
}

// TestNoisyActs: a rollout acts greedily by parameters with noise, which differs from rollout to rollout, and evaluations by the means.
func TestNoisyActs(t *testing.T) {
	o := newDQNCase(t, dqnCase{"noisy", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) {
		c.NoisyStd, c.ExplorationStart, c.ExplorationEnd = 4, 0, 0
	}})
	q := o.learner.(*qLearner)
	var acted [2][]float64
	for i := range acted {
		poison(t, q.noisy.actor, q.noisy.acting)
		run(t, o.State().Engine(), func(r *engine.Recorder) {
			q.explore(r)
			o.collector.Record(r)
			o.Clock().Tick(r, 1, o.cfg.RolloutLength)
		})
		acted[i] = read(t, q.noisy.actor)
		tr := o.collector.Trajectory()
		obs, action := read(t, tr.Obs), read(t, tr.Action)
		for k, a := range action {
			row := acted[i][k/o.cfg.Environments%dqnMembers*q.noisy.row:]
			y := forward(q.network.Model(), row, obs[4*k:4*k+4])
			if best := int(a); y[best] < max(y[0], y[1])-1e-4 {
				t.Fatalf("action %d of values %v", best, y)
			}
		}
	}
	if deviation(acted[0], acted[1]) < 0.1 {
		t.Error("two rollouts act by the same noise")
	}
	if o.Policy().Params != q.network.params() {
		t.Error("evaluations have the noise")
	}
}

// TestRainbowLearnsCartPole: with all six of its parts, and no other exploration.
func TestRainbowLearnsCartPole(t *testing.T) {
	cfg, network, replay := learning()
	rainbow(&cfg, &replay)
	cfg.Atoms, cfg.MinValue, cfg.MaxValue, cfg.ExplorationStart, cfg.ExplorationEnd = 31, 0, 100, 0, 0
	cfg.RolloutLength, cfg.UpdatesPerStep, cfg.TargetInterval, cfg.Tau, cfg.LearningRate, cfg.AnnealSteps = 64, 0.25, 1, 0.01, 1e-3, 0
	cfg.Members, replay.ImportanceAnnealSteps, replay.PriorityExponent = 2, 20000, 0.5
	d, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "CartPole-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	learnOffPolicy(t, d, 300, 200)
}
