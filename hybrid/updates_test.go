package hybrid

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// TestUpdatesPerStep: how many updates iterations make if their number follows from steps, in blocks of the delay, and that equal numbers of fixed and of
// counted updates give the same bits.
func TestUpdatesPerStep(t *testing.T) {
	const episodes, rollout = 6 * 2 * 10, 7 // steps of a population, and of an agent
	g := smallERL("td3", genetic())
	g.cfg.Injection = 100
	updates := func(w engine.Workflow) uint32 { return words(t, saved(t, w, "agent/critics/optimizer/updates"))[0] }
	for _, c := range []struct {
		by   Count
		want []uint32 // after each iteration; the first is warm-up; 7 random steps come before
	}{
		{PerIteration, []uint32{0, episodes + rollout, 2 * (episodes + rollout)}},
		{PerRun, []uint32{0, 2*episodes + 2*rollout, (2*episodes + 2*rollout) + (3*episodes + 3*rollout)}},
	} {
		g.cfg.Updates = c.by
		e := g.begin(t, 5)
		for i, want := range c.want {
			steps(t, e, i, i+1)
			if got := updates(e); got != want {
				t.Errorf("count %d: %d updates after %d iterations; want %d", c.by, got, i+1, want)
			}
		}
	}
	const each = 18 // for 7 of an agent's steps, and, to the nearest number, a seventh of all
	g.cfg.Updates, g.perStep = Fixed, each/float64(rollout)
	fixed := g.begin(t, 5)
	steps(t, fixed, 0, 2)
	g.cfg.Updates, g.perStep = PerIteration, 1/float64(rollout)
	stepUpdates := g.begin(t, 5)
	steps(t, stepUpdates, 0, 2)
	if updates(stepUpdates) != each || updates(fixed) != each {
		t.Fatalf("%d and %d updates; want %d", updates(stepUpdates), updates(fixed), each)
	}
	for _, name := range []string{"agent/actor/params", "agent/critics/params", "replay/obs", "population/ga/elites"} {
		if !slices.Equal(values(t, saved(t, fixed, name)), values(t, saved(t, stepUpdates, name))) {
			t.Errorf("%s differs from that of fixed updates", name)
		}
	}
}

// TestCriticsFirst: critics and learners make as many updates if the critics' come first, in a fixed number and in one that follows from steps,
// with other results than if they alternate; SAC's do not.
func TestCriticsFirst(t *testing.T) {
	g, cfg := smallCEMRL("td3")
	alternating := g.openCEMRL(t, 5, cfg)
	initialized(t, alternating)
	steps(t, alternating, 0, 2)
	cfg.CriticsFirst = true
	for by, want := range map[Count]uint32{Fixed: 7, PerIteration: 7 + 6*2*10} {
		cfg.Updates = by
		c := g.openCEMRL(t, 5, cfg)
		initialized(t, c)
		steps(t, c, 0, 2) // one of warm-up
		for _, network := range []string{"critics", "actor"} {
			if got := words(t, saved(t, c, "agent/"+network+"/optimizer/updates"))[0]; got != want {
				t.Errorf("count %d: %d updates of the %s; want %d", by, got, network, want)
			}
		}
		if by == Fixed && slices.Equal(values(t, c.agents.Policy().Params), values(t, alternating.agents.Policy().Params)) {
			t.Error("learners are those of alternating updates")
		}
	}
	g.agent, cfg.Updates = "sac", Fixed
	if c, err := g.newCEMRL(t, 5, cfg); err == nil || !strings.Contains(err.Error(), "want ddpg, or td3 with policy_delay = 1") {
		c.Close()
		t.Errorf("error %v; want one for sac", err)
	}
}

