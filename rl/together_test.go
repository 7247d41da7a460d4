package rl

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

const fusedMembers = 3

// fusedWorkflows are off-policy workflows with fused updates, where the device fuses any.
func fusedWorkflows() []workflow {
	network, replay := DefaultSACNetwork(), DefaultReplay()
	network.Hidden = []int{16, 12}
	replay.Capacity, replay.Batch = 200, 13
	common := func(c *OffPolicyConfig) {
		c.Members, c.RolloutLength, c.LearningStarts, c.UpdatesPerStep = fusedMembers, 60, 60, 1
	}
	td3, sac := DefaultTD3(), DefaultSAC()
	common(&td3.OffPolicyConfig)
	td3.ActorLearningRate, td3.CriticLearningRate, td3.PolicyDelay, td3.Tau = 1e-3, 1e-3, 1.5, 0.1
	common(&sac.OffPolicyConfig)
	sac.ActorLearningRate, sac.CriticLearningRate, sac.TemperatureLearningRate, sac.Tau = 1e-3, 1e-3, 1e-2, 0.1
	fixed := sac
	fixed.LearnTemperature, fixed.Temperature = false, 0.3
	ofSAC := func(c SACConfig) func(t testing.TB, eng *engine.Engine) (counted, error) {
		return makes(NewSAC, "Pendulum-v1", c, Network(network), Replays(replay))
	}
	ofDQN := func(change func(*DQNConfig, *ReplayConfig), hidden ...int) func(t testing.TB, eng *engine.Engine) (counted, error) {
		return func(t testing.TB, eng *engine.Engine) (counted, error) {
			c, network, replay := DefaultDQN(), DefaultDQNNetwork(), replay
			common(&c.OffPolicyConfig)
			c.LearningRate, c.TargetInterval, c.Tau, network.Hidden = 1e-3, 2, 0.5, hidden
			change(&c, &replay)
			return NewDQN(t.Context(), eng, lookup(t, "Acrobot-v1"), c, Network(network), Replays(replay))
		}
	}
	return []workflow{
		{"dqn", ofDQN(func(*DQNConfig, *ReplayConfig) {}, 16, 12)},
		{"dqn of one layer, dueling", ofDQN(func(c *DQNConfig, _ *ReplayConfig) { c.Dueling = true }, 37)},
		{"dqn in panels, double, clipped, annealed", ofDQN(func(c *DQNConfig, _ *ReplayConfig) {
			c.Double, c.Huber, c.MaxGradNorm, c.AnnealSteps = true, 0.7, 0.3, 400
		}, 72, 75)},
		{"dqn in wide panels, double, dueling, three steps", ofDQN(func(c *DQNConfig, r *ReplayConfig) { c.Double, c.Dueling, r.Steps = true, true, 3 }, 120, 84)},
		{"td3", func(t testing.TB, eng *engine.Engine) (counted, error) {
			network := network
			network.StateDependentStd = false
			return NewTD3(t.Context(), eng, lookup(t, "Pendulum-v1"), td3, Network(network), Replays(replay))
		}},
		{"sac", ofSAC(sac)},
		{"sac with given temperatures", ofSAC(fixed)},
	}
}

