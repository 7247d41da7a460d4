package rl

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
)

// TestRates: the rates of every optimizer follow the steps that members have taken, whether updates are fused or not, and
// multiply the members' own rates.
func TestRates(t *testing.T) {
	schedule := ScheduleConfig{Anneal: optim.CosineShape, AnnealSteps: 480, WarmupSteps: 160, AnnealTo: 0.2}
	eng := engine.New(open(t), engine.Seed(3))
	common, replay := smallOffPolicy()
	common.ScheduleConfig = schedule
	cfg, network := DefaultSAC(), DefaultSACNetwork()
	cfg.OffPolicyConfig, network.Hidden, network.CriticHidden = common, []int{8}, []int{12, 6}
	soft, err := NewSAC(t.Context(), eng, lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	ppo := DefaultPPO()
	ppo.ScheduleConfig, ppo.Members, ppo.RolloutLength = schedule, 2, 16
	proximal, err := NewPPO(t.Context(), eng, lookup(t, "CartPole-v1"), ppo)
	if err != nil {
		t.Fatal(err)
	}
	learner := soft.learner.(*sac)
	if layers := learner.critics.Model().Layers(); len(layers) != 3 || layers[0].Out != 12 {
		t.Errorf("critics have layers %v; want hidden ones of 12 and 6", layers)
	}
	for _, c := range []struct {
		workflow     engine.Trainable
		environments int
		each         int // steps of an environment in an iteration
		optimizers   map[string]*optim.Optimizer
	}{
		{soft, common.Environments, common.RolloutLength, map[string]*optim.Optimizer{
			"actor_learning_rate": learner.actor.optimizer, "critic_learning_rate": learner.critics.optimizer,
			"temperature_learning_rate": learner.heat,
		}},
		{proximal, ppo.Environments, ppo.RolloutLength, map[string]*optim.Optimizer{"learning_rate": proximal.agent.critic.optimizer}},
	} {
		t.Cleanup(func() {
			if err := c.workflow.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := c.workflow.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name := range c.optimizers {
			rates := c.workflow.Hyper().Lookup(name)
			write(t, rates, []float64{1e-3, 4e-3, 2e-3}[:rates.Len()])
		}
		seen := map[float64]bool{}
		for i := range 6 {
			_, steps, err := c.workflow.Clock().Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ticket, err := c.workflow.Step(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if err := ticket.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			taken, more := float64(steps*c.environments), float64(c.each*c.environments)
			x := min(max(taken-160, 0)/(480-160), 1)
			factor := min((taken+more)/160, 1) * (0.2 + 0.8*(1+math.Cos(math.Pi*x))/2)
			seen[factor] = true
			for name, o := range c.optimizers {
				base := read(t, c.workflow.Hyper().Lookup(name))
				for m, got := range read(t, o.Rate()) {
					if want := base[m] * factor; !(math.Abs(got-want) <= 1e-6*want) {
						t.Errorf("%s of member %d after %g steps is %g; want %g", name, m, taken, got, want)
					}
				}
			}
		}
		if len(seen) < 4 {
			t.Errorf("only %d different factors were seen", len(seen))
		}
	}
}

func TestScheduleErrors(t *testing.T) {
	for want, c := range map[string]ScheduleConfig{
		"rise for 300 steps and have fallen after 300": {AnnealSteps: 300, WarmupSteps: 300},
		"course of learning rates that are constant":   {AnnealTo: 0.1},
		`"anneal_steps" is -1`:                         {AnnealSteps: -1},
	} {
		ppo, impala, td3 := DefaultPPO(), DefaultIMPALA(), DefaultTD3()
		ppo.ScheduleConfig, impala.ScheduleConfig, td3.ScheduleConfig = c, c, c
		for _, cfg := range []any{ppo, impala, td3, c} {
			if err := config.Check(cfg); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%T: error %v; want one with %q", cfg, err, want)
			}
		}
	}
	dqn, network := DefaultDQN(), DefaultDQNNetwork()
	network.CriticHidden = []int{8}
	with := Parts{Env: lookup(t, "CartPole-v1"), Network: network, Replay: DefaultDQNReplay()}
	if err := dqn.Check(with); err == nil || !strings.Contains(err.Error(), "no critic") {
		t.Errorf("dqn with sizes of a critic: error %v", err)
	}
}
