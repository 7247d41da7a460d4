package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
)

// AscentConfig are the settings of an ascent.
type AscentConfig struct {
	Actors       int     // per member
	Steps        int     // gradient steps
	LearningRate float64 // of their optimizer
}

// Ascent lets actors other than the agents' own follow the gradient of the first critic: the policy-gradient variation
// of PGA-MAP-Elites (O. Nilsson, A. Cully, "Policy Gradient Assisted MAP-Elites", 2021, algorithm 4). An actor's loss
// is minus the critic's mean value of its actions in its own batch; the critics do not change. The caller chooses the
// actors and uses the results.
type Ascent struct {
	cfg     AscentConfig
	agents  *OffPolicy
	learner *deterministic
	actors  *network // [M · n, row]
	critic  *nn.Network
	climb   *nn.Pass // of the critic, for the gradient at its inputs
	batch   ReplayBatch
	stream  uint32

	actions, atActions *engine.Tensor // [M, n · B, D]
	logProb            *engine.Tensor // [M, n · B]
	value, atValue     *engine.Tensor // [M, n · B, 1]
}

// NewAscent makes an ascent of DDPG's or TD3's actors along the gradient of the agents' critics; its tensors are in s.
// Batches have the size of the agents' replay.
//
// Errors: settings out of range, other agents, agents with several actors per member or a shared critic,
// distributional critics, and *vk.OutOfMemoryError.
func (o *OffPolicy) NewAscent(s *engine.State, cfg AscentConfig) (*Ascent, error) {
	d, err := o.deterministic()
	if err != nil {
		return nil, fmt.Errorf("an ascent: %w", err)
	}
	switch {
	case d.distribution != nil:
		return nil, config.Invalid(o.name+".atoms", "an ascent needs critics that output values, not distributions; want 0")
	case d.actors != 1:
		return nil, fmt.Errorf("rl: %s whose actors share critics has no ascent; want one actor per member", o.name)
	case cfg.Actors < 1 || cfg.Steps < 1 || !(cfg.LearningRate >= 0):
		return nil, config.Invalid("ascent", "%d actors, %d steps of size %g; want at least one of each, and a size of at least 0",
			cfg.Actors, cfg.Steps, cfg.LearningRate)
	}
	members, rows := d.members, cfg.Actors*d.batch
	all := engine.Members(members * cfg.Actors)
	a := &Ascent{cfg: cfg, agents: o, learner: d, stream: s.Stream("sample"), batch: o.replay.newBatch(s.Sub("batch"), rows, engine.Members(members))}
	rate := engine.Constant(s, "learning_rate", engine.Same(all.Size, float32(cfg.LearningRate)), all)
	mlp := d.actor.Model()
	a.actors, err = newNetwork(s.Sub("actors"), mlp, nn.Align(mlp.Size()), agentConfig{
		members: all.Size, rows: d.batch, optimizer: d.actor.optimizer.Config(), rate: rate,
	})
	if err != nil {
		return nil, err
	}
	if a.critic, err = nn.New(s.Sub("critic"), d.critics.Model(), members, rows); err != nil {
		return nil, err
	}
	if a.climb, err = a.critic.NewPass(s.Sub("critic"), rows); err != nil {
		return nil, err
	}
	p, b := engine.Members(members), engine.Axis("transition", rows)
	action, value := engine.Axis("action", d.head.Size), engine.Axis("value", 1)
	a.actions, a.atActions = s.Scratch("actions", engine.Float32, p, b, action), s.Scratch("gradient_at_actions", engine.Float32, p, b, action)
	a.logProb, a.value = s.Scratch("log_prob", engine.Float32, p, b), s.Scratch("value", engine.Float32, p, b, value)
	a.atValue = engine.Constant(s, "gradient_at_value", engine.Same(members*rows, -1/float32(d.batch)), p, b, value)
	a.actors.learn(s, a.actors.params(), p, b)
	return a, s.Err()
}

// Actors returns the parameters [M · n, row], which Record changes.
func (a *Ascent) Actors() *engine.Tensor { return a.actors.params() }

// Record records the steps of all actors, with new moments of their optimizer.
func (a *Ascent) Record(r *engine.Recorder) {
	o, d := a.agents, a.learner
	a.actors.optimizer.Reset(r)
	r.Repeat(a.cfg.Steps, func(r *engine.Recorder, i engine.Counter) {
		o.replay.gather(r, o.replay.drawer(a.batch, a.stream, o.Clock(), i.Tensor(), o.discount), a.batch)
		a.actors.pass.Forward(r, a.actors.weights(), inputs(a.each(a.batch.Obs), nil), a.each(a.actors.outputs))
		b := nn.HeadBatch{Parameters: a.actors.weights(), Outputs: a.actors.outputs, Draws: nn.Draws{Clock: o.Clock(), Update: i.Tensor()}, Mode: true}
		d.head.Sample(r, b, a.actions, a.logProb)
		a.climb.Forward(r, d.critics.weights(), inputs(a.batch.Obs, a.actions), a.value)
		a.climb.InputGradients(r, a.atValue, nil, a.atActions)
		d.head.Backward(r, b, nn.HeadGradients{Action: a.atActions, Outputs: a.actors.atOutputs})
		a.actors.optimizer.Step(r, a.actors.pass.Gradient(r, a.each(a.actors.atOutputs)))
	})
}

// each returns a tensor [M, n · B, …] in the actors' shape, [M · n, B, …].
func (a *Ascent) each(x *engine.Tensor) *engine.Tensor {
	dims := []engine.Dim{engine.Members(a.learner.members * a.cfg.Actors), engine.Axis("transition", a.learner.batch)}
	return x.View(append(dims, x.Dims()[2:]...)...)
}