// openFused makes such a workflow with a replay and `together` updates per dispatch; 0: an update is several dispatches.
func openFused(t *testing.T, w workflow, together int) *OffPolicy {
	t.Helper()
	o := w.open(t, open(t), 8).(*OffPolicy)
	if info := o.State().Engine().Device().Info(); info.Type != vk.CPU || !info.Features.Has(vk.Int64) {
		t.Skip("updates are fused on software drivers with 64-bit integers alone")
	}
	many := o.learner.many()
	if !many.On() {
		t.Fatal("the updates are not fused")
	}
	if many.Together = together; together > 0 {
		o.replay.makeMany(o.State().Sub("test"), together)
	}
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// updated are the tensors that updates change, by name, and the networks among them.
func updated(t *testing.T, l learner) (tensors map[string]*engine.Tensor, networks map[string]*network) {
	t.Helper()
	switch of := l.(type) {
	case *td3:
		return map[string]*engine.Tensor{
			"targets of critics": of.targetCritics, "targets of actors": of.targetActor, "credit": of.delay.credit,
			"losses of critics": of.lossRow, "values": of.valueRow, "losses of actors": of.actorRow, "norms": of.normRow,
		}, map[string]*network{"actor": of.actor, "critics": of.critics}
	case *sac:
		tensors = map[string]*engine.Tensor{
			"targets of critics": of.targetCritics, "temperatures": of.temperature,
			"losses of critics": of.lossRow, "values": of.valueRow, "losses of actors": of.actorRow, "norms": of.normRow,
			"entropies": of.entropyRow, "applied temperatures": of.temperatureRow,
		}
		if of.learned() {
			tensors["updates of temperatures"], tensors["refusals of temperatures"] = of.heat.Updates(), of.heat.Refused()
			for _, moments := range []string{"first_moment", "second_moment"} {
				tensors[moments+" of temperatures"] = of.scope.Lookup("agent/temperature/optimizer/" + moments)
			}
		}
		return tensors, map[string]*network{"actor": of.actor, "critics": of.critics}
	case *qLearner:
		return map[string]*engine.Tensor{
			"targets": of.target, "losses of critics": of.rows.loss, "values": of.rows.value, "norms": of.rows.norm,
		}, map[string]*network{"network": of.network}
	}
	t.Fatalf("no fused updates of %T", l)
	return nil, nil
}

// Fused updates give the parameters, targets, moments, counts and metrics of updates in several dispatches, by the same batches, however many a
// dispatch takes; both leave networks of values alone if the gradient is not finite.
func TestFusedOffPolicyUpdates(t *testing.T) {
	for _, w := range fusedWorkflows() {
		t.Run(w.name, func(t *testing.T) { compareForms(t, w) })
	}
}

func compareForms(t *testing.T, w workflow) {
	const members, broken, updates = fusedMembers, 1, 5
	results := map[int]map[string][]float64{} // by the updates of a dispatch; 0: several dispatches an update
	for _, together := range []int{0, 2, updates} {
		o := openFused(t, w, together)
		reward := read(t, o.replay.reward)
		for i := range len(reward) / members {
			reward[broken*len(reward)/members+i] = math.NaN()
		}
		write(t, o.replay.reward, reward)
		o.cfg.UpdatesPerStep = float64(updates) / float64(o.cfg.RolloutLength)
		run(t, o.State().Engine(), func(r *engine.Recorder) {
			o.RecordUpdates(r)
			o.Measure(r)
		})
		tensors, networks := updated(t, o.learner)
		result := map[string][]float64{}
		for name, x := range tensors {
			result[name] = read(t, x)
		}
		for name, n := range networks {
			scope := "agent/" + name + "/"
			result["parameters of "+name] = read(t, n.params())
			result["updates of "+name], result["refusals of "+name] = read(t, n.optimizer.Updates()), read(t, n.optimizer.Refused())
			for _, moments := range []string{"first_moment", "second_moment"} {
				result[moments+" of "+name] = read(t, o.State().Lookup(scope+"optimizer/"+moments))
			}
		}
		results[together] = result
	}
	for together, result := range results {
		for what, want := range results[0] {
			n := len(want) / members
			for m := range members {
				if m == broken && what == "losses of critics" {
					continue // not numbers
				}
				if off := deviation(result[what][m*n:][:n], want[m*n:][:n]); !(off <= 2e-5) && deviation(want[m*n:][:n], make([]float64, n)) > 0 {
					t.Errorf("%s of member %d, %d updates a dispatch: they deviate by %g of the largest of %d", what, m, together, off, n)
				}
			}
		}
		for m := range members {
			made, refused := float64(updates), 0.0
			if m == broken {
				made, refused = 0, updates
			}
			of := "critics"
			if result["updates of network"] != nil {
				of = "network"
			}
			if u, r := result["updates of "+of][m], result["refusals of "+of][m]; u != made || r != refused {
				t.Errorf("%d updates a dispatch: %s of member %d made %g and refused %g; want %g and %g", together, of, m, u, r, made, refused)
			}
		}
	}
	for what, want := range results[updates] {
		if got := results[2][what]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s by 2 updates a dispatch and by %d are not the same", what, updates)
		}
	}
}

// TestFusedIterations: as many updates as a dispatch may take are all made, within the limit of loop iterations, which
// drivers keep silently: networks and batches are large enough to come near it.
func TestFusedIterations(t *testing.T) {
	network, replay, cfg := DefaultSACNetwork(), DefaultReplay(), DefaultSAC()
	network.Hidden, replay.Capacity, replay.Batch = []int{64}, 200, 160
	cfg.RolloutLength, cfg.LearningStarts, cfg.UpdatesPerStep = 60, 60, 1
	w := workflow{"sac", makes(NewSAC, "Pendulum-v1", cfg, Network(network), Replays(replay))}
	results := map[int][]float64{}
	most := w.open(t, open(t), 8).(*OffPolicy).learner.many().Together
	for _, together := range []int{3, most} {
		o := openFused(t, w, together)
		run(t, o.State().Engine(), o.RecordUpdates)
		results[together] = read(t, o.learner.(*sac).actor.params())
	}
	if most <= 3 || fmt.Sprint(results[3]) != fmt.Sprint(results[most]) {
		t.Errorf("60 updates by 3 and by %d a dispatch give different actors", most)
	}
}
