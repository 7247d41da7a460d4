package rl

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// temperatures holds the members' entropy weights in soft actor-critic, which are either learned so that policies have
// a target entropy, or fixed (T. Haarnoja et al., 2018, section 5). Actors that share critics share the temperature too,
// since the critics' values include the entropy with one weight; its loss is the mean over the actors.
type temperatures struct {
	first float64        // initial value, if they are learned
	begin *engine.Tensor // [P, 4]: the initial logarithms; nil: not learned

	temperature   *engine.Tensor   // [P]; if learned, its logarithm [P, 4], of which only the first of four is used
	optimizer     *optim.Optimizer // of the temperature's logarithm; nil: not learned
	group         *optim.Group     // of actor and temperature; nil: not learned, or a member has several actors
	atLog         *engine.Tensor   // [1, P, 4]: gradient of the logarithm
	targetEntropy *engine.Tensor   // [P]: in the learner's unit

	actorRow, temperatureRow *engine.Tensor // metrics [P]
}

// newSoft makes the common part of SAC's learners, without the target entropy: an actor with a head, twin critics with
// targets that follow in every update, and temperatures. If contiguous, networks and learned temperatures are in one buffer.
func newSoft(o *OffPolicy, parts learnerParts, c SACConfig, head nn.Head, contiguous bool) (ac *actorCritic, t temperatures, err error) {
	h, s, m := o.Hyper(), o.State(), o.Metrics()
	ac, err = newActorCritic(o, actorCriticConfig{
		learnerParts: parts, twins: 2, head: head, critic: c.CriticConfig,
		actorRate: h.Add("actor_learning_rate", c.ActorLearningRate), criticRate: h.Add("critic_learning_rate", c.CriticLearningRate), tau: h.Add("tau", c.Tau),
		contiguous: contiguous,
	})
	if err != nil {
		return nil, t, err
	}
	ac.critics.optimizer.Follow(ac.targetCritics, ac.tau)
	t.first = c.Temperature
	rate := o.rates.of("temperature_learning_rate", h.Add("temperature_learning_rate", c.TemperatureLearningRate))
	if c.LearnTemperature {
		t.optimizer = optim.New(ac.scope.Sub("temperature"), parts.optimizer, rate, 4)
		t.temperature = t.optimizer.Params()
		t.begin = engine.Constant(s.Sub("agent"), "initial_temperature", t.logarithms, t.temperature.Dims()...)
		t.atLog = s.Sub("update").Scratch("temperature_gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", 1)}, t.temperature.Dims()...)...)
		if ac.actors == 1 {
			t.group, err = optim.NewGroup(0, ac.actor.optimizer, t.optimizer)
		}
	} else {
		t.temperature = h.Add("temperature", c.Temperature)
	}
	t.actorRow, t.temperatureRow = m.Row("loss/actor"), m.Row("policy/temperature")
	return ac, t, errors.Join(err, s.Err())
}

// learned reports whether the temperatures are learned.
func (t *temperatures) learned() bool { return t.optimizer != nil }

// descend records an update of the actor and, if they are learned, of the temperatures.
func (t *temperatures) descend(r *engine.Recorder, actor *network, gradient *engine.Tensor) {
	if t.group != nil {
		t.group.Record(r, gradient, t.atLog)
		return
	}
	actor.optimizer.Record(r, gradient)
	if t.learned() {
		t.optimizer.Record(r, t.atLog)
	}
}

// init writes the initial temperatures, if they are learned.
func (t *temperatures) init(ctx context.Context) error {
	if !t.learned() {
		return nil
	}
	return t.temperature.WriteFloat32(ctx, t.logarithms())
}

// logarithms returns the logarithms of the initial temperatures, [P, 4], of which only the first of four is used.
func (t *temperatures) logarithms() []float32 {
	logs := make([]float32, t.temperature.Len())
	for i := 0; i < len(logs); i += 4 {
		logs[i] = float32(math.Log(t.first))
	}
	return logs
}

// inherit records resetting the temperatures of members whose source [P] is another member, if temperatures are
// learned.
func (t *temperatures) inherit(r *engine.Recorder, source *engine.Tensor) {
	if t.learned() {
		engine.Renew(r, source, t.temperature, t.begin)
		t.optimizer.Renew(r, source)
	}
}
