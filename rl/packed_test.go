package rl

import (
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// catch returns a small game whose observations are images of bits or bytes, and the same with observations stored as floats.
func catch(t *testing.T, element nn.Element) (stored, floats *envs.Environment) {
	t.Helper()
	source, err := os.ReadFile("../envs/testdata/catch.glsl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	if element == nn.Bytes {
		text = strings.Replace(text, `"bit"`, `"uint8"`, 1)
		text = strings.Replace(text, "#ifndef BRIGHT", "#define BRIGHT(row) (float(255 - 30 * (row)) * (1.0 / 255.0))\n#ifndef BRIGHT", 1)
	}
	if stored, err = envs.FromGLSL("catch.glsl", []byte(text)); err != nil {
		t.Fatal(err)
	}
	other := *stored
	other.Observation.Element = nn.Floats
	return stored, &other
}

// catcher is a network of a convolution for the game.
func catcher(c NetworkConfig) NetworkConfig {
	c.Hidden, c.Layers = nil, []nn.LayerConfig{{Kind: nn.Convolution, Channels: 4, Kernel: 3}, {Kind: nn.Dense, Units: 24}}
	return c
}

// TestPackedObservations: agents learn the same, bit by bit, whether their trajectories have observations as bits and bytes or as floats, and PPO
// learns the game.
func TestPackedObservations(t *testing.T) {
	for _, c := range []struct {
		name    string
		element nn.Element
		steps   int
		least   float64 // mean return of the last iterations; random play: about -0.5
		make    func(eng *engine.Engine, env *envs.Environment) (engine.Workflow, *envs.Trajectory, error)
	}{
		{"PPO on bits", nn.Bits, 40, 0.6, func(eng *engine.Engine, env *envs.Environment) (engine.Workflow, *envs.Trajectory, error) {
			cfg := DefaultPPO()
			cfg.Environments, cfg.RolloutLength, cfg.LearningRate, cfg.Minibatches = 64, 8, 5e-3, 2
			p, err := NewPPO(t.Context(), eng, env, cfg, Network(catcher(DefaultNetwork())))
			if err != nil {
				return nil, nil, err
			}
			return p, p.collector.Trajectory(), nil
		}},
		{"IMPALA on bytes", nn.Bytes, 3, -1, func(eng *engine.Engine, env *envs.Environment) (engine.Workflow, *envs.Trajectory, error) {
			cfg := DefaultIMPALA()
			cfg.Environments, cfg.RolloutLength, cfg.Minibatches = 6, 5, 2
			p, err := NewIMPALA(t.Context(), eng, env, cfg, Network(catcher(DefaultNetwork())))
			if err != nil {
				return nil, nil, err
			}
			return p, p.collector.Trajectory(), nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored, floats := catch(t, c.element)
			var rows [2]map[string][]float64
			for i, env := range []*envs.Environment{stored, floats} {
				w, trajectory, err := c.make(engine.New(open(t), engine.Seed(3)), env)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				if want := []nn.Element{c.element, nn.Floats}[i]; trajectory != nil && trajectory.Element() != want {
					t.Errorf("trajectories have observations as %v; want %v", trajectory.Element(), want)
				}
				steps := c.steps
				if i == 1 {
					steps = min(steps, 5) // enough to compare
				}
				rows[i] = metricsOf(t, w, steps)
			}
			for name, want := range rows[1] {
				for k, v := range want {
					if got := rows[0][name][k]; got != v && (got == got || v == v) {
						t.Fatalf("%s of step %d is %v; with observations as floats %v", name, k, got, v)
					}
				}
			}
			returns, sum := rows[0][engine.ReturnMetric], 0.0
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
