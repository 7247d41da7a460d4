package rl

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// stayDQN is DQN there, with a replay of all transitions.
func stayDQN(t *testing.T) (*stayEcho, remoteCase) {
	echo := newStayEcho(t)
	return echo, remoteCase{name: "dqn", make: func(ctx context.Context, eng *engine.Engine, opts ...Option) (apart, error) {
		cfg, network, replay := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
		cfg.OffPolicyConfig, replay = smallOffPolicy()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts, cfg.Actors, cfg.Lag = stayMembers, stayEnvironments, stayHorizon, 60, stayParts, 1
		cfg.Discount, network.Hidden = 0.5, []int{8}
		replay.Capacity, replay.Steps, replay.Batch, replay.Save = 2048, 1, 64, true
		return NewDQN(ctx, eng, echo.env, cfg, append([]Option{Network(network), Replays(replay)}, opts...)...)
	}}
}

// TestStayingReplay: a replay has each transition with the observation that followed it, also where an episode was left since its part went elsewhere.
func TestStayingReplay(t *testing.T) {
	echo, c := stayDQN(t)
	w := newTroupe(t, c)
	w.join(6)
	w.join(9)
	p := c.begin(t, engine.Assisted(w.crew))
	check := echo.check(stayMembers, stayEnvironments, stayParts)
	check.midway = true
	follow(t, p, check, 0, 12)
	if check.moves == 0 || len(w.crew.Hands()) != 0 {
		t.Errorf("%d environments have begun anew, and %d workers are left; want some, and none", check.moves, len(w.crew.Hands()))
	}
	stored(t, p.(*OffPolicy), 60/stayHorizon/stayEnvironments+12)

}

// TestStayingReplayResumes: so it has where a run was resumed.
func TestStayingReplayResumes(t *testing.T) {
	_, c := stayDQN(t)
	p := c.begin(t)
	steps(t, p, 0, 3)
	dir := t.TempDir()
	if _, err := p.State().Save(t.Context(), dir, 3); err != nil {
		t.Fatal(err)
	}
	again := c.open(t)
	reload(t, again.State(), filepath.Join(dir, "00000003"))
	steps(t, again, 3, 6)
	stored(t, again.(*OffPolicy), 60/stayHorizon/stayEnvironments+6)
}

// TestStayingCopies: a copied member that takes over a replay does not continue its episodes, since its environments keep episodes of their own.
func TestStayingCopies(t *testing.T) {
	cfg, network, replay := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
	cfg.OffPolicyConfig, replay = smallOffPolicy()
	cfg.Members, cfg.RolloutLength, network.Hidden, replay.Inherit = 2, 5, []int{8}, true
	o, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(5)), newStayEcho(t).env, cfg, Network(network), Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	begun(t, o)
	steps(t, o, 0, 1)
	source := o.State().Sub("test").Scratch("source", engine.Uint32, engine.Members(2))
	write(t, source, []float64{1, 1})
	newest, lanes := read(t, o.replay.own.newest.row), cfg.Environments
	run(t, o.State().Engine(), func(r *engine.Recorder) { engine.Gather(r, source, o.State().Inherited()...) })
	steps(t, o, 1, 2)
	link, unfinished := read(t, o.replay.link), 0
	for lane, row := range newest[lanes:] {
		if row == 0 {
			continue // the episode ended with the iteration
		}
		unfinished++
		for member := range 2 {
			linked := link[member*replay.Capacity+int(row)-1] < float64(replay.Capacity)
			if copied := member == 0; linked == copied {
				t.Errorf("the last transition of environment %d, copied %v, is linked: %v", lane, copied, linked)
			}
		}
	}
	if unfinished == 0 {
		t.Error("all episodes ended with the iteration")
	}
}

// stored compares all transitions of a replay with what the worlds do: of so many trajectories.
func stored(t *testing.T, o *OffPolicy, trajectories int) {
	t.Helper()
	eng := o.State().Engine()
	s := eng.NewState()
	defer s.Close()
	update := s.Tensor("update", engine.Uint32, engine.Axis("update", 1))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	var batch ReplayBatch
	p, err := eng.Record("sample", func(r *engine.Recorder) { batch = o.replay.Sample(r, o.Clock(), update, o.discount) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	read := func(x *engine.Tensor) []float32 {
		v, err := x.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	found, want := map[stayRow]bool{}, trajectories*stayMembers*stayEnvironments*stayHorizon
	for n := uint32(0); len(found) < want && n < 200; n++ {
		if err := update.WriteUint32(t.Context(), []uint32{n}); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs, next, action, reward, factor := read(batch.Obs), read(batch.NextObs), read(batch.Action), read(batch.Reward), read(batch.Factor)
		for i, a := range action {
			before, after := stayRowOf(obs[i*staySize:(i+1)*staySize]), stayRowOf(next[i*staySize:(i+1)*staySize])
			row := before
			gain, done := row.step(a)
			future := float32(0.5)
			if done == envs.Terminated {
				future = 0
			}
			if after != row || math.Abs(float64(reward[i]-gain)) > 1e-6 || factor[i] != future {
				t.Fatalf("after %v action %g, reward %g, factor %g, then %v; want %g, %g, then %v", before, a, reward[i], factor[i], after, gain, future, row)
			}
			found[before] = true
		}
	}
	if len(found) != want {
		t.Errorf("%d transitions were found; %d were made", len(found), want)
	}
}
