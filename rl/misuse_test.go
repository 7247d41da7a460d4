package rl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// Wrong use is an error that says what is wrong: never a panic, and never without end.
func TestMisuse(t *testing.T) {
	ctx, eng := t.Context(), engine.New(open(t))
	pole, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	pendulum, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	duel, err := envs.Lookup("PongDuel-v0")
	if err != nil {
		t.Fatal(err)
	}
	behind, synchronous, parts := DefaultPPO(), DefaultA2C(), DefaultPPO()
	behind.Lag, synchronous.Lag, parts.Actors = 1, 2, 2
	only := func(_ any, err error) error { return err }
	network, replay := DefaultNetwork(), DefaultReplay()
	type misuse struct {
		what string
		err  error
		want string
	}
	const none = "environment is nil"
	cases := []misuse{
		{"option of PPO", only(NewPPO(ctx, eng, pole, DefaultPPO(), nil)), "option is nil"},
		{"option of A2C", only(NewA2C(ctx, eng, pole, DefaultA2C(), nil)), "option is nil"},
		{"option of IMPALA", only(NewIMPALA(ctx, eng, pole, DefaultIMPALA(), nil)), "option is nil"},
		{"option of TD3", only(NewTD3(ctx, eng, pendulum, DefaultTD3(), Replays(replay), nil)), "option 2 of 2: the option is nil"},
		{"option of DDPG", only(NewDDPG(ctx, eng, pendulum, DefaultDDPG(), nil)), "option is nil"},
		{"option of SAC", only(NewSAC(ctx, eng, pendulum, DefaultSAC(), nil)), "option is nil"},
		{"option of DQN", only(NewDQN(ctx, eng, pole, DefaultDQN(), nil)), "option is nil"},
		{"option of DvD", only(NewDvD(ctx, eng, pendulum, DefaultDvD(), nil)), "option is nil"},
		{"no settings", only(NewPPO(ctx, eng, pole, PPOConfig{})), "want"},
		{"weights that lag behind opponents", only(NewPPO(ctx, eng, duel, behind, Pool(PoolConfig{Opponents: 2}))), `"ppo.lag": the weights of agents with pools`},
		{"weights of A2C that lag behind", only(NewA2C(ctx, eng, pole, synchronous)), `"a2c.lag": the weights that act lag 2 iterations behind`},
		{"parts of a world of several agents", only(NewPPO(ctx, eng, duel, parts)), `"ppo.actors": environments of "PongDuel-v0" in 2 parts, of several agents`},
		{"no environment for PPO", DefaultPPO().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for A2C", DefaultA2C().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for IMPALA", DefaultIMPALA().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for DQN", DefaultDQN().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for DDPG", DefaultDDPG().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for TD3", DefaultTD3().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for SAC", DefaultSAC().Check(Parts{Network: network, Replay: replay}), none},
		{"no environment for DvD", DefaultDvD().Check(Parts{Network: network, Replay: replay}), none},
	}
	for _, n := range []int{-1, 0, 1 << 40, math.MaxInt, math.MinInt, 1 << 62} {
		cfg := DefaultPPO()
		cfg.Members = n
		cases = append(cases,
			misuse{"actors", only(NewTD3(ctx, eng, pendulum, DefaultTD3(), Actors(n))), fmt.Sprintf("Actors(%d): want 1 to", n)},
			misuse{"objectives", only(NewTD3(ctx, eng, pendulum, DefaultTD3(), Objectives(n))), fmt.Sprintf("Objectives(%d): want 1 to", n)},
			misuse{"actors of PPO", only(NewPPO(ctx, eng, pole, DefaultPPO(), Actors(n))), fmt.Sprintf("Actors(%d): want 1 to", n)},
			misuse{"members", only(NewPPO(ctx, eng, pole, cfg)), "want"})
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, c.err, c.want)
		}
	}
}
