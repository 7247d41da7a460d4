package rl

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// goPole is CartPole-v1 in Go, with the equations of shaders/envs/cartpole.glsl.
type goPole struct{ x, v, a, w float64 }

func (p *goPole) Reset(seed uint32, obs []float32) error {
	rng := engine.NewRng(seed, 0, 0, 0, 0)
	for _, s := range []*float64{&p.x, &p.v, &p.a, &p.w} {
		*s = float64(rng.UniformIn(-0.05, 0.05))
	}
	p.observe(obs)
	return nil
}

func (p *goPole) Step(action, obs []float32) (reward float32, terminated, truncated bool, err error) {
	const gravity, pole, mass, half, tau = 9.8, 0.1, 1.1, 0.5, 0.02
	force := 20*float64(action[0]) - 10
	sin, cos := math.Sincos(p.a)
	temp := (force + pole*half*p.w*p.w*sin) / mass
	turn := (gravity*sin - cos*temp) / (half * (4.0/3 - pole*cos*cos/mass))
	push := temp - pole*half*turn*cos/mass
	p.x, p.v, p.a, p.w = p.x+tau*p.v, p.v+tau*push, p.a+tau*p.w, p.w+tau*turn
	p.observe(obs)
	return 1, math.Abs(p.x) > 2.4 || math.Abs(p.a) > 12*math.Pi/180, false, nil
}

func (p *goPole) observe(obs []float32) {
	obs[0], obs[1], obs[2], obs[3] = float32(p.x), float32(p.v), float32(p.a), float32(p.w)
}

// goCartPole is CartPole-v1 stepped by the host.
func goCartPole(t *testing.T) *envs.Environment {
	t.Helper()
	builtIn, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	env, err := envs.NewOutside(envs.Spec{Name: "GoPole-v1", Observation: builtIn.Observation, Action: builtIn.Action, MaxSteps: 500},
		envs.Worlds(func() (envs.World, error) { return new(goPole), nil }))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// TestOutsideCartPole: PPO learns in CartPole as Go steps it what it learns in the built-in one, at the same settings.
func TestOutsideCartPole(t *testing.T) {
	builtIn, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	const members, iterations, episodes = 4, 20, 4
	mean := map[string]float64{}
	for _, env := range []*envs.Environment{builtIn, goCartPole(t)} {
		cfg := DefaultPPO()
		cfg.Members, cfg.Environments, cfg.RolloutLength = members, 8, 64
		p, err := NewPPO(t.Context(), engine.New(open(t), engine.Seed(1)), env, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := engine.Learn(t.Context(), p, engine.Iterations(iterations)); err != nil {
			t.Fatal(err)
		}
		e, err := p.Evaluate(t.Context(), episodes)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range e.Means() {
			mean[env.Name] += m / members
		}
	}
	t.Log(mean)
	if a, b := mean["GoPole-v1"], mean["CartPole-v1"]; a < 100 || a < b/2 {
		t.Errorf("a mean return of %.0f, and of %.0f in the built-in CartPole; want more than 100, and at least half of it", a, b)
	}
}
