package rl

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// TestTorchDQN compares updates of DQN with PyTorch's in float64: values, losses, gradients, parameters, targets.
func TestTorchDQN(t *testing.T) {
	ref := readTorch(t, "dqn")
	eng := engine.New(open(t), engine.Seed(ref.Draws.Seed))
	for _, c := range ref.Cases {
		t.Run(c.Name, func(t *testing.T) { c.dqn(t, eng, ref) })
	}
}

func (c torchCase) dqn(t *testing.T, eng *engine.Engine, ref torchReference) {
	cfg, network, sizes := DefaultDQN(), DefaultDQNNetwork(), c.Sizes["q"]
	cfg.Members, cfg.OptimizerEpsilon, network.Hidden = c.members(), ref.Adam.Epsilon, c.hidden()
	if cfg.Double, cfg.Dueling, cfg.TargetInterval = c.Double, c.Dueling, 1; c.Huber {
		cfg.Huber = 1
	}
	if c.Atoms > 0 {
		cfg.Atoms, cfg.MinValue, cfg.MaxValue = c.Atoms, c.Range[0], c.Range[1]
	}
	rows := c.Updates[0].Batch["reward"].Shape[1]
	parts := learnerParts{env: spaces(sizes[0], envs.Discrete(c.Actions)), network: network, batch: rows, optimizer: optim.DefaultAdam}
	o, batch := bareOffPolicy(t, eng, cfg.Members, parts, func(o *OffPolicy, parts learnerParts) (learner, error) {
		o.cfg.Environments = cfg.Environments
		return newQLearner(o, parts, cfg)
	})
	q, s := o.learner.(*qLearner), o.State().Sub("test")
	number := s.Scratch("number", engine.Uint32, engine.Axis("count", 1))
	weight := s.Scratch("weight", engine.Float32, batch.Reward.Dims()...)
	batch.Action = s.Scratch("action", engine.Float32, batch.Reward.Dims()...)
	if c.Weighted {
		batch.Weight = weight
	}
	for name, values := range c.Hyper {
		write(t, o.Hyper().Lookup(name), values)
	}
	write(t, q.interval, []float64{1, 1})
	write(t, o.Clock().Tensor(), []float64{float64(ref.Draws.Iteration), 0})
	write(t, q.network.params(), c.Initial["q"].aligned())
	write(t, q.target, c.Initial["target_q"].aligned())
	for i, u := range c.Updates {
		for name, x := range map[string]*engine.Tensor{
			"obs": batch.Obs, "next_obs": batch.NextObs, "action": batch.Action, "reward": batch.Reward, "factor": batch.Factor, "weight": weight,
		} {
			write(t, x, u.Batch[name].Data)
		}
		write(t, number, []float64{float64(i)})
		run(t, eng, func(r *engine.Recorder) {
			q.prepare(r)
			q.update(r, update{batch: batch, number: number})
		})
		loss := make([]float64, cfg.Members)
		for j, v := range read(t, q.loss) {
			loss[j/rows] += v / float64(rows)
		}
		errors := read(t, q.errors)
		for j := range errors {
			errors[j] = max(errors[j], -errors[j])
		}
		compare := func(what string, got []float64, want array, tolerance float64) {
			t.Helper()
			torchCompare(t, fmt.Sprintf("update %d: %s", i, what), cfg.Members, got, want.aligned(), tolerance)
		}
		torchCompare(t, "values", cfg.Members, read(t, q.chosen), u.Expect["value"].Data, torchGradient)
		torchCompare(t, "loss", cfg.Members, loss, u.Expect["loss/q"].Data, torchGradient)
		if c.Atoms == 0 { // else the cross-entropy, where priorities take the divergence
			torchCompare(t, "errors", cfg.Members, errors, u.Expect["error"].Data, torchGradient)
		}
		compare("gradient", summed(t, stepped(q)), u.Expect["gradient/q"], torchGradient)
		compare("parameters", read(t, q.network.params()), u.Expect["params/q"], torchParams)
		compare("targets", read(t, q.target), u.Expect["target/q"], torchParams)
	}
}
