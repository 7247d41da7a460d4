package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/rl/internal/lane"
	"github.com/evorl/evorl/vk"
)

// gradientParts computes the gradients of every minibatch in parts (OnPolicyConfig.GradientParts), apart from each other. An optimizer adds them in the
// order of the parts, as it adds the splits of a gradient. So it does not matter which device computes a part: all in one program here or, if other
// devices share the gradients (sharedGradients), each its own.
type gradientParts struct {
	minibatches   *minibatches
	actor, critic partedLoss
	prepare       func(r *engine.Recorder, m minibatch)

	site     *gradientSite     // of several devices that share the gradients; nil: all parts are computed here
	update   *engine.Tensor    // [1] u32: the minibatch of programs
	programs []*engine.Program // that compute a part each; nil: not recorded yet
}

// partedLoss is a loss with room for the gradients of all parts of a minibatch.
type partedLoss struct {
	*lane.Loss
	gradients *engine.Tensor // [parts, M, row]; nil of a critic that shares the actor's layers, and gradient
	sums      *engine.Tensor // [parts, 4, M]: lane.Loss.Sums of each part, added over splits
	total     *engine.Tensor // [4, 1, M]: their sum over the parts, as lane.Loss.Sums of a loss without splits

	partGradient, partSums *engine.Tensor // [M, row], [4, M]: of the part that was last computed
}

// newGradientParts makes what gradients in parts take; nil: they are computed whole.
func newGradientParts(s *engine.State, m *minibatches, actor, critic *lane.Loss) *gradientParts {
	if m.Parts == 1 {
		return nil
	}
	of := func(name string, l *lane.Loss) partedLoss {
		tensor := func(what string, dims ...engine.Dim) *engine.Tensor {
			return s.Scratch(name+"_"+what, engine.Float32, dims...)
		}
		parts, losses, members := engine.Axis("part", m.Parts), engine.Axis("loss", 4), engine.Members(m.Members)
		p := partedLoss{
			Loss: l, sums: tensor("losses", parts, losses, members), total: tensor("total_losses", losses, engine.Axis("split", 1), members),
			partSums: tensor("part_losses", losses, members),
		}
		if !l.Joined() {
			row := l.Into().Dims()[1:]
			p.gradients, p.partGradient = tensor("gradients", append([]engine.Dim{parts}, row...)...), tensor("part_gradient", row...)
		}
		return p
	}
	g := &gradientParts{
		minibatches: m, actor: of("actor", actor), critic: of("critic", critic), programs: make([]*engine.Program, m.Parts),
		update: s.Scratch("update", engine.Uint32, engine.Axis("count", 1)),
	}
	s.OnClose(func() error {
		for _, p := range g.programs {
			p.Free()
		}
		return nil
	})
	return g
}

// record records the gradient of a part, and its losses. Both are added over splits here, whose number depends on the device.
func (l partedLoss) record(r *engine.Recorder, m minibatch) {
	if l.gradients != nil {
		engine.Sum(r, l.partGradient, l.Gradient(r, m.inLanes()), "split")
		r.Copy(l.gradients.Index(m.part), l.partGradient)
	}
	engine.Sum(r, l.partSums, l.Sums, "split")
	r.Copy(l.sums.Index(m.part), l.partSums)
}

// begin records that the updates of an iteration begin; prepare records what losses need first.
func (g *gradientParts) begin(r *engine.Recorder, prepare func(r *engine.Recorder, m minibatch)) {
	g.prepare = prepare
	if g.site != nil && g.site.begin != nil {
		r.Host("other devices begin to compute gradients", g.site.begin)
	}
}

// record records the gradients [parts, M, row] of actor and critic over the minibatch of an update.
func (g *gradientParts) record(r *engine.Recorder, update *engine.Tensor) (actor, critic *engine.Tensor) {
	if g.site != nil {
		r.Copy(g.update, update)
		r.Host("gradients of several devices", g.site.exchange)
	} else {
		for k := range g.minibatches.Parts {
			g.recordPart(r, update, k)
		}
	}
	return g.actor.gradients, g.critic.gradients
}

// recordPart records the gradients of one part.
func (g *gradientParts) recordPart(r *engine.Recorder, update *engine.Tensor, k int) {
	m := minibatch{g.minibatches, update, k}
	g.prepare(r, m)
	g.actor.record(r, m)
	g.critic.record(r, m)
}

// recordLosses records the losses of the last minibatch: the sums of its parts.
func (g *gradientParts) recordLosses(r *engine.Recorder) {
	for _, l := range []partedLoss{g.actor, g.critic} {
		engine.Sum(r, l.total, l.sums, "part")
	}
}

// submit queues computing a part of the minibatch whose number is in update, by a program of its own.
func (g *gradientParts) submit(ctx context.Context, k int) (_ *vk.Ticket, err error) {
	if g.programs[k] == nil {
		g.programs[k], err = g.update.Engine().Record("gradients of a part", func(r *engine.Recorder) { g.recordPart(r, g.update, k) })
		if err != nil {
			return nil, err
		}
	}
	return g.programs[k].Submit(ctx)
}

// results returns what computing a part writes: the gradients of actor and critic and, on demand, their losses.
func (g *gradientParts) results(k int, losses bool) []*engine.Tensor {
	var all []*engine.Tensor
	for _, l := range []partedLoss{g.actor, g.critic} {
		if l.gradients != nil {
			all = append(all, l.gradients.Index(k))
		}
		if losses {
			all = append(all, l.sums.Index(k))
		}
	}
	return all
}
