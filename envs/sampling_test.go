package envs

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// constant gives the policy constant outputs, by biases only, with logStd for continuous actions.
func (f *fixture) constant(outputs func(member int) []float64, logStd float64) {
	clear(f.params)
	net, row := f.policy.Network, f.policy.Row()
	layers := net.Layers()
	for m := range f.ro.cfg.Members {
		for o, y := range outputs(m) {
			f.params[m*row+layers[len(layers)-1].Bias+o] = float32(y)
			if f.policy.Head.Parameters() > 0 {
				f.params[m*row+net.Size()+o] = float32(logStd)
			}
		}
	}
	f.begin()
}

// chiSquare returns the chi-square statistic of counts.
func chiSquare(counts, expected []float64) float64 {
	sum := 0.0
	for i, e := range expected {
		sum += (counts[i] - e) * (counts[i] - e) / e
	}
	return sum
}

// quantile returns the 0.999 quantile of the chi-square distribution with df degrees of freedom, by E. B. Wilson and
// M. M. Hilferty, 1931.
func quantile(df float64) float64 {
	x := 1 - 2/(9*df) + 3.0902*math.Sqrt(2/(9*df))
	return df * x * x * x
}

// TestSampling: discrete actions have their probabilities, singly and in successive pairs, with each member's own
// parameters.
func TestSampling(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(21))
	cfg := RolloutConfig{Members: 3, Environments: 13, Horizon: 1000, Trajectory: true}
	f := newFixture(t, eng, "Acrobot-v1", cfg, &nn.MLP{Hidden: []int{5}})
	logits := func(m int) []float64 { return []float64{0.3 * float64(m), -1, 0.7 - float64(m)} }
	f.constant(logits, 0)
	f.advance()
	actions := f.floats(f.ro.Action)
	n := cfg.Members * cfg.Environments
	for m := range cfg.Members {
		var p [3]float64
		sum := 0.0
		for a, l := range logits(m) {
			p[a] = math.Exp(l)
			sum += p[a]
		}
		var single, singleWant, pairs, pairsWant [9]float64
		for a := range p {
			p[a] /= sum
		}
		for e := range cfg.Environments {
			for step := range cfg.Horizon {
				a := int(actions[step*n+m*cfg.Environments+e])
				single[a]++
				if step%2 == 1 { // disjoint pairs, so that they are independent
					pairs[3*int(actions[(step-1)*n+m*cfg.Environments+e])+a]++
				}
			}
		}
		all := float64(cfg.Environments * cfg.Horizon)
		for a := range p {
			singleWant[a] = p[a] * all
			for b := range p {
				pairsWant[3*a+b] = p[a] * p[b] * all / 2
			}
		}
		chi, chiPairs := chiSquare(single[:3], singleWant[:3]), chiSquare(pairs[:], pairsWant[:])
		t.Logf("member %d: chi-square %.1f of 2, pairs %.1f of 8 degrees of freedom", m, chi, chiPairs)
		if chi > quantile(2) || chiPairs > quantile(8) {
			t.Errorf("member %d: actions %v, expected %v: chi-square %.1f, of pairs %.1f; want at most %.1f and %.1f",
				m, single[:3], singleWant[:3], chi, chiPairs, quantile(2), quantile(8))
		}
	}
}

// TestSamplingGaussian: standardized continuous samples are normal, and independent between steps.
func TestSamplingGaussian(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(22))
	cfg := RolloutConfig{Members: 2, Environments: 9, Horizon: 1000, Trajectory: true}
	f := newFixture(t, eng, "Pendulum-v1", cfg, &nn.MLP{Hidden: []int{5}})
	mean, logStd := func(m int) []float64 { return []float64{0.5 - float64(m)} }, -0.7
	f.constant(mean, logStd)
	f.advance()
	actions := f.floats(f.ro.Action)
	n, bins := cfg.Members*cfg.Environments, 20
	for m := range cfg.Members {
		counts, expected := make([]float64, bins), make([]float64, bins)
		product, total := 0.0, float64(cfg.Environments*cfg.Horizon)
		for e := range cfg.Environments {
			last := 0.0
			for step := range cfg.Horizon {
				z := (float64(actions[step*n+m*cfg.Environments+e]) - mean(m)[0]) / math.Exp(logStd)
				counts[min(int(0.5*math.Erfc(-z/math.Sqrt2)*float64(bins)), bins-1)]++
				product += z * last
				last = z
			}
		}
		for i := range expected {
			expected[i] = total / float64(bins)
		}
		chi, correlation := chiSquare(counts, expected), product/math.Sqrt(total)
		t.Logf("member %d: chi-square %.1f of %d degrees of freedom, correlation of neighbours %.2f standard deviations", m, chi, bins-1, correlation)
		if chi > quantile(float64(bins-1)) || math.Abs(correlation) > 3.3 {
			t.Errorf("member %d: chi-square of the samples is %.1f, want at most %.1f; the correlation of neighbours is %.2f standard deviations, want at most 3.3",
				m, chi, quantile(float64(bins-1)), correlation)
		}
	}
}

// TestRandomPolicy: without a network actions are uniform.
func TestRandomPolicy(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(23))
	for name, bins := range map[string]int{"Acrobot-v1": 3, "Pendulum-v1": 10} {
		cfg := RolloutConfig{Members: 2, Environments: 5, Horizon: 1000, Trajectory: true}
		f := newFixture(t, eng, name, cfg, nil)
		f.advance()
		counts, expected := make([]float64, bins), make([]float64, bins)
		actions := f.floats(f.ro.Action)
		for _, a := range actions {
			if f.env.Action.IsDiscrete() {
				counts[int(a)]++
			} else {
				counts[min(int((float64(a)+1)/2*float64(bins)), bins-1)]++ // raw samples, in [-1, 1)
			}
		}
		for i := range expected {
			expected[i] = float64(len(actions)) / float64(bins)
		}
		if chi := chiSquare(counts, expected); chi > quantile(float64(bins-1)) {
			t.Errorf("%s: chi-square of %v is %.1f; want at most %.1f", name, counts, chi, quantile(float64(bins-1)))
		}
	}
}

// TestMode: in mode the action is the most likely one, the first among equals.
func TestMode(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(24))
	cfg := RolloutConfig{Members: 3, Environments: 9, Horizon: 20, Trajectory: true, Mode: true}
	for _, name := range []string{"Acrobot-v1", "Pendulum-v1"} {
		f := newFixture(t, eng, name, cfg, small)
		f.advance()
		obs, actions := f.floats(f.ro.Obs), f.floats(f.ro.Action)
		n, o := cfg.Members*cfg.Environments, f.env.ObsSize()
		for i, a := range actions {
			y := f.outputs(i%n/cfg.Environments, obs[i*o:(i+1)*o])
			if f.env.Action.IsDiscrete() {
				if top := slices.Max(y); y[int(a)] < top-1e-6 {
					t.Fatalf("%s: action %v of logits %v is not the mode", name, a, y)
				}
			} else if math.Abs(float64(a)-y[0]) > 1e-6 {
				t.Fatalf("%s: action %v of mean %v is not the mode", name, a, y)
			}
		}
	}
	f := newFixture(t, eng, "Acrobot-v1", cfg, small)
	f.constant(func(int) []float64 { return []float64{-1, 2, 2} }, 0)
	f.advance()
	for _, a := range f.floats(f.ro.Action) {
		if a != 1 {
			t.Fatalf("action %v of logits -1, 2, 2; want 1, the first of equals", a)
		}
	}
}
