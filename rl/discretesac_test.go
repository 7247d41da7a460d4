package rl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// dispatches is how many kernels a step runs, of rollouts within one dispatch.
func (a *discreteSAC) dispatches(info vk.Info, updates int) int {
	n := 1 + 6 + 1 + 3 + 3 + 1 + 1 // rollout, append, environment steps; metrics of episodes, of updates; ring, clock
	if a.normalizer != nil {
		n += 2 // the moments, and values left out
	}
	// Sample; policy and values of the next observations, values, loss, gradient, norm and step.
	inside := 1 + ways(a.actor, 1) + 2*ways(a.critics, 1) + 1 + gradients(info, a.critics, 1) + 2
	// Policy and values; loss, gradient, norm and step.
	inside += ways(a.actor, 1) + ways(a.critics, 1) + 1 + gradients(info, a.actor, 1) + 2
	if inside *= updates; inside > vk.PlainCommands {
		inside += updates // a kernel counts them
	}
	return n + inside
}

// stepDiscreteSAC is an update of SAC with discrete actions (P. Christodoulou, 2019, algorithm 1).
func stepDiscreteSAC(f *memberReference) {
	a := f.c.o.learner.(*discreteSAC)
	alpha := f.hyper["temperature"]
	if a.learned() {
		alpha = math.Exp(f.values["temperature"][0])
	}
	values := func(critics, obs []float64) (q [2][]float64) {
		row := len(critics) / 2
		for i := range q {
			q[i] = forward(a.critics.Model(), critics[i*row:], obs)
		}
		return q
	}
	// soft is the value of a state by a policy's parameters: the expectation of the smaller value, and the entropy.
	soft := func(actor []float64, q [2][]float64, obs []float64) (value, entropy float64) {
		for i, l := range logSoftmax(forward(a.actor.Model(), actor, obs)) {
			value += math.Exp(l) * min(q[0][i], q[1][i])
			entropy -= math.Exp(l) * l
		}
		return value, entropy
	}
	y := make([]float64, updateRows)
	for i := range y {
		next := f.row("next", i, updateObs)
		value, entropy := soft(f.values["actor"], values(f.values["target critics"], next), next)
		y[i] = f.hyper["reward_scale"]*f.values["reward"][i] + f.values["factor"][i]*(value+alpha*entropy)
	}
	f.descend("critics", "critic_learning_rate", func(critics []float64) (loss float64) {
		for i := range y {
			for _, q := range values(critics, f.row("obs", i, updateObs)) {
				d := q[int(f.values["action"][i])] - y[i]
				loss += d * d / updateRows
			}
		}
		return loss
	})
	f.follow("target critics", "critics")
	mean := 0.0
	for i := range updateRows {
		_, entropy := soft(f.values["actor"], values(f.values["critics"], f.row("obs", i, updateObs)), f.row("obs", i, updateObs))
		mean += entropy / updateRows
	}
	f.descend("actor", "actor_learning_rate", func(actor []float64) (loss float64) {
		for i := range updateRows {
			obs := f.row("obs", i, updateObs)
			value, entropy := soft(actor, values(f.values["critics"], obs), obs)
			loss -= (alpha*entropy + value) / updateRows
		}
		return loss
	})
	if a.learned() {
		target := f.hyper["target_entropy_scale"] * math.Log(float64(a.head.Size))
		f.adam("temperature", "temperature_learning_rate", []float64{alpha * (mean - target)})
	}
}

