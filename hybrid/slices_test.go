package hybrid

import (
	"context"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// sliced makes the workflow of a test in slices of two of five members.
type sliced struct {
	name  string
	build func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error)
	pbt   *PBTConfig // nil: the members are independent
	exact bool       // a resumed run ends with the same bits: its replay, if it has one, is saved
}

const slicedMembers = 5

func (k sliced) open(t *testing.T, devices, slice int) engine.Workflow {
	t.Helper()
	eng := engine.New(open(t), engine.Seed(7), engine.Beside(slices.Repeat([]*vk.Device{open(t)}, devices-1)...))
	s, err := NewSlices(t.Context(), eng, slicedMembers, slice, k.build)
	if err != nil {
		t.Fatal(err)
	}
	return k.over(t, s)
}

// over returns the population of a workflow, if the kind has one, and closes it at the test's end.
func (k sliced) over(t *testing.T, inner engine.Trainable) engine.Workflow {
	t.Helper()
	if k.pbt != nil {
		return made(t)(NewPBT(t.Context(), inner, *k.pbt))
	}
	t.Cleanup(func() {
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	})
	return inner
}

// often exchanges in every iteration.
func often(t *testing.T, agent any, exploit Exploit) *PBTConfig {
	t.Helper()
	cfg := early()
	cfg.Warmup, cfg.Interval, cfg.Top, cfg.Bottom, cfg.Exploit = 1, 1, 0.2, 0.6, exploit
	var err error
	if cfg.Search, err = DefaultSearch(agent); err != nil {
		t.Fatal(err)
	}
	return &cfg
}

// slicedPPO and slicedTD3 make agents of both sorts.
func slicedPPO(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		return nil, err
	}
	return rl.NewPPO(ctx, eng, env, small(members), network())
}

func slicedTD3(save bool) func(context.Context, *engine.Engine, int) (engine.Trainable, error) {
	return func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
		env, err := envs.Lookup("Pendulum-v1")
		if err != nil {
			return nil, err
		}
		cfg, hidden, replay := rl.DefaultTD3(), rl.DefaultOffPolicyNetwork(), rl.DefaultReplay()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts = members, 2, 4, 16
		hidden.Hidden, replay.Capacity, replay.Batch, replay.Save = []int{8}, 100, 8, save
		return rl.NewTD3(ctx, eng, env, cfg, rl.Network(hidden), rl.Replays(replay), rl.Environment(envs.Options{TimeLimit: 10}))
	}
}

// TestSlices: members in slices end with the same bits on one device, two and three, also if a run is resumed on another number of devices.
func TestSlices(t *testing.T) {
	const iterations, kept = 5, 2
	for _, kind := range []sliced{
		{"pbt over ppo", slicedPPO, often(t, rl.DefaultPPO(), Truncation), true},
		{"pbt over td3", slicedTD3(true), often(t, rl.DefaultTD3(), TTest), true},
		{"td3 without its replay", slicedTD3(false), nil, false},
	} {
		t.Run(kind.name, func(t *testing.T) {
			digest := func(w engine.Workflow, from int) string {
				t.Helper()
				steps(t, w, from, iterations)
				d, err := w.State().Digest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			dir, want, again := t.TempDir(), "", ""
			for devices := 1; devices <= 3; devices++ {
				w := kind.open(t, devices, 2)
				initialized(t, w)
				steps(t, w, 0, kept)
				if devices == 2 {
					if _, err := w.State().Save(t.Context(), dir, kept); err != nil {
						t.Fatal(err)
					}
				}
				if got := digest(w, kept); want != "" && got != want {
					t.Errorf("%d devices end with %s; want %s, as one", devices, got, want)
				} else {
					want = got
				}
			}
			for _, devices := range []int{1, 3} {
				w := kind.open(t, devices, 2)
				if err := w.State().Poison(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := w.State().Zero(t.Context()); err != nil {
					t.Fatal(err)
				}
				load(t, w, dir, kept)
				switch got := digest(w, kept); {
				case kind.exact && got != want:
					t.Errorf("a run of two devices that %d resume ends with %s; want %s, as without an interruption", devices, got, want)
				case again != "" && got != again:
					t.Errorf("a run of two devices that %d resume ends with %s; want %s, as by one", devices, got, again)
				default:
					again = got
				}
			}
		})
	}
}
