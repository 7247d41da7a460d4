package rl

import (
	"strings"
	"testing"
)

// TestHeadRefused: settings of continuous actions are refused where actions are discrete, by the environment or by bins.
func TestHeadRefused(t *testing.T) {
	bins := func(c *NetworkConfig) { c.Bins = 5 }
	deviation := func(c *NetworkConfig) { c.LogStd = -0.5 }
	both := func(c *NetworkConfig) { c.Bins, c.LogStd = 5, -0.5 }
	for _, c := range []struct {
		of      Algorithm
		env     string
		network NetworkConfig
		change  func(*NetworkConfig)
		want    string // "": no error
	}{
		{DefaultPPO(), "CartPole-v1", DefaultNetwork(), bins,
			`"network.bins": 5 values of each continuous action, and actions are Discrete(2); want 0`},
		{DefaultA2C(), "CartPole-v1", DefaultNetwork(), deviation,
			`"network.log_std": an initial deviation of continuous actions, and actions are Discrete(2); want 0`},
		{DefaultDQN(), "CartPole-v1", DefaultOffPolicyNetwork(), deviation, `"network.log_std"`},
		{DefaultSAC(), "CartPole-v1", DefaultSACNetwork(), bins, `"network.bins"`},
		{DefaultPPO(), "Pendulum-v1", DefaultNetwork(), both,
			`"network.log_std": an initial deviation of continuous actions, and bins = 5 makes actions discrete; want 0`},
		{DefaultPPO(), "Pendulum-v1", DefaultNetwork(), bins, ""},
		{DefaultPPO(), "Pendulum-v1", DefaultNetwork(), deviation, ""},
	} {
		c.change(&c.network)
		err := c.of.Check(Parts{Env: lookup(t, c.env), Network: c.network, Replay: DefaultReplay(), Sequences: DefaultSequences()})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T on %s, bins %d, log_std %g: error %v; want %q", c.of, c.env, c.network.Bins, c.network.LogStd, err, c.want)
		}
	}
}
