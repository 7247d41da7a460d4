package rl

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Fused updates of TD3 give the parameters, targets, moments, counts and metrics of those in several dispatches, by the same batches, however many
// a dispatch takes; both leave critics alone whose gradient is not finite.
func TestFusedDeterministicUpdates(t *testing.T) {
	const members, broken, updates = 3, 1, 5
	results := map[int]map[string][]float64{} // by the updates of a dispatch; 0: several dispatches an update
	for _, together := range []int{0, 2, updates} {
		o := newFusedCase(t, members, together)
		d := o.learner.(*deterministic)
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
		result := map[string][]float64{
			"targets of critics": read(t, d.targetCritics), "targets of actors": read(t, d.targetActor), "credit": read(t, d.delay.credit),
			"losses of critics": read(t, d.lossRow), "values": read(t, d.valueRow), "losses of actors": read(t, d.actorRow), "norms": read(t, d.normRow),
		}
		for name, n := range map[string]*network{"actor": d.actor, "critics": d.critics} {
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
			if u, r := result["updates of critics"][m], result["refusals of critics"][m]; u != made || r != refused {
				t.Errorf("%d updates a dispatch: critics of member %d made %g and refused %g; want %g and %g", together, m, u, r, made, refused)
			}
		}
	}
	for what, want := range results[updates] {
		if got := results[2][what]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s by 2 updates a dispatch and by %d are not the same", what, updates)
		}
	}
}

// newFusedCase makes TD3 with a replay, whose dispatches take so many updates; 0: an update is several of them.
func newFusedCase(t *testing.T, members, together int) *OffPolicy {
	t.Helper()
	network, replay, cfg := DefaultOffPolicyNetwork(), DefaultReplay(), DefaultTD3()
	network.Hidden = []int{16, 12}
	replay.Capacity, replay.Batch = 200, 13
	cfg.Members, cfg.RolloutLength, cfg.LearningStarts, cfg.UpdatesPerStep = members, 60, 60, 1
	cfg.ActorLearningRate, cfg.CriticLearningRate, cfg.PolicyDelay, cfg.Tau = 1e-3, 1e-3, 1.5, 0.1
	o, err := NewTD3(t.Context(), engine.New(open(t), engine.Seed(8)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	d := o.learner.(*deterministic)
	if info := o.State().Engine().Device().Info(); info.Type != vk.CPU || !info.Features.Has(vk.Int64) {
		t.Skip("updates are fused on software drivers with 64-bit integers alone")
	}
	if d.fused == 0 {
		t.Fatal("the updates are not fused")
	}
	if d.fused = together; together > 0 {
		o.replay.makeMany(o.State().Sub("test"), together)
	}
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}
