package envs

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestReturnsOnly: a rollout without trajectories ends in the same states and returns, and the returns are the sums
// of the trajectories' rewards.
func TestReturnsOnly(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(31))
	for name, options := range map[string]Options{"CartPole-v1": {TimeLimit: 30}, "Pendulum-v1": {TimeLimit: 8, ActionRepeat: 3}} {
		cfg := RolloutConfig{Members: 3, Environments: 10, Horizon: 70, Options: options, Trajectory: true}
		full := newFixture(t, eng, name, cfg, small)
		cfg.Trajectory = false
		short := newFixture(t, eng, name, cfg, small)
		n := cfg.Members * cfg.Environments
		sums, lengths := make([]float64, n), make([]float64, n)
		for range 2 {
			full.advance()
			short.advance()
			for _, pair := range [][2]*engine.Tensor{{full.ro.state, short.ro.state}, {full.ro.ret, short.ro.ret}, {full.ro.finished, short.ro.finished}} {
				if !slices.Equal(full.floats(pair[0]), short.floats(pair[1])) {
					t.Errorf("%s: %v differs without trajectories", name, pair[0])
				}
			}
			if !slices.Equal(full.words(full.ro.step), short.words(short.ro.step)) {
				t.Errorf("%s: the episodes' steps differ without trajectories", name)
			}
			// The same from the rewards; action repeat cuts the last action of an episode short.
			reward, done := full.floats(full.ro.Reward), full.words(full.ro.Done)
			count, total, steps := make([]float64, cfg.Members), make([]float64, cfg.Members), make([]float64, cfg.Members)
			for i, r := range reward {
				at := i % n
				sums[at] += float64(r)
				lengths[at] += float64(max(options.ActionRepeat, 1))
				if Done(done[i]).Over() {
					count[at/cfg.Environments]++
					total[at/cfg.Environments] += sums[at]
					steps[at/cfg.Environments] += min(lengths[at], float64(options.TimeLimit))
					sums[at], lengths[at] = 0, 0
				}
			}
			p := engine.Members(cfg.Members)
			returns, length := short.state.Scratch("returns", engine.Float32, p), short.state.Scratch("lengths", engine.Float32, p)
			short.run(func(r *engine.Recorder) { short.ro.RecordReturns(r, returns, length) })
			for m := range cfg.Members {
				for what, pair := range map[string][2]float64{
					"return": {float64(short.floats(returns)[m]), total[m] / count[m]}, "length": {float64(short.floats(length)[m]), steps[m] / count[m]},
				} {
					if !(math.Abs(pair[0]-pair[1]) <= 3e-6*math.Abs(pair[1])) {
						t.Errorf("%s: mean %s of member %d is %g; the trajectories' is %g", name, what, m, pair[0], pair[1])
					}
				}
			}
		}
	}
}

// TestReturnsOfNoEpisode: the mean is NaN if no episode ended.
func TestReturnsOfNoEpisode(t *testing.T) {
	eng := engine.New(open(t))
	f := newFixture(t, eng, "Pendulum-v1", RolloutConfig{Members: 2, Environments: 3, Horizon: 5}, small)
	f.advance()
	returns := f.state.Scratch("returns", engine.Float32, engine.Members(2))
	f.run(func(r *engine.Recorder) { f.ro.RecordReturns(r, returns, nil) })
	for m, v := range f.floats(returns) {
		if v == v {
			t.Errorf("mean return of member %d is %g; want NaN", m, v)
		}
	}
}

// TestSlices: a horizon of several dispatches gives the same bits as several recordings, and a long action repeat
// stays within a driver's loop limit.
func TestSlices(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(32))
	cfg := RolloutConfig{Members: 2, Environments: 9, Horizon: 2200, Trajectory: true}
	long := newFixture(t, eng, "CartPole-v1", cfg, small)
	long.advance()
	cfg.Horizon = 1100
	short := newFixture(t, eng, "CartPole-v1", cfg, small)
	for part := range 2 {
		short.advance()
		for _, pair := range [][2]*engine.Tensor{
			{long.ro.Obs, short.ro.Obs}, {long.ro.Action, short.ro.Action},
			{long.ro.LogProb, short.ro.LogProb}, {long.ro.NextObs, short.ro.NextObs},
		} {
			whole, half := long.floats(pair[0]), short.floats(pair[1])
			if !slices.Equal(whole[part*len(half):(part+1)*len(half)], half) {
				t.Errorf("part %d: %v is not as in a recording of its own", part, pair[0])
			}
		}
	}
	if !slices.Equal(long.floats(long.ro.state), short.floats(short.ro.state)) || !slices.Equal(long.words(long.ro.step), short.words(short.ro.step)) {
		t.Error("the states after 2200 steps differ")
	}

	for _, repeat := range []int{1, 30, 1000} {
		cfg := RolloutConfig{Members: 1, Environments: 8, Horizon: 1030, Options: Options{ActionRepeat: repeat, TimeLimit: NoTimeLimit}}
		f := newFixture(t, eng, "Pendulum-v1", cfg, small)
		f.advance()
		for e, w := range f.words(f.ro.step) {
			if n := EpisodeWord(w).Steps(); n != repeat*cfg.Horizon {
				t.Fatalf("environment %d with action repeat %d took %d steps; want %d", e, repeat, n, repeat*cfg.Horizon)
			}
		}
	}
}

// TestRolloutRerun: the same seed gives the same bits, another seed gives others, and an environment does not depend
// on how many others there are.
func TestRolloutRerun(t *testing.T) {
	dev := open(t)
	for _, name := range []string{"CartPole-v1", "CartPoleSwingUp-hard"} {
		cfg := RolloutConfig{Members: 3, Environments: 11, Horizon: 40, Trajectory: true}
		run := func(seed uint32, cfg RolloutConfig) *fixture {
			f := newFixture(t, engine.New(dev, engine.Seed(seed)), name, cfg, small)
			f.advance()
			f.advance()
			return f
		}
		first := run(1, cfg)
		if !slices.Equal(first.everything(), run(1, cfg).everything()) {
			t.Errorf("%s: a rerun differs", name)
		}
		if slices.Equal(first.everything(), run(2, cfg).everything()) {
			t.Errorf("%s: another seed gives the same", name)
		}
		before := first.everything()
		first.begin()
		first.advance()
		first.advance()
		if !slices.Equal(before, first.everything()) {
			t.Errorf("%s: begun anew, it differs", name)
		}
		cfg.Environments = 2
		few := run(1, cfg)
		all, some, o := first.floats(first.ro.Obs), few.floats(few.ro.Obs), first.env.ObsSize()
		for step := range cfg.Horizon {
			for m := range cfg.Members {
				want := all[((step*3+m)*11)*o : ((step*3+m)*11+2)*o]
				if got := some[((step*3+m)*2)*o : ((step*3+m)*2+2)*o]; !slices.Equal(got, want) {
					t.Fatalf("%s: step %d: with two environments they see %v; with eleven %v", name, step, got, want)
				}
			}
		}
	}
}
