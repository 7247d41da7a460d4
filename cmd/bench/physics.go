package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// robots lists the environments with MuJoCo's dynamics, with the MuJoCo time steps per environment step, and
// approximately the seconds in which a software driver compiles a rollout on one core.
var robots = []struct {
	name     string
	skip     int
	compiles time.Duration
}{
	{"InvertedPendulum-v5", 2, 1}, {"InvertedDoublePendulum-v5", 5, 1}, {"Reacher-v5", 2, 1}, {"Swimmer-v5", 4, 1},
	{"Hopper-v5", 4, 2}, {"HalfCheetah-v5", 5, 3}, {"Walker2d-v5", 4, 3}, {"Ant-v5", 5, 6}, {"Humanoid-v5", 5, 15},
	{"Pusher-v5", 5, 3}, {"HumanoidStandup-v5", 5, 15},
}

// physics measures the environments with MuJoCo's dynamics, with many and few environments, and the time to compile them.
func physics() (cases []Case) {
	for _, r := range robots {
		short := strings.ToLower(strings.TrimSuffix(r.name, "-v5"))
		for _, environments := range []int{1, 64, 4096, 65536} {
			rank, least := 2, time.Duration(0)
			switch {
			case environments == 4096:
				rank, least = 0, r.compiles*time.Second
			case environments > 4096:
				rank = 1
			}
			cases = append(cases, Case{
				Name:    fmt.Sprintf("%s/w%d", short, environments),
				Summary: fmt.Sprintf("%s with random actions, %d environments; %d time steps of MuJoCo in each environment step", r.name, environments, r.skip),
				Unit:    "env steps/s", Rank: rank, Least: least, run: randomActions(r.name, environments),
			})
		}
		if env, err := envs.Lookup(r.name); err == nil && env.HasCooperative() {
			for _, m := range []envs.Mapping{envs.Lane, envs.Cooperative} {
				for _, environments := range []int{1, 4096, 65536} {
					cases = append(cases, Case{
						Name:    fmt.Sprintf("%s/%v/w%d", short, m, environments),
						Summary: fmt.Sprintf("%s with random actions, %d environments, by the mapping %v", r.name, environments, m),
						Unit:    "env steps/s", GPU: true, Rank: 4, run: rollout(r.name, 1, environments, physicsSteps, false, m),
					})
				}
			}
		}
		cases = append(cases,
			Case{Name: short + "/mlp", Summary: r.name + " with a [64, 64] network for each of 64 members × 64 environments", Unit: "env steps/s",
				Rank: 1, Least: r.compiles * time.Second, run: rollout(r.name, 64, 64, physicsSteps, true, envs.ByDevice)},
			Case{Name: short + "/compile", Summary: "from opening the device to the end of a first rollout of " + r.name + ", no pipeline cached", Unit: "s",
				Rank: 1, Least: r.compiles * time.Second, run: compile(r.name)},
			Case{Name: short + "/cached", Summary: "the same with pipelines that an earlier process has left", Unit: "s",
				Rank: 3, Least: r.compiles * time.Second, run: compileCached(r.name)})
	}
	return cases
}

// physicsSteps is the number of environment steps of a rollout, as in tools/peers/mjx_rollout.py.
const physicsSteps = 16

// fewSteps is the number where environments are many and there is no GPU, on which a rollout of Humanoid then takes seconds.
const fewSteps = 2

// randomActions measures a robot with random actions.
func randomActions(name string, environments int) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		return rollout(name, 1, environments, b.physicsSteps(environments), false, envs.ByDevice)(ctx, b)
	}
}

func (b *bench) physicsSteps(environments int) int {
	if environments > 4096 && !b.gpu {
		return fewSteps
	}
	return physicsSteps
}

// compile measures the time until the end of a first rollout on a device without cached pipelines.
func compile(name string) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) { return firstRollout(ctx, name, b.uncached) }
}

// compileCached measures the same with pipelines in the cache.
func compileCached(name string) func(context.Context, *bench) (figure, error) {
	return func(ctx context.Context, b *bench) (figure, error) {
		if _, err := firstRollout(ctx, name, b.cached); err != nil {
			return figure{}, err
		}
		return firstRollout(ctx, name, b.cached)
	}
}

// firstRollout measures the time from opening a device to the end of a first rollout of one environment.
func firstRollout(ctx context.Context, name string, open func() (*vk.Device, error)) (figure, error) {
	begin := time.Now()
	dev, err := open()
	if err != nil {
		return figure{}, err
	}
	defer dev.Close()
	env, err := envs.Lookup(name)
	if err != nil {
		return figure{}, err
	}
	eng := engine.New(dev)
	s := eng.NewState()
	defer s.Close()
	clock := engine.NewClock(s)
	ro, err := envs.NewRollout(ctx, s, env, envs.RolloutConfig{Members: 1, Environments: 1, Horizon: 1, Begin: true})
	if err != nil {
		return figure{}, err
	}
	if err := s.Zero(ctx); err != nil {
		return figure{}, err
	}
	p, err := eng.Record("rollout", func(r *engine.Recorder) { ro.Record(r, clock, nil) })
	if err != nil {
		return figure{}, err
	}
	defer p.Free()
	if err := p.Run(ctx); err != nil {
		return figure{}, err
	}
	return figure{value: time.Since(begin).Seconds()}, nil
}