// TestCriticsFirstWithoutDelay: where critics come first, a policy delay is refused, and PBT does not vary it.
func TestCriticsFirstWithoutDelay(t *testing.T) {
	g, cfg := smallCEMRL("td3")
	cfg.CriticsFirst = true
	for _, delay := range []float64{2, 2.5} {
		c, err := NewCEMRL(t.Context(), func(opts ...rl.Option) (*rl.OffPolicy, error) {
			env, err := envs.Lookup("Pendulum-v1")
			if err != nil {
				return nil, err
			}
			c := rl.DefaultTD3()
			c.Members, c.RolloutLength, c.LearningStarts, c.PolicyDelay = g.members, g.horizon, g.horizon, delay
			return rl.NewTD3(t.Context(), engine.New(open(t)), env, c, append([]rl.Option{rl.Replays(g.replay), rl.Environment(g.options)}, opts...)...)
		}, g.algorithm, cfg)
		if err == nil {
			_ = c.Close()
		}
		if want := fmt.Sprintf("\"td3.policy_delay\": %g ", delay); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("policy_delay %g: error %v; want one with %q", delay, err, want)
		}
	}
	for _, first := range []bool{true, false} {
		cfg.CriticsFirst = first
		if c := g.openCEMRL(t, 5, cfg); (c.Hyper().Lookup("policy_delay") == nil) != first {
			t.Errorf("critics first %v: policy_delay among %v", first, c.Hyper().Names())
		}
	}
}

// TestLearnersPerStep: learners of CEM-RL make as many updates as the iteration before took steps, or all before. The random steps at the beginning
// belong to the first.
func TestLearnersPerStep(t *testing.T) {
	const episodes = 6 * 2 * 10
	g, cfg := smallCEMRL("td3")
	for by, want := range map[Count]uint32{PerIteration: 7 + 2*episodes, PerRun: (7 + episodes) + (7 + 2*episodes)} {
		cfg.Updates = by
		c := g.openCEMRL(t, 5, cfg)
		initialized(t, c)
		steps(t, c, 0, 3) // one of warm-up
		if got := words(t, saved(t, c, "agent/critics/optimizer/updates"))[0]; got != want {
			t.Errorf("count %d: %d updates in two iterations; want %d", by, got, want)
		}
	}
}

// TestTransfersPerStep: an iteration with updates by steps is two submissions, one before and one after its updates, one for every 64
// blocks of updates, and one for every power of two of the remainder; the host reads the count of steps, 16 bytes. A submission lists at most 64 command
// buffers: where copies precede the updates (CEM-RL's of hyperparameters for each actor), 64 blocks are two.
func TestTransfersPerStep(t *testing.T) {
	const before, last, moved = 4, 9, 16
	g, cfg := smallCEMRL("td3")
	g.cfg.Updates, cfg.Updates = PerIteration, PerIteration
	for _, c := range []struct {
		w      engine.Workflow
		blocks uint64 // submissions of 64 blocks
	}{{g.begin(t, 5), 1}, {g.openCEMRL(t, 5, cfg), 2}} {
		w := c.w
		t.Run(w.Describe().Workflow, func(t *testing.T) {
			initialized(t, w)
			steps(t, w, 0, before)
			updates := func() uint64 { return uint64(words(t, saved(t, w, "agent/critics/optimizer/updates"))[0]) }
			begun := updates()
			steps(t, w, before, before+1)
			blocks := updates() - begun // of one update each
			remainder := uint64(bits.OnesCount64(blocks % 64))
			if blocks < 64 || remainder < 2 {
				t.Fatalf("%d updates in an iteration; want at least 64, and a remainder that is no power of two", blocks)
			}
			const n = last - before - 1
			transfers(t, w, before+1, last, n*(2+c.blocks*(blocks/64)+remainder), n*moved)
		})
	}
}

// TestResumePerStep: runs with updates by steps end with the same bits after they were interrupted.
func TestResumePerStep(t *testing.T) {
	for _, by := range []Count{PerIteration, PerRun} {
		g, cfg := smallCEMRL("td3")
		g.cfg.Updates, cfg.Updates = by, by
		for _, fresh := range []func() engine.Workflow{
			func() engine.Workflow { return g.open(t, 8) }, func() engine.Workflow { return g.openCEMRL(t, 8, cfg) },
		} {
			through, dir := fresh(), t.TempDir()
			initialized(t, through)
			steps(t, through, 0, 3)
			if _, err := through.State().Save(t.Context(), dir, 3); err != nil {
				t.Fatal(err)
			}
			steps(t, through, 3, 5)
			resumed := fresh()
			if err := resumed.State().Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			load(t, resumed, dir, 3)
			steps(t, resumed, 3, 5)
			if got, want := digest(t, resumed), digest(t, through); got != want {
				t.Errorf("%s, count %d: resumed, the digest is %s; want %s", through.Describe().Workflow, by, got, want)
			}
		}
	}
}
