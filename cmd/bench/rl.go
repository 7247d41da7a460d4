package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// offPolicy measures updates of populations of off-policy agents, as in A. Flajolet et al. ("Fast Population-Based
// Reinforcement Learning on a Single Machine", 2022, figure 2): all members together, with batches from a replay that
// is filled before; the time includes drawing them. Shapes are HalfCheetah's, for DQN CartPole's.
func offPolicy() (cases []Case) {
	for _, of := range []struct {
		name   string
		make   func(updateShape) (updateMaker, float64)
		hidden []int
		batch  int
		most   [2]int // largest number of members on a software driver, for submissions of one update and of 50
	}{
		{"td3", td3Updates, []int{64, 64}, 64, [2]int{80, 80}}, {"td3", td3Updates, []int{256, 256}, 256, [2]int{80, 1}},
		{"sac", sacUpdates, []int{64, 64}, 64, [2]int{80, 80}}, {"sac", sacUpdates, []int{256, 256}, 256, [2]int{80, 1}},
		{"dqn", dqnUpdates, []int{120, 84}, 128, [2]int{80, 80}},
	} {
		for _, members := range []int{1, 2, 5, 10, 20, 40, 80, 160} {
			for i, updates := range []int{1, 50} {
				s := updateShape{hidden: of.hidden, batch: of.batch, members: members, updates: updates}
				rank := 2
				if updates == 50 && (members == 1 || members == 10 || members == 80) {
					rank = 0
				}
				build, operations := of.make(s)
				cases = append(cases, Case{
					Name:    fmt.Sprintf("%s/%dx%d/p%d/k%d", of.name, of.hidden[0], of.hidden[1], members, updates),
					Summary: fmt.Sprintf("an update of %d members with %v networks and batches of %d, %d updates a submission", members, of.hidden, of.batch, updates),
					Unit:    "ms", GPU: members > of.most[i], Rank: rank, run: updateTime(s, build, operations),
				})
				if of.hidden[0] < 256 {
					continue
				}
				s.precision = nn.Float16
				build, operations = of.make(s)
				half := cases[len(cases)-1]
				half.Name, half.Summary, half.GPU = half.Name+"/float16", half.Summary+", products in float16", members > 1
				half.run = updateTime(s, build, operations)
				cases = append(cases, half)
			}
		}
	}
	for _, updates := range []int{1, 50} {
		s := updateShape{batch: 32, members: 1, updates: updates}
		build, operations := imageUpdates(s)
		cases = append(cases, Case{
			Name:    fmt.Sprintf("dqn/minatar/p1/k%d", updates),
			Summary: fmt.Sprintf("an update of DQN on MinAtar-Breakout-v1 with MinAtar's network and batches of %d, %d updates a submission", s.batch, updates),
			Unit:    "ms", Rank: 2, run: updateTime(s, build, operations),
		})
	}
	return cases
}

// updateShape holds the sizes of an update.
type updateShape struct {
	hidden    []int
	batch     int
	members   int
	updates   int // per submission
	precision nn.Precision
}

// updateMaker makes a workflow whose iterations have a submission's number of updates.
type updateMaker func(ctx context.Context, eng *engine.Engine, opts ...rl.Option) (*rl.OffPolicy, error)

// common returns settings; most have no effect here, since only updates are run.
func (s updateShape) common(c rl.OffPolicyConfig) rl.OffPolicyConfig {
	c.Members, c.Environments, c.RolloutLength, c.LearningStarts = s.members, 1, 50, 500
	c.UpdatesPerStep = float64(s.updates) / float64(c.RolloutLength)
	return c
}

// Sizes of HalfCheetah-v5 and of CartPole-v1.
const (
	cheetahObs, cheetahAction = 17, 6
	cartPoleObs, cartPoleMove = 4, 2
)

// products returns the multiplications and additions of a batch's forward pass through a network, and through its
// first layer.
func (s updateShape) products(in, out int) (forward, first float64) {
	for i, width := range append(append([]int(nil), s.hidden...), out) {
		if forward += 2 * float64(s.batch*in*width); i == 0 {
			first = forward
		}
		in = width
	}
	return forward, first
}

// actorCritic returns the operations of an update of the critics, and of an update of the actor through `through`
// critics; `outputs` is the number of the actor's outputs. A layer's backward pass costs as much as its forward pass
// for the gradient with respect to weights, and as much for that with respect to inputs, which the first layer does
// not need.
func (s updateShape) actorCritic(outputs, through int) (critics, actor float64) {
	f, first := s.products(cheetahObs, outputs)
	g, gFirst := s.products(cheetahObs+cheetahAction, 1)
	critics = f + 2*g + 2*(3*g-gFirst)
	actor = 3*f - first + float64(through)*2*g
	return critics, actor
}

