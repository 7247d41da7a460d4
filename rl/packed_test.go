package rl

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// catch returns a small game whose observations are images of bytes: by default the rows have different brightness, else that given, which with
// "1.0" is one of bits.
func catch(t *testing.T, bright string) *envs.Environment {
	t.Helper()
	source, err := os.ReadFile("../envs/testdata/catch.glsl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	if bright != "" {
		text = strings.Replace(text, "#ifndef BRIGHT", "#define BRIGHT(row) "+bright+"\n#ifndef BRIGHT", 1)
	}
	env, err := envs.FromGLSL("catch.glsl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// catcher is a network of a convolution for the game.
func catcher(c NetworkConfig) NetworkConfig {
	c.Hidden, c.Layers = nil, []nn.LayerConfig{{Kind: nn.Convolution, Channels: 4, Kernel: 3}, {Kind: nn.Dense, Units: 24}}
	return c
}

// TestPackingMinibatch: gathered observations are those that the permutation of a minibatch names, whether they are packed or the floats that they stand for.
func TestPackingMinibatch(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	for _, c := range []struct {
		element   nn.Element
		features  int
		normalize bool
	}{{nn.Bits, 67, true}, {nn.Bytes, 9, false}, {nn.Bits, 68, false}, {nn.Bytes, 12, true}} { // four at once where they are multiples of four
		s := eng.NewState()
		defer s.Close()
		env := spaces(c.features, envs.Space{N: 2})
		env.Observation.Element = c.element
		m := newMinibatches(s, engine.NewClock(s), onPolicyConfig{
			OnPolicyConfig: OnPolicyConfig{Members: 2, Environments: 5, RolloutLength: 7}, epochs: 1, minibatches: 3, // of 11 and 12 transitions
		})
		dims := []engine.Dim{engine.Time(m.Horizon), engine.Members(m.Members), engine.Environments(m.Environments)}
		words := c.element.Words(c.features)
		floats := s.Tensor("floats", engine.Float32, append(dims, engine.Axis("feature", c.features))...)
		packed := s.Tensor("packed", engine.Uint32, append(dims[:3:3], engine.Axis("word", words))...)
		want, got := m.inputs(s, "want", c.features), m.inputs(s, "got", c.features)
		update := s.Tensor("update", engine.Uint32, engine.Axis("word", 1))
		normalizer := s.Tensor("normalizer", engine.Float32, engine.Members(m.Members), engine.Axis("moment", 2), engine.Axis("feature", c.features))
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		values, stored := make([]float32, floats.Len()), make([]uint32, packed.Len())
		for i := range values {
			level, row, f := rand.Uint32N(uint32(c.element.Levels())), i/c.features, i%c.features
			if c.element == nn.Bits {
				values[i] = float32(level)
				stored[row*words+f/32] |= level << (f % 32)
			} else {
				values[i] = float32(level) * (float32(1) / 255)
				stored[row*words+f/4] |= level << (f % 4 * 8)
			}
		}
		means, limit := make([]float64, normalizer.Len()), float32(1.5)
		for i := range means {
			means[i] = rand.Float64() + float64(i/c.features%2)*3 // mean, 1 / deviation
		}
		write(t, normalizer, means)
		if err := floats.WriteFloat32(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		if err := packed.WriteUint32(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		write(t, m.Clock.Tensor(), []float64{9, 0})
		for i := range m.Count {
			write(t, update, []float64{float64(i)})
			poison(t, want, got)
			run(t, eng, func(r *engine.Recorder) {
				for from, to := range map[*engine.Tensor]*engine.Tensor{floats: want, packed: got} {
					of := &envs.Trajectory{Obs: from, Space: env.Observation}
					in := (&Agent{}).inputs(of, from)
					if c.normalize {
						in.Normalizer, in.Limit = normalizer, limit
					}
					minibatch{m, update, 0}.gather(r, in, to)
				}
			})
			a, b := read(t, got), read(t, want)
			if !slices.Equal(a, b) {
				t.Errorf("%v, minibatch %d: %v; want %v", c.element, i, a, b)
			}
			n := m.Horizon * m.Environments
			size, more := n/m.Count, n%m.Count
			begin := i*size + min(i, more)
			for k, v := range b {
				member, row, f := k/c.features/m.Rows, k/c.features%m.Rows, k%c.features
				key := engine.Philox([2]uint32{eng.Seed(), m.Stream}, [4]uint32{uint32(member), 0, 9, 0})
				last := size - 1
				if i < more {
					last++
				}
				x := int(engine.Permute(uint32(begin+min(row, last)), uint32(n), key))
				x = (x/m.Environments*m.Members+member)*m.Environments + x%m.Environments
				exact := float64(values[x*c.features+f])
				if c.normalize {
					at := member*2*c.features + f
					exact = max(-float64(limit), min((exact-means[at])*means[at+c.features], float64(limit)))
				}
				if !(math.Abs(v-exact) <= 1e-5) {
					t.Fatalf("%v, minibatch %d, member %d, row %d, feature %d: %v; want %v", c.element, i, member, row, f, v, exact)
				}
			}
		}
	}
}

// TestPackedObservations: agents learn the same, bit by bit, whether they store observations as bits and bytes or as floats, and PPO and DQN learn the
// game. Random play has a mean return of -1/3, since the paddle is anywhere with the same probability; the best is 1.
func TestPackedObservations(t *testing.T) {
	dev := open(t)
	images, bytes := catch(t, "1.0"), catch(t, "") // cases share environments and the device: kernels are compiled once
	for _, c := range []struct {
		name    string
		env     *envs.Environment
		element nn.Element
		steps   int
		least   float64 // mean return of the last quarter of the iterations, with exploration
		make    func(eng *engine.Engine, env *envs.Environment) (w engine.Workflow, stored nn.Element, err error)
	}{
		{"PPO on bits", images, nn.Bits, 40, 0.6, func(eng *engine.Engine, env *envs.Environment) (engine.Workflow, nn.Element, error) {
			cfg := DefaultPPO()
			cfg.Environments, cfg.RolloutLength, cfg.LearningRate, cfg.Minibatches = 64, 8, 5e-3, 2
			p, err := NewPPO(t.Context(), eng, env, cfg, Network(catcher(DefaultNetwork())))
			if err != nil {
				return nil, 0, err
			}
			return p, p.collector.Trajectory().Element(), nil
		}},
		{"IMPALA on bytes", images, nn.Bytes, 3, -1, func(eng *engine.Engine, env *envs.Environment) (engine.Workflow, nn.Element, error) {
			cfg := DefaultIMPALA()
			cfg.Environments, cfg.RolloutLength, cfg.Minibatches = 64, 8, 2
			p, err := NewIMPALA(t.Context(), eng, env, cfg, Network(catcher(DefaultNetwork())))
			if err != nil {
				return nil, 0, err
			}
			return p, p.collector.Trajectory().Element(), nil
		}},
		{"DQN on bytes", bytes, nn.Bytes, 80, 0.6, func(eng *engine.Engine, env *envs.Environment) (engine.Workflow, nn.Element, error) {
			cfg, replay := DefaultDQN(), DefaultDQNReplay()
			cfg.Environments, cfg.RolloutLength, cfg.LearningStarts, cfg.UpdatesPerStep, cfg.LearningRate = 16, 4, 128, 0.25, 2e-3
			cfg.TargetInterval, cfg.ExplorationSteps = 20, 2000
			replay.Capacity, replay.Batch = 2048, 64
			o, err := NewDQN(t.Context(), eng, env, cfg, Network(catcher(DefaultDQNNetwork())), Replays(replay))
			if err != nil {
				return nil, 0, err
			}
			return o, o.Replay().store.element, nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(element nn.Element, steps int) map[string][]float64 {
				t.Helper()
				c.env.Observation.Element = element
				w, stored, err := c.make(engine.New(dev, engine.Seed(3)), c.env)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				if stored != element {
					t.Errorf("observations are stored as %v; want %v", stored, element)
				}
				return metricsOf(t, w, steps)
			}
			packed := run(c.element, c.steps)
			for name, want := range run(nn.Floats, 3) {
				for k, v := range want {
					if got := packed[name][k]; got != v && (got == got || v == v) {
						t.Fatalf("%s of step %d is %v; with observations as floats %v", name, k, got, v)
					}
				}
			}
			returns, sum := packed[engine.ReturnMetric], 0.0
			last := returns[len(returns)*3/4:]
			for _, v := range last {
				sum += v / float64(len(last))
			}
			if t.Logf("mean return %.2f", sum); !(sum >= c.least) {
				t.Errorf("mean return %.2f; want at least %.2f", sum, c.least)
			}
		})
	}
}

// metricsOf begins a run, takes steps and returns each metric's mean over the members at every step.
func metricsOf(t *testing.T, w engine.Workflow, steps int) map[string][]float64 {
	t.Helper()
	if err := w.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]float64{}
	for i := range steps {
		ticket, err := w.Step(t.Context(), i)
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		step, err := w.Metrics().Read(i)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range step {
			sum := 0.0
			for _, v := range values {
				sum += float64(v) / float64(len(values))
			}
			rows[name] = append(rows[name], sum)
		}
	}
	return rows
}
