package rl

import (
	"errors"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// float16Case is a workflow of networks in float16, and what its test in float32 learns; DQN has fewer steps, a minute of processor time.
type float16Case struct {
	workflow
	steps int     // of a member
	least float64 // mean return
}

func float16Cases() []float16Case {
	small := smallNetwork()
	dqn, values, batches := learning()
	for _, n := range []*NetworkConfig{&small, &values} {
		n.Precision = nn.Float16
	}
	cases := []float16Case{
		{workflow{"dqn", makes(NewDQN, "CartPole-v1", dqn, Network(values), Replays(batches))}, 45000, 300},
		{workflow{"a2c", makes(NewA2C, "CartPole-v1", cartPoleA2C(), Network(small))}, 150000, 300},
		{workflow{"impala", makes(NewIMPALA, "CartPole-v1", cartPoleIMPALA(), Network(small), Environment(envs.Options{RewardScale: 0.1}))}, 100000, 450},
		{workflow{"ppo", makes(NewPPO, "CartPole-v1", cartPolePPO(), Network(small))}, 100000, 400},
	}
	for _, w := range pendulumWorkflows(nn.Float16)[:3] { // values, not distributions
		cases = append(cases, float16Case{w, 3000, -300})
	}
	return cases
}

// TestFloat16: on a device without cooperative matrices, agents in float16 are refused by an error that says what it lacks. On
// others they learn what they learn in float32, and reruns and resumed runs end with the same bits.
func TestFloat16(t *testing.T) {
	for _, c := range float16Cases() {
		t.Run(c.name, func(t *testing.T) {
			dev := open(t)
			if missing := nn.Float16.Check(dev.Info()); missing != nil {
				if _, err := c.make(t, engine.New(dev)); !errors.Is(err, nn.ErrNoFloat16) {
					t.Fatalf("error %v, want %v", err, missing)
				}
				t.Skipf("float16 was refused, as it must be here; it learns on devices with cooperative matrices only, such as Mesa 26.2's software driver: %v", missing)
			}
			c.resumes(t, dev)
			if got := learn(t, c.open(t, dev, 1), c.steps); !(got >= c.least) {
				t.Errorf("mean return %.1f; want at least %.1f", got, c.least)
			}
		})
	}
}