func td3Updates(s updateShape) (updateMaker, float64) {
	cfg := rl.DefaultTD3()
	cfg.OffPolicyConfig = s.common(cfg.OffPolicyConfig)
	critics, actor := s.actorCritic(cheetahAction, 1)
	return func(ctx context.Context, eng *engine.Engine, opts ...rl.Option) (*rl.OffPolicy, error) {
		env, err := envs.Lookup("HalfCheetah-v5")
		if err != nil {
			return nil, err
		}
		return rl.NewTD3(ctx, eng, env, cfg, append(opts, rl.Network(s.network(rl.DefaultOffPolicyNetwork())))...)
	}, critics + actor/cfg.PolicyDelay
}

func sacUpdates(s updateShape) (updateMaker, float64) {
	cfg := rl.DefaultSAC()
	cfg.OffPolicyConfig = s.common(cfg.OffPolicyConfig)
	critics, actor := s.actorCritic(2*cheetahAction, 2)
	return func(ctx context.Context, eng *engine.Engine, opts ...rl.Option) (*rl.OffPolicy, error) {
		env, err := envs.Lookup("HalfCheetah-v5")
		if err != nil {
			return nil, err
		}
		return rl.NewSAC(ctx, eng, env, cfg, append(opts, rl.Network(s.network(rl.DefaultSACNetwork())))...)
	}, critics + actor
}

func dqnUpdates(s updateShape) (updateMaker, float64) {
	cfg := rl.DefaultDQN()
	cfg.OffPolicyConfig = s.common(cfg.OffPolicyConfig)
	forward, first := s.products(cartPoleObs, cartPoleMove)
	return func(ctx context.Context, eng *engine.Engine, opts ...rl.Option) (*rl.OffPolicy, error) {
		env, err := cartPole()
		if err != nil {
			return nil, err
		}
		return rl.NewDQN(ctx, eng, env, cfg, append(opts, rl.Network(s.network(rl.DefaultDQNNetwork())))...)
	}, 4*forward - first
}

// imageUpdates are dqnUpdates with the network and the settings of configs/minatar-breakout-dqn.toml.
func imageUpdates(s updateShape) (updateMaker, float64) {
	cfg, network := rl.DefaultDQN(), rl.DefaultDQNNetwork()
	cfg.OffPolicyConfig = s.common(cfg.OffPolicyConfig)
	cfg.LearningRate, cfg.TargetInterval, cfg.Huber = 2.5e-4, 1000, 1
	network.Preset, network.Hidden = nn.MinAtar, nil
	forward := float64(s.batch) * passOperations(network.Config.Model(nn.Shape{10, 10, 4}, 3, nn.Float32))
	return func(ctx context.Context, eng *engine.Engine, opts ...rl.Option) (*rl.OffPolicy, error) {
		env, err := envs.Lookup("MinAtar-Breakout-v1")
		if err != nil {
			return nil, err
		}
		return rl.NewDQN(ctx, eng, env, cfg, append(opts, rl.Network(network))...)
	}, 4 * forward
}

func (s updateShape) network(c rl.NetworkConfig) rl.NetworkConfig {
	c.Hidden, c.Precision = s.hidden, s.precision
	return c
}

// updateTime measures an update of all members. The limit is the time of the given operations per member; in float16 none is
// known. Devices without products of float16 leave those cases out.
func updateTime(s updateShape, build updateMaker, operations float64) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		replay := rl.DefaultReplay()
		replay.Capacity, replay.Batch = 1000, s.batch
		w, err := build(ctx, b.eng, rl.Replays(replay))
		if errors.Is(err, nn.ErrNoFloat16) {
			err = errSkip
		}
		if err != nil {
			return figure{}, err
		}
		defer w.Close()
		if err := w.Init(ctx); err != nil {
			return figure{}, err
		}
		p, err := b.eng.Record("updates", w.RecordUpdates)
		if err != nil {
			return figure{}, err
		}
		defer p.Free()
		var rate float64
		peak, err := b.around(ctx, func() error {
			rate, err = b.rate(ctx, float64(s.updates), submitted(ctx, p))
			return err
		})
		if err != nil {
			return figure{}, err
		}
		kernels, err := b.kernels(ctx, p)
		limit := 1e3 * operations * float64(s.members) / peak
		if s.precision != nn.Float32 {
			limit = 0
		}
		return figure{value: 1e3 / rate, limit: limit, kernels: kernels}, err
	}
}
