package evorl_test

import (
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl"
)

// A name that stands for what evorl does not do is answered by a sentence of the page that lists such things. Others are answered by the nearest name or
// by all names.
func TestLacks(t *testing.T) {
	data, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(data)), " ")
	for _, c := range []struct{ workflow, env, want string }{
		{"ppo", "MinAtar/Breakout-v1", `did you mean "MinAtar-Breakout-v1"?`}, {"ppo", "minatar", `did you mean "MinAtar-`},
		{"dqn", "ALE/Pong-v5", "images or grids"}, {"dqn", "BreakoutNoFrameskip-v4", "images or grids"}, {"ppo", "CarRacing-v3", "images or grids"},
		{"ppo", "brax/ant", "Gymnasium's interface"}, {"openes", "LunarLander-v3", `env = "gymnasium:ID"`},
		{"ppo", "gymnasium", "Gymnasium's interface"}, {"ppo", "dm_control/cheetah-run", "servers that speak its protocol"},
		{"ppo-lstm", "CartPole-v1", "memory is a layer"}, {"rppo", "CartPole-v1", "memory is a layer"}, {"ppo_rnn", "CartPole-v1", "memory is a layer"},
		{"mappo", "CartPole-v1", "(MAPPO: critic_input"},
		{"qmix", "CartPole-v1", "no sums of values"}, {"ppo", "overcooked", "a kitchen of Overcooked only"},
		{"ppo", "Pong-v4", `did you mean "Pong-v0"?`},
		{"psro", "CartPole-v1", "mixtures that solve a game"}, {"cluster", "CartPole-v1", "other hybrids do not"},
		{"data_parallel", "CartPole-v1", "gradients of one agent"},
		{"muzero", "CartPole-v1", "does not plan"}, {"cql", "CartPole-v1", "not offline"}, {"neat", "CartPole-v1", "topology"},
		{"pgpe", "es-clip", "no image models"}, {"pgpe", "abstract_painting", "no image models"},
		{"ppo", "CartPol", `did you mean "CartPole-v1"?`}, {"ppo", "ant", `did you mean "Ant-v5"?`}, {"pp0", "CartPole-v1", `did you mean "ppo"?`},
		{"nothing-like-it", "CartPole-v1", "valid: a2c, ddpg, dqn,"}, {"openes", "nothing-like-it", "valid: Acrobot-v1, "},
		{"ppo", "nothing-like-it", "valid: Acrobot-v1, "},
	} {
		_, err := evorl.Parse("x.toml", []byte("workflow = \""+c.workflow+"\"\nenv = \""+c.env+"\"\n"))
		if err == nil || !strings.Contains(err.Error(), "unknown ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: %v; want %s", c.workflow, c.env, err, c.want)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		hint := lines[len(lines)-1]
		if sentence, of, ok := strings.Cut(hint, "; see "); ok && (!strings.Contains(page, sentence) || of != "docs/limits.md") {
			t.Errorf("docs/limits.md does not have %q", hint)
		}
	}
	for name, text := range map[string]string{
		"over":      "workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[pbt]\nover = \"mappo\"\n",
		"a section": "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[cluster]\nnodes = 2\n",
	} {
		if _, err := evorl.Parse("x.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), "see docs/limits.md") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, w := range evorl.Workflows() {
		if text := evorl.Lacks(w.Name); text != "" {
			t.Errorf("%s exists, and is said to be lacking: %s", w.Name, text)
		}
	}
}
