package hybrid

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// smallDvDES has three agents with eight candidates each in the pendulum.
type smallDvDES struct {
	options envs.Options
	network problem.NetworkConfig
	policy  problem.PolicyConfig
	search  ec.Algorithm
	cfg     DvDESConfig
	env     string
}

func newSmallDvDES() smallDvDES {
	s := smallDvDES{
		options: envs.Options{TimeLimit: 12}, network: problem.DefaultNetwork(), policy: problem.DefaultPolicy(), cfg: DefaultDvDES(), env: "Pendulum-v1",
	}
	es := ec.DefaultOpenES()
	es.Population, es.NoiseStd = 8, 0.3
	s.network.Hidden, s.policy.Episodes, s.search = []int{6}, 2, es
	s.cfg.Agents, s.cfg.States, s.cfg.Window, s.cfg.Memory, s.cfg.Diversity = 3, 7, 4, 2, []float64{0, 0.5, 0.9}
	return s
}

func (s smallDvDES) open(t testing.TB, seed uint32) (*DvDES, error) {
	t.Helper()
	env, err := envs.Lookup(s.env)
	if err != nil {
		t.Fatal(err)
	}
	return NewDvDES(t.Context(), engine.New(open(t), engine.Seed(seed)), env, s.options, s.network, s.policy, s.search, s.cfg)
}

func (s smallDvDES) begin(t testing.TB, seed uint32) *DvDES {
	t.Helper()
	d, err := s.open(t, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	initialized(t, d)
	return d
}

// act is the action of a network of one hidden layer with tanh, before it passes another.
func act(mlp nn.MLP, row, x []float32) float64 {
	layers := mlp.Layers()
	y := float64(row[layers[1].Bias])
	for u := range mlp.Hidden[0] {
		z := float64(row[layers[0].Bias+u])
		for k, v := range x {
			z += float64(v) * float64(row[layers[0].Weight+k*mlp.Hidden[0]+u])
		}
		y += math.Tanh(z) * float64(row[layers[1].Weight+u])
	}
	return y
}

// thompsonModel chooses as shaders/hybrid/bandit.comp does.
type thompsonModel struct {
	cfg     DvDESConfig
	best    []float32
	arms    []int
	success []bool
}

func (b *thompsonModel) choose(seed, stream uint32, returns []float32) float64 {
	now, top := len(b.best), slices.Max(returns)
	if now > 0 {
		b.success = append(b.success, top > slices.Max(b.best[max(0, now-b.cfg.Memory):]))
	}
	b.best = append(b.best, top)
	rng := engine.NewRng(seed, stream, 0, 0, uint32(now))
	gamma := func(n int) (sum float64) {
		for range n {
			sum -= math.Log(1 - float64(rng.Uniform()))
		}
		return sum
	}
	chosen, largest := 0, -1.0
	for a := range b.cfg.Diversity {
		won, lost := 1, 1
		for i := max(0, now-b.cfg.Window); i < now; i++ {
			if b.arms[i] == a && b.success[i] {
				won++
			} else if b.arms[i] == a {
				lost++
			}
		}
		x := gamma(won)
		if drawn := x / (x + gamma(lost)); drawn > largest {
			chosen, largest = a, drawn
		}
	}
	b.arms = append(b.arms, chosen)
	return b.cfg.Diversity[chosen]
}

// standardized are numbers less their mean, by their deviation.
func standardized(x []float64) []float64 {
	mean, square, out := 0.0, 0.0, make([]float64, len(x))
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(len(x))
	}
	for i, v := range x {
		out[i] = (v - mean) / math.Sqrt(square)
	}
	return out
}

