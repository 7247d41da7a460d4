package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
)

// SliceKey is the key of the members of a slice.
const SliceKey = membersSection + ".slice"

const membersSection = "members"

// MembersConfig is [members], of agents: how their members are divided.
type MembersConfig struct {
	Slice int `min:"0" max:"1048576" doc:"Members that one program computes, with random numbers of its own: devices and machines can share a run; 0: all."`
}

// inSlices makes the agents of a workflow in slices of members.
func (a *agent) inSlices(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	return workflowOf(hybrid.NewSlices(ctx, eng, *a.size, a.slices.Slice, a.slice(env, options)))
}

// slice returns what makes the agents of one slice.
func (a *agent) slice(env *envs.Environment, options envs.Options) hybrid.BuildSlice {
	return func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
		all := *a.size
		defer func() { *a.size = all }()
		*a.size = members
		w, err := a.build(ctx, eng, env, options)
		if err != nil {
			return nil, err
		}
		of, ok := w.(engine.Trainable)
		if !ok {
			return nil, errors.Join(fmt.Errorf("evorl: members of %s cannot be divided", a.name), w.Close())
		}
		return of, nil
	}
}

// Slice returns the number of members in the first slice, and what makes a slice; nil: members are not in slices.
func (s *Setup) Slice(environment envs.Options) (members int, build hybrid.BuildSlice) {
	a, ok := innermost(s.Settings).(*agent)
	if !ok || a.slices == nil || a.slices.Slice < 1 {
		return 0, nil
	}
	return min(a.slices.Slice, *a.size), a.slice(s.Env, environment)
}

// checkSlices checks that what an agent is made with can be divided by members.
func (a *agent) checkSlices() error {
	if key := a.asynchronousKey(); key != "" && a.slices != nil && a.slices.Slice > 0 {
		return config.Invalid(key, "members in slices (%s) have the same bits whoever computes them, and trajectories that are taken as they come have not: "+
			"want false, or %s = 0", SliceKey, SliceKey)
	}
	if a.slices != nil && a.slices.Slice > 0 && a.replay != nil && a.replay.Shared {
		return config.Invalid(SliceKey, "members share one replay (replay.shared), which is on one device: want 0 in one, or false in the other")
	}
	return nil
}

// slicesOf returns how the members of a workflow are divided; nil: they cannot be.
func slicesOf(of Settings) *MembersConfig {
	if a, ok := innermost(of).(*agent); ok {
		return a.slices
	}
	return nil
}

// Slices returns how members are divided; nil: they cannot be.
func (s *Setup) Slices() *MembersConfig { return slicesOf(s.Settings) }

// Undivide makes the workflow one program for all members, for what does not learn: its state is the same. The returned function undoes it.
func (s *Setup) Undivide() (back func()) {
	of := s.Slices()
	if of == nil {
		return func() {}
	}
	was := of.Slice
	of.Slice = 0
	return func() { of.Slice = was }
}

// ShareKey returns the key of the setting by which several devices share runs of the setup; "": they cannot.
func (s *Setup) ShareKey() string {
	if _, ok := s.Settings.(*search); ok {
		return "search.slice"
	}
	if a := s.acting(); a != nil {
		return a.actorsKey()
	}
	if s.outside != nil || s.remote != nil {
		return s.actorsKey()
	}
	if a := s.inParts(); a != nil {
		return a.gradientsKey()
	}
	if s.Slices() != nil {
		return SliceKey
	}
	return ""
}

// CheckShared returns an error if several devices cannot share runs of the setup, some of them elsewhere or all in one machine.
func (s *Setup) CheckShared(elsewhere bool) error {
	of, searches := s.Settings.(*search)
	agents := s.Slices()
	members, membersKey := s.Settings.Members()
	switch {
	case s.Acts():
		return nil
	case s.outside != nil || s.remote != nil:
		return s.outsideAlone()
	case s.DividesGradients():
		return nil
	case !searches && agents == nil:
		return config.Invalid("workflow", "%s computes on one device, and several are given: want one, an agent such as workflow = \"ppo\", PBT of one, "+
			"or a search such as \"openes\"", s.Workflow.Name)
	case searches && of.cfg.Slice == 0:
		return config.Invalid("search.slice", "several devices share the evaluation of candidates in slices: want at least 1, such as 64")
	case agents != nil && *members == 1:
		key, more := membersKey, "more members"
		if actors := s.actorsKey(); actors != "" {
			key, more = actors, "more actors, "+more
		}
		if a, ok := s.Settings.(*agent); ok && a.gradientsKey() != "" && !elsewhere {
			more += ", " + a.gradientsKey() + " = 2"
		}
		return config.Invalid(key, "one member with one actor computes on one device, and several are to share the run: want %s, or one device", more)
	case agents != nil && agents.Slice == 0:
		return config.Invalid(SliceKey, "several devices compute the members in slices: want at least 1, such as the number of members on each device")
	}
	return nil
}

// outsideAlone is the error of several devices that are to share a run in an environment outside of evorl, in which nobody else acts.
func (s *Setup) outsideAlone() error {
	if actors := s.actorsKey(); actors != "" {
		return config.Invalid("env", "%s is stepped by other processes, so that several devices share its environments and nothing else: want %s = 2 or more, "+
			"without %s and gradient_parts, or one device", s.Place, actors, SliceKey)
	}
	return config.Invalid("env", "%s is stepped by other processes, and several devices are given, which share such environments among the actors of one of "+
		"a2c, ddpg, dqn, impala, ppo, redq, sac and td3, with one agent in a world: want one of these, or one device", s.Place)
}

// checkDivided checks the objectives of members in slices.
func (p *pbt) checkDivided() error {
	of := slicesOf(p)
	if of == nil || of.Slice == 0 || p.cfg.Objective != hybrid.Coverage && p.cfg.Objective != hybrid.Styles {
		return nil
	}
	return config.Invalid("pbt.objective", "members in slices (%s) are compared by their returns: want none or steadiness, or %s = 0", SliceKey, SliceKey)
}
