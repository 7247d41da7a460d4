package cmd

import (
	"os"
	"testing"
)

// Networks too wide for a kernel to hold at once, or of more than two layers, learn and resume as others do.
func TestLargeNetworks(t *testing.T) {
	b := newBox(t)
	b.write("ppo.toml", `
workflow = "ppo"
env = "CartPole-v1"
iterations = 12
seed = 5
[ppo]
members = 2
environments = 8
rollout_length = 64
epochs = 4
minibatches = 4
learning_rate = 1e-3
[evaluation]
every = 0
episodes = 10
[checkpoint]
every = 6
`)
	for name, hidden := range map[string]string{"wide": "[256,256]", "deep": "[48,40,32]"} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			run := []string{"run", "--json", "--set", "network.hidden=" + hidden, "ppo.toml", "--out"}
			whole := b.object(b.must(append(run, name)...))
			// An agent that has learned nothing balances for about twenty steps.
			if mean, ok := whole["mean_return"].(float64); !ok || mean < 100 {
				t.Errorf("mean return %v after %v steps; want at least 100", whole["mean_return"], whole["env_steps"])
			}
			cut := name + "-cut" // as if it had ended before its last checkpoint
			if err := os.CopyFS(b.path(cut), os.DirFS(b.path(name))); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(b.path(cut, "checkpoints", "00000012")); err != nil {
				t.Fatal(err)
			}
			resumed := b.object(b.must(append(run, cut, "--resume")...))
			if resumed["digest"] != whole["digest"] || resumed["resumed_from"] != 6.0 {
				t.Errorf("resumed: %v; want digest %v after iteration 6", resumed, whole["digest"])
			}
		})
	}
}