// TestDvDESIteration: states, determinants, weights and what the searches are told agree with a model in float64, for several iterations, with actions
// that pass tanh or are clipped.
func TestDvDESIteration(t *testing.T) {
	for _, squash := range []bool{true, false} {
		s := newSmallDvDES()
		s.network.Squash = squash
		d := s.begin(t, 4)
		model := thompsonModel{cfg: s.cfg}
		mlp := nn.MLP{In: 3, Out: 1, Hidden: []int{6}, Activation: nn.Tanh}
		used := map[float64]bool{}
		for i := range 12 {
			if err := d.State().Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			steps(t, d, i, i+1)
			states, seen := values(t, d.states), values(t, d.own.Trajectory().Obs)
			for at := range s.cfg.States {
				found := false
				for j := 0; j < len(seen) && !found; j += 3 {
					found = slices.Equal(seen[j:j+3], states[3*at:][:3])
				}
				if !found {
					t.Errorf("iteration %d: state %d was not seen by an agent", i, at)
				}
			}
			weight := model.choose(4, d.bandit.stream, values(t, d.ownReturn))
			if used[weight] = true; values(t, d.bandit.weight)[0] != float32(weight) {
				t.Fatalf("iteration %d: a weight of %g; want %g", i, values(t, d.bandit.weight)[0], weight)
			}
			candidates, determinants := rows(values(t, d.rows), 0, 1, 24), make([]float64, 8)
			for k := range 8 {
				matrix := mat.NewDense(3, 3, nil)
				for a := range 3 {
					for b := range 3 {
						sum := 0.0
						for at := range s.cfg.States {
							x, y := act(mlp, candidates[8*a+k], states[3*at:][:3]), act(mlp, candidates[8*b+k], states[3*at:][:3])
							if squash {
								x, y = math.Tanh(x), math.Tanh(y)
							} else {
								x, y = min(max(x, -1), 1), min(max(y, -1), 1)
							}
							sum += (x - y) * (x - y) / float64(s.cfg.States)
						}
						value := (1 - s.cfg.Jitter) * math.Exp(-sum/2/s.cfg.KernelWidth/s.cfg.KernelWidth)
						if a == b {
							value += s.cfg.Jitter
						}
						matrix.Set(a, b, value)
					}
				}
				determinants[k] = mat.Det(matrix)
				if got := float64(values(t, d.determinant)[k]); !(math.Abs(got-determinants[k]) <= 2e-6) {
					t.Errorf("iteration %d: determinant %d is %g; want %g", i, k, got, determinants[k])
				}
			}
			diverse := standardized(determinants)
			for m := range 3 {
				var returns []float64
				for _, v := range values(t, d.returns)[8*m:][:8] {
					returns = append(returns, float64(v))
				}
				for k, z := range standardized(returns) {
					if got, want := float64(values(t, d.fitness)[8*m+k]), (1-weight)*z+weight*diverse[k]; !(math.Abs(got-want) <= 2e-3) {
						t.Errorf("iteration %d: candidate %d of agent %d is told %g; want %g", i, k, m, got, want)
					}
				}
			}
		}
		if len(used) < 2 {
			t.Errorf("only the weights %v were chosen", used)
		}
	}
}

// TestDvDESCounters: an iteration is one submission, and nothing crosses the bus; the agents' steps count with their candidates'.
func TestDvDESCounters(t *testing.T) {
	d := newSmallDvDES().begin(t, 7)
	steps(t, d, 0, 2)
	transfers(t, d, 2, 7, 5, 0)
	if taken, err := engine.EnvSteps(t.Context(), d); err != nil || taken != 7*3*(8+1)*2*12 {
		t.Errorf("%d environment steps, %v; want %d", taken, err, 7*3*(8+1)*2*12)
	}
}

// TestDvDESResume: a run that was interrupted ends with the same bits as one that was not.
func TestDvDESResume(t *testing.T) {
	s := newSmallDvDES()
	resumes(t, func() engine.Workflow {
		d, err := s.open(t, 8)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}, 6)
}

// TestDvDESErrors: what does not fit is refused with what would be right.
func TestDvDESErrors(t *testing.T) {
	cases := map[string]func(*smallDvDES){
		"\"agents\" is 33: want":          func(s *smallDvDES) { s.cfg.Agents = 33 },
		"want 1 to 8":                     func(s *smallDvDES) { s.cfg.Diversity = nil },
		"dvd-es needs continuous actions": func(s *smallDvDES) { s.env = "CartPole-v1" },
		"\"network.normalize_obs\"":       func(s *smallDvDES) { s.network.NormalizeObs = problem.Running },
		"\"policy.sample\"":               func(s *smallDvDES) { s.policy.Sample = true },
	}
	if open(t).Info().Limits.MaxLoopIterations > 0 { // GPUs compare any number of states
		cases["this device can compare them in at most"] = func(s *smallDvDES) { s.cfg.Agents, s.cfg.States = 32, 4096 }
	}
	for want, change := range cases {
		s := newSmallDvDES()
		change(&s)
		d, err := s.open(t, 1)
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one that says %q", err, want)
		}
	}
}

// TestDvDESLearns: the best of three agents swings the pendulum up.
func TestDvDESLearns(t *testing.T) {
	s := newSmallDvDES()
	s.options, s.policy.Episodes = envs.Options{}, 8
	es := ec.DefaultOpenES()
	es.Population, es.NoiseStd, es.LearningRate = 64, 0.3, 0.1
	s.search, s.network.Hidden, s.cfg.Diversity, s.cfg.Window, s.cfg.Memory = es, []int{16}, []float64{0, 0.5}, 50, 5
	d := s.begin(t, 1)
	if err := engine.Learn(t.Context(), d, engine.Iterations(120)); err != nil {
		t.Fatal(err)
	}
	evaluation, err := d.Evaluate(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	means := evaluation.Means()
	t.Logf("mean returns %.1f", means)
	if best := slices.Max(means); !(best >= -400) {
		t.Errorf("the best agent has %.1f; want at least -400, where hanging about has -1200", best)
	}
}