// Two updates of SAC with discrete actions against float64, with a temperature that is learned and one that is not.
func TestDiscreteSACUpdates(t *testing.T) {
	for _, actions := range []int{2, 5} {
		for _, hidden := range updateForms {
			learned := actions == 5
			t.Run(fmt.Sprintf("%d actions, %v", actions, hidden), func(t *testing.T) {
				network := DefaultSACNetwork()
				network.Hidden = hidden
				extra := map[string][updateMembers]float64{"target_entropy_scale": {0.89, 0.5, 0.98}, "temperature_learning_rate": {1e-2, 1e-3, 0.1}}
				if !learned {
					extra["temperature"] = [updateMembers]float64{0.2, 1, 0.01}
				}
				u := newUpdateCaseOf(t, envs.Discrete(actions), network, func(o *OffPolicy, parts learnerParts) (learner, error) {
					return newDiscreteSAC(o, parts, SACConfig{LearnTemperature: learned})
				}, extra)
				a := u.o.learner.(*discreteSAC)
				compared := map[string]*engine.Tensor{"actor": a.actor.params(), "critics": a.critics.params(), "target critics": a.targetCritics}
				if learned {
					compared["temperature"] = a.temperature
				}
				u.run(t, 2, stepDiscreteSAC, compared)
			})
		}
	}
}

// TestDiscreteSACOfManyActions: rows and actions that are more loop iterations than Mesa's software driver makes in an invocation of its
// usual workgroup.
func TestDiscreteSACOfManyActions(t *testing.T) {
	testDiscreteSACOfManyActions(t, 2051, 77)
	testDiscreteSACOfManyActions(t, 129, nn.MaxLogits)
}

func testDiscreteSACOfManyActions(t *testing.T, rows, actions int) {
	const alpha = 0.3
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	row, action, p := engine.Axis("row", rows), engine.Axis("action", actions), engine.Members(1)
	logits, values := s.Scratch("logits", engine.Float32, p, row, action), s.Scratch("values", engine.Float32, p, engine.Axis("critic", 2), row, action)
	temperature, share := s.Scratch("temperature", engine.Float32, p), s.Scratch("share", engine.Float32, p)
	at := s.Scratch("gradient", engine.Float32, p, row, action)
	loss, applied, entropy := s.Scratch("loss", engine.Float32, p), s.Scratch("applied", engine.Float32, p), s.Scratch("entropy", engine.Float32, p)
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(4, 0))
	y, q := make([]float64, logits.Len()), make([]float64, values.Len())
	for _, of := range [][]float64{y, q} {
		for i := range of {
			of[i] = float64(float32(dice.NormFloat64()))
		}
	}
	write(t, logits, y)
	write(t, values, q)
	write(t, temperature, []float64{alpha})
	poison(t, at, loss, applied, entropy)
	run(t, eng, func(r *engine.Recorder) {
		r.Dispatch(discreteSoftActorKernel{
			Logit: logits.Range(), Value: values.Range(), Temperature: temperature.Range(), Entropy: share.Range(), AtLogit: at.Range(),
			Loss: loss.Range(), Applied: applied.Range(), Mean: entropy.Range(),
			Rows: uint32(rows), Actions: uint32(actions), Workgroup: discreteActorWorkgroup(r, rows, actions),
		}.call(1, 1, 1))
	})
	got, wantLoss, want := read(t, at), 0.0, make([]float64, logits.Len())
	for i := range rows {
		l, sum := logSoftmax(y[i*actions:][:actions]), 0.0
		of := func(a int) float64 {
			return alpha*l[a] - min(q[i*actions+a], q[(rows+i)*actions+a])
		}
		for a := range actions {
			sum += math.Exp(l[a]) * of(a)
		}
		for a := range actions {
			want[i*actions+a] = math.Exp(l[a]) * (of(a) - sum) / float64(rows)
		}
		wantLoss += sum / float64(rows)
	}
	if d := deviation(got, want); !(d < 1e-5) {
		t.Errorf("gradient deviates by %g of its largest value; want at most 1e-5", d)
	}
	if d := deviation(read(t, loss), []float64{wantLoss}); !(d < 1e-5) {
		t.Errorf("loss deviates by %g; want at most 1e-5", d)
	}
}

