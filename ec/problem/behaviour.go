package problem

import (
	"fmt"
	"math"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// BehaviourConfig selects the descriptors of a policy's behaviour, for quality-diversity algorithms: the means of
// some of its observations over all steps of its episodes, or the fractions of the steps after which its feet touch
// the ground (A. Cully et al., "Robots that can adapt like animals", 2015).
type BehaviourConfig struct {
	Feet         bool      `doc:"Descriptors are the fractions of the steps after which each foot touches the ground, instead of observations."`
	Observations []int     `min:"0" max:"65535" doc:"Observations, from 0, whose means describe a candidate; none: the first two with bounds."`
	Low          []float64 `doc:"Lower bounds of the descriptors; none: the environment's lower bounds."`
	High         []float64 `doc:"Upper bounds of the descriptors; none: the environment's upper bounds."`
}

// described holds the observations that are a policy's descriptors, and their bounds.
type described struct {
	observations []int
	low, high    []float32
	feet         bool // descriptors are of feet instead of observations
}

// features returns the indices of the observations.
func (d described) features() (numbers []uint32) {
	for _, k := range d.observations {
		numbers = append(numbers, uint32(k))
	}
	return numbers
}

// of returns the descriptors of policies in an environment; its errors are *SettingError.
func (c BehaviourConfig) of(env *envs.Environment) (described, error) {
	if err := engine.Require(map[string]any{"environment": env}); err != nil {
		return described{}, fmt.Errorf("problem: behaviour: %w", err)
	}
	space := env.Observation
	bounded := func(k int) bool {
		return !math.IsInf(float64(space.Low[k]), 0) && !math.IsInf(float64(space.High[k]), 0)
	}
	d := described{observations: c.Observations}
	for k := 0; len(c.Observations) == 0 && k < space.Size() && len(d.observations) < 2; k++ {
		if bounded(k) {
			d.observations = append(d.observations, k)
		}
	}
	wrong := func(key, format string, args ...any) (described, error) {
		return described{}, &SettingError{"behaviour", key, fmt.Sprintf(format, args...)}
	}
	if c.Feet {
		return c.ofFeet(env, wrong)
	}
	if len(d.observations) == 0 {
		feet := ""
		if len(env.Feet()) > 0 {
			feet = ", or set feet = true"
		}
		return wrong("observations", "%q bounds none of its %d observations: choose some, and give low and high%s", env.Name, space.Size(), feet)
	}
	for key, bounds := range map[string][]float64{"low": c.Low, "high": c.High} {
		if len(bounds) != 0 && len(bounds) != len(d.observations) {
			return wrong(key, "%d numbers for %d observations; want one for each, or none", len(bounds), len(d.observations))
		}
	}
	for i, k := range d.observations {
		if k < 0 || k >= space.Size() {
			return wrong("observations", "observation %d of %q; want 0 to %d", k, env.Name, space.Size()-1)
		}
		low, high := space.Low[k], space.High[k]
		if len(c.Low) > 0 {
			low = float32(c.Low[i])
		}
		if len(c.High) > 0 {
			high = float32(c.High[i])
		}
		if !(low < high) || math.IsInf(float64(low), 0) || math.IsInf(float64(high), 0) {
			return wrong("low", "observation %d of %q is told apart from %g to %g; want a finite number below a finite one (and high)", k, env.Name, low, high)
		}
		d.low, d.high = append(d.low, low), append(d.high, high)
	}
	return d, nil
}

// ofFeet returns the descriptors of feet.
func (c BehaviourConfig) ofFeet(env *envs.Environment, wrong func(key, format string, args ...any) (described, error)) (described, error) {
	feet := len(env.Feet())
	switch {
	case feet == 0:
		return wrong("feet", "%q has no feet: want false, or an environment that has, such as \"Walker2d-v5\"", env.Name)
	case len(c.Observations)+len(c.Low)+len(c.High) > 0:
		return wrong("feet", "the shares of %d feet are between 0 and 1: want neither observations nor low and high beside them", feet)
	}
	d := described{feet: true}
	for range feet {
		d.low, d.high = append(d.low, 0), append(d.high, 1)
	}
	return d, nil
}

// Check checks the settings against the environment, before any device work. The error is a *SettingError.
func (c BehaviourConfig) Check(with Parts) error {
	_, err := c.of(with.Env)
	return err
}

// DescribedPolicy is Policy for quality-diversity algorithms: candidates also have descriptors.
func DescribedPolicy(env *envs.Environment, options envs.Options, network NetworkConfig, cfg PolicyConfig, behaviour BehaviourConfig) (ec.Problem, error) {
	if err := config.Check(behaviour); err != nil {
		return nil, err
	}
	d, err := behaviour.of(env)
	if err != nil {
		return nil, err
	}
	p := Policy(env, options, network, cfg).(*policy)
	p.described = d
	return p, nil
}

// behaviour computes the descriptors of evaluated policies.
type behaviour struct {
	*policy
	descriptors *engine.Tensor // [M, N, B]; nil: not wanted
	features    *engine.Tensor // [B] u32; nil: no descriptors of observations
	contacts    *envs.Contacts // nil: no descriptors of feet
}

func newBehaviour(s *engine.State, p *policy, candidates int) (*behaviour, error) {
	b := &behaviour{policy: p}
	if p.described.feet {
		var err error
		b.contacts, err = envs.NewContacts(s.Sub("feet"), p.env, candidates, p.cfg.Episodes)
		return b, err
	}
	if n := len(p.described.observations); n > 0 {
		if seats := p.env.Seats(); seats > 1 {
			return nil, fmt.Errorf("problem: descriptors of behaviour in %q, which has %d agents; want an environment of one", p.env.Name, seats)
		}
		b.features = engine.Constant(s, "described", p.described.features, engine.Axis("descriptor", n))
	}
	return b, s.Err()
}

// record records the descriptors of the window of candidates that begins at first.
func (b *behaviour) record(r *engine.Recorder, e *rollouts, first int) {
	if b.descriptors == nil {
		return
	}
	if b.contacts != nil {
		b.contacts.Record(r, e.rollout.Trajectory, e.window, first, b.descriptors)
		return
	}
	seen := e.rollout.Seen()
	size, groups := r.Invocations(e.members * e.window)
	k := behaviourKernel{
		Seen: seen.Range(), Feature: b.features.Range(), Descriptor: b.descriptors.Range(), Members: uint32(e.members), Window: uint32(e.window),
		Episodes: uint32(b.cfg.Episodes), Population: uint32(e.population), First: uint32(first), Features: uint32(b.env.ObsSize()),
		Described:  uint32(len(b.described.observations)),
		LocalSizeX: size,
	}
	if values := e.observations.values(); values != nil {
		k.Normalizer = values.Range()
	}
	r.Dispatch(k.call(groups, 1, 1))
}
