package catalog

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// acting returns the settings of a learner whose environments other devices and machines can act in; nil: the workflow is another, or divided otherwise.
func (s *Setup) acting() *agent {
	a, ok := s.Settings.(*agent)
	if !ok || a.slices == nil || a.slices.Slice > 0 || !a.apart() || s.Env.Seats() > 1 || s.Env.SteppedByHost() && !s.Env.KeepsEpisodes() {
		return nil
	}
	return a
}

// parted are the settings of an agent whose environments have parts, and whose weights may lag behind.
type parted interface{ Apart() (actors, lag int) }

// chanced are the settings of an agent that may take trajectories as they come.
type chanced interface{ Chance() bool }

// asynchronousKey returns the key of the setting by which the agent takes trajectories as they come; "": it does not.
func (a *agent) asynchronousKey() string {
	if of, ok := a.cfg.(chanced); ok && of.Chance() {
		return a.name + ".asynchronous"
	}
	return ""
}

// AsynchronousKey is agent.asynchronousKey of the workflow.
func (s *Setup) AsynchronousKey() string {
	if a, ok := s.Settings.(*agent); ok {
		return a.asynchronousKey()
	}
	return ""
}

// apart reports whether others can act for the agent.
func (a *agent) apart() bool {
	of, ok := a.cfg.(parted)
	if !ok {
		return false
	}
	actors, lag := of.Apart()
	return actors > 1 || lag > 0
}

// actorsKey returns the key of the parts of the environments in which others act; "": the algorithm has none.
func (a *agent) actorsKey() string {
	if _, ok := a.cfg.(parted); !ok {
		return ""
	}
	return a.name + ".actors"
}

// actorsKey is agent.actorsKey of the workflow, unless an enclosing method trains its agents, or the environments cannot have parts.
func (s *Setup) actorsKey() string {
	if a, ok := s.Settings.(*agent); ok && a.slices != nil && s.Env.CheckParts(2, 2) == nil {
		return a.actorsKey()
	}
	return ""
}

// checkActors refuses actors of agents that an enclosing method trains, or that learn from each other.
func (a *agent) checkActors() error {
	if a.slices != nil {
		return nil
	}
	if key := a.asynchronousKey(); key != "" {
		return config.Invalid(key, "others act for agents that learn together: want false")
	}
	if !a.apart() {
		return nil
	}
	if _, lag := a.cfg.(parted).Apart(); lag > 0 {
		return config.Invalid(a.name+".lag", "the weights of agents that learn together lag %d iterations behind: want 0", lag)
	}
	return config.Invalid(a.actorsKey(), "others act for agents that learn together: want 1")
}

// Acts reports whether devices share runs of the setup by acting in parts of the environments.
func (s *Setup) Acts() bool { return s.acting() != nil }

// ActsOutside reports whether they do so in environments that the host steps.
func (s *Setup) ActsOutside() bool { return s.Acts() && s.Env.SteppedByHost() }

// Act acts for a learner elsewhere (rl.Act).
func (s *Setup) Act(ctx context.Context, eng *engine.Engine, jobs cluster.Jobs, name string, environment envs.Options) error {
	a := s.acting()
	if a == nil {
		return errors.New("evorl: a configuration without actors; want actors above 1, or a lag")
	}
	return rl.Act(ctx, eng, jobs, name, func(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
		return a.build(ctx, eng, s.Env, environment, rl.ForActing())
	})
}