// TestTorchDiscreteSAC compares updates with PyTorch's in float64: losses, gradients, parameters, targets, temperatures.
func TestTorchDiscreteSAC(t *testing.T) {
	ref := readTorch(t, "sac")
	eng := engine.New(open(t), engine.Seed(ref.Draws.Seed))
	compared := 0
	for _, c := range ref.Cases {
		if c.Discrete {
			t.Run(c.Name, func(t *testing.T) { c.discreteSAC(t, eng, ref) })
			compared++
		}
	}
	if compared == 0 {
		t.Error("the reference has no case of discrete actions")
	}
}

func (c torchCase) discreteSAC(t *testing.T, eng *engine.Engine, ref torchReference) {
	adam, network, sizes := optim.DefaultAdam, DefaultSACNetwork(), c.Sizes["actor"]
	adam.Epsilon, network.Hidden = ref.Adam.Epsilon, c.hidden()
	actions := sizes[len(sizes)-1]
	parts := learnerParts{
		env: spaces(sizes[0], envs.Discrete(actions)), network: network, batch: c.Updates[0].Batch["reward"].Shape[1], optimizer: adam,
	}
	o, batch := bareOffPolicy(t, eng, c.members(), parts, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newDiscreteSAC(o, parts, SACConfig{LearnTemperature: true})
	})
	a := o.learner.(*discreteSAC)
	for name, values := range c.Hyper {
		if name == "target_entropy" { // there in nats
			name = "target_entropy_scale"
			values = append([]float64(nil), values...)
			for i := range values {
				values[i] /= math.Log(float64(actions))
			}
		}
		write(t, o.Hyper().Lookup(name), values)
	}
	tensors := map[string]*engine.Tensor{
		"actor": a.actor.params(), "critics": a.critics.params(), "target_critics": a.targetCritics, "log_temperature": a.temperature,
	}
	for name, x := range tensors {
		write(t, x, c.Initial[name].aligned())
	}
	number := o.State().Sub("test").Scratch("number", engine.Uint32, engine.Axis("count", 1))
	for i, u := range c.Updates {
		for name, x := range map[string]*engine.Tensor{
			"obs": batch.Obs, "next_obs": batch.NextObs, "action": batch.Action, "reward": batch.Reward, "factor": batch.Factor,
		} {
			write(t, x, u.Batch[name].Data)
		}
		write(t, number, []float64{float64(i)})
		run(t, eng, func(r *engine.Recorder) {
			a.prepare(r)
			a.update(r, update{batch: batch, number: number})
		})
		for _, part := range []struct {
			name string
			got  []float64
		}{
			{"value", read(t, a.chosen)}, {"loss/actor", read(t, a.actorRow)},
			{"gradient/critics", summed(t, a.critics.pass.Into())}, {"gradient/actor", summed(t, a.actor.pass.Into())},
			{"params/actor", read(t, a.actor.params())}, {"params/critics", read(t, a.critics.params())},
			{"target/critics", read(t, a.targetCritics)}, {"params/log_temperature", read(t, a.temperature)},
		} {
			want := u.Expect[part.name].Data
			if len(want) != len(part.got) {
				want = u.Expect[part.name].aligned()
			}
			torchCompare(t, fmt.Sprintf("update %d: %s", i, part.name), c.members(), part.got, want, torchGradient)
		}
	}
}

// TestDiscreteSACLearnsCartPole: the settings of configs/sac-cartpole.toml, with fewer steps.
func TestDiscreteSACLearnsCartPole(t *testing.T) {
	cfg, network, replay := DefaultSAC(), DefaultSACNetwork(), DefaultReplay()
	cfg.Members, cfg.RolloutLength, cfg.LearningStarts, cfg.UpdatesPerStep = 3, 100, 1000, 0.5
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.TemperatureLearningRate = 1e-3, 1e-3, 1e-3
	network.Hidden, replay.Capacity, replay.Batch = []int{64, 64}, 20000, 64
	o, err := NewSAC(t.Context(), engine.New(open(t), engine.Seed(1)), lookup(t, "CartPole-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	learnOffPolicy(t, o, 130, 300)
}
