package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// together are policies that play together, one at each seat of their worlds (RolloutConfig.EachSeat). A network reads the observations of its seat in all
// worlds, [M, groups, A, E, ..], and worlds have those of all seats together, [M, groups, E, A, ..].
type together struct {
	seats             int
	rows              *engine.Tensor // [groups, E, A] u32: which policy plays each seat
	byPolicy, byWorld *engine.Tensor // [places] u32: where a row of one order is in the other
	observed, outputs *engine.Tensor // by policy
}

// MostPlaces is the largest number of groups × environments × seats of a rollout with EachSeat.
func MostPlaces(info vk.Info) int { return int(info.Limits.MaxGroups[1]) }

// newTogether makes the networks and tensors of policies that play together.
func newTogether(s *engine.State, ro *Rollout) (*nn.Network, *together, error) {
	c, model, seats := ro.cfg, ro.cfg.Policy.Network, ro.env.Seats()
	places := c.Members * c.Environments * seats
	switch {
	case c.Policy.Rows != nil || c.Policy.Perturbation != nil || c.Cap || c.Policies > 1 || c.Window != nil && c.Window.Group > 0:
		return nil, nil, fmt.Errorf("envs: a policy at each seat of %q, with rows, low rank, a cap, several policies a member or groups; want none of these",
			ro.env.Name)
	case model.Memory() > 0:
		return nil, nil, fmt.Errorf("envs: a policy at each seat of %q, of networks with memory; want networks without", ro.env.Name)
	case places > MostPlaces(s.Engine().Device().Info()):
		return nil, nil, fmt.Errorf("envs: %d places of policies at each seat of %q; want at most %d", places, ro.env.Name, MostPlaces(s.Engine().Device().Info()))
	}
	g := &together{seats: seats}
	table := func(name string, of func(group, environment, seat int) (at, value int)) *engine.Tensor {
		return engine.Constant(s, name, func() []uint32 {
			all := make([]uint32, places)
			for group := range c.Members {
				for e := range c.Environments {
					for seat := range seats {
						at, value := of(group, e, seat)
						all[at] = uint32(value)
					}
				}
			}
			return all
		}, engine.Members(places))
	}
	world := func(group, e, seat int) int { return (group*c.Environments+e)*seats + seat }
	policy := func(group, e, seat int) int { return (group*seats+seat)*c.Environments + e }
	g.rows = table("seats", func(group, e, seat int) (at, value int) { return world(group, e, seat), group*seats + seat })
	g.byPolicy = table("by_policy", func(group, e, seat int) (at, value int) { return policy(group, e, seat), world(group, e, seat) })
	g.byWorld = table("by_world", func(group, e, seat int) (at, value int) { return world(group, e, seat), policy(group, e, seat) })
	members, share := engine.Members(c.Members/ro.share()), ro.share()*seats
	rows := func(name, axis string, size int) *engine.Tensor {
		return s.Scratch(name, engine.Float32, members, nn.Networks(share), engine.Environments(c.Environments), engine.Axis(axis, size))
	}
	g.observed, g.outputs = rows("observed_by_policy", "feature", ro.env.ObsSize()), rows("outputs_by_policy", "output", model.Outputs())
	network, err := nn.NewStack(s, model, c.Members/ro.share(), share, c.Environments)
	return network, g, err
}

// collect records copying the worlds' observations to the policies that act on them.
func (g *together) collect(r *engine.Recorder, observed *engine.Tensor) {
	g.take(r, g.byPolicy, g.observed, observed)
}

// spread records copying the policies' outputs to their seats.
func (g *together) spread(r *engine.Recorder, outputs *engine.Tensor) {
	g.take(r, g.byWorld, outputs, g.outputs)
}

func (g *together) take(r *engine.Recorder, source, to, from *engine.Tensor) {
	rows := func(t *engine.Tensor) *engine.Tensor {
		return t.View(engine.Members(source.Len()), engine.Axis("element", t.Len()/source.Len()))
	}
	engine.Take(r, source, rows(to), rows(from))
}
