package hybrid

import (
	"context"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// TestApart: PBT over agents for which another device acts ahead of the learner ends with the same bits as on one device: what the actors did with members that
// became copies meanwhile does not count.
func TestApart(t *testing.T) {
	const iterations = 6
	impala := func(ctx context.Context, eng *engine.Engine) (engine.Trainable, error) {
		env, err := envs.Lookup("CartPole-v1")
		if err != nil {
			return nil, err
		}
		cfg := rl.DefaultIMPALA()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches, cfg.Actors, cfg.Lag = slicedMembers, 4, 5, 1, 2, 2, 1
		return rl.NewIMPALA(ctx, eng, env, cfg, network())
	}
	ppo := func(ctx context.Context, eng *engine.Engine) (engine.Trainable, error) {
		env, err := envs.Lookup("CartPole-v1")
		if err != nil {
			return nil, err
		}
		cfg := rl.DefaultPPO()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches, cfg.Actors, cfg.Lag = slicedMembers, 4, 5, 1, 2, 2, 1
		return rl.NewPPO(ctx, eng, env, cfg, network())
	}
	td3 := func(ctx context.Context, eng *engine.Engine) (engine.Trainable, error) {
		env, err := envs.Lookup("Pendulum-v1")
		if err != nil {
			return nil, err
		}
		cfg, hidden, replay := rl.DefaultTD3(), rl.DefaultOffPolicyNetwork(), rl.DefaultReplay()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts, cfg.Actors, cfg.Lag = slicedMembers, 2, 4, 16, 2, 2
		hidden.Hidden, replay.Capacity, replay.Batch = []int{8}, 100, 8
		return rl.NewTD3(ctx, eng, env, cfg, rl.Network(hidden), rl.Replays(replay), rl.Environment(envs.Options{TimeLimit: 10}))
	}
	for name, c := range map[string]struct {
		make func(context.Context, *engine.Engine) (engine.Trainable, error)
		pbt  *PBTConfig
	}{
		"impala":              {impala, often(t, rl.DefaultIMPALA(), Truncation)},
		"ppo":                 {ppo, often(t, rl.DefaultPPO(), Truncation)},
		"the policies of td3": {td3, policies(often(t, rl.DefaultTD3(), Truncation))},
	} {
		t.Run(name, func(t *testing.T) {
			digest := func(opts ...engine.Option) string {
				t.Helper()
				inner, err := c.make(t.Context(), engine.New(open(t), append(opts, engine.Seed(7))...))
				if err != nil {
					t.Fatal(err)
				}
				w := made(t)(NewPBT(t.Context(), inner, *c.pbt))
				initialized(t, w)
				steps(t, w, 0, iterations)
				if _, acted, _ := rl.Shared(inner); (len(acted) == 2) != (len(opts) > 0) {
					t.Errorf("acted: %v; want two devices if there are two", acted)
				}
				d, err := w.State().Digest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			if got, want := digest(engine.Beside(open(t))), digest(); got != want {
				t.Errorf("with another device it ends with %s; want %s, as alone", got, want)
			}
		})
	}
}
