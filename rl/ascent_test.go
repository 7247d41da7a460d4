package rl

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// newAscent makes an ascent of three actors for each of two agents, with 36 transitions of each in the replay.
func newAscent(t *testing.T, steps int) (*OffPolicy, *Ascent) {
	t.Helper()
	o := newSmall(t, open(t), func(cfg *TD3Config, _ *ReplayConfig) { cfg.Members = 2 })
	a, err := o.NewAscent(o.State().Sub("ascent"), AscentConfig{Actors: 3, Steps: steps, LearningRate: 1e-2})
	if err != nil {
		t.Fatal(err)
	}
	begun(t, o)
	if err := o.State().Allocate(); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(2, 3))
	rows := make([]float64, a.Actors().Len())
	for i := range rows {
		rows[i] = float64(float32(0.5 * dice.NormFloat64()))
	}
	write(t, a.Actors(), rows)
	return o, a
}

// TestAscent: an ascent's gradient agrees with float64 in batches of each actor's own, and its step is Adam's first,
// in memory that may hold anything.
func TestAscent(t *testing.T) {
	o, a := newAscent(t, 1)
	d, err := o.deterministic()
	if err != nil {
		t.Fatal(err)
	}
	rows := read(t, a.Actors())
	critics, agents := read(t, d.critics.params()), read(t, d.actor.params())
	for _, x := range []*engine.Tensor{a.batch.Obs, a.actors.outputs, a.actions, a.atActions, a.actors.atOutputs, a.value, a.actors.optimizer.Norm()} {
		poison := make([]float64, x.Len())
		for i := range poison {
			poison[i] = math.NaN()
		}
		write(t, x, poison)
	}
	poisonGradient(t, a.actors)
	run(t, o.State().Engine(), func(r *engine.Recorder) { a.Record(r) })
	obs, got, after := read(t, a.batch.Obs), read(t, a.actors.pass.Into()), read(t, a.Actors())
	index, ring := read(t, a.batch.Index), read(t, o.replay.parts[0].obs)
	row, batch, size := len(rows)/6, d.batch, d.actor.Model().Size()
	stored, twin := o.replay.parts[0].size, len(critics)/2/d.twins
	distinct := map[float64]bool{}
	for i := range index {
		distinct[index[i]] = true
		for k := range 3 {
			if obs[3*i+k] != ring[(i/(3*batch)*stored+int(index[i]))*3+k] {
				t.Fatalf("row %d of the batch is not row %g of the replay", i, index[i])
			}
		}
	}
	if len(distinct) < 20 {
		t.Errorf("%d rows of 36 were drawn in %d draws", len(distinct), len(index))
	}
	for actor := range 6 {
		x := append([]float64(nil), rows[actor*row:][:row]...)
		critic := critics[actor/3*d.twins*twin:][:twin]
		loss := func() (sum float64) {
			for i := range batch {
				see := obs[(actor*batch+i)*3:][:3]
				action := math.Tanh(forward(d.actor.Model(), x, see)[0])
				sum -= forward(d.critics.Model(), critic, append(append([]float64(nil), see...), action))[0] / float64(batch)
			}
			return sum
		}
		want, gradient := make([]float64, size), make([]float64, size)
		for i := range want {
			const h = 1e-6
			was := x[i]
			x[i] = was + h
			up := loss()
			x[i] = was - h
			want[i] = (up - loss()) / (2 * h)
			x[i] = was
			for s := 0; s < len(got); s += len(rows) {
				gradient[i] += got[s+actor*row+i]
			}
			step := -1e-2 * gradient[i] / (math.Abs(gradient[i]) + 1e-8)
			if off := after[actor*row+i] - rows[actor*row+i] - step; !(math.Abs(off) <= 1e-6) {
				t.Fatalf("actor %d moves parameter %d by %g; want %g", actor, i, after[actor*row+i]-rows[actor*row+i], step)
			}
		}
		if off := deviation(gradient, want); !(off <= 1e-5) {
			t.Errorf("the gradient of actor %d deviates by %g of the largest", actor, off)
		}
	}
	for i, v := range read(t, d.critics.params()) {
		if v != critics[i] {
			t.Fatal("the critics have changed")
		}
	}
	for i, v := range read(t, d.actor.params()) {
		if v != agents[i] {
			t.Fatal("the agents' actors have changed")
		}
	}
}

// TestAscentClimbs: values rise over the steps, and the same ascent twice gives the same actors, whatever moments were left.
func TestAscentClimbs(t *testing.T) {
	o, a := newAscent(t, 60)
	start := read(t, a.Actors())
	mean := func(steps int) (sum float64, actors []float64) {
		write(t, a.Actors(), start)
		a.cfg.Steps = steps
		run(t, o.State().Engine(), func(r *engine.Recorder) { a.Record(r) })
		values := read(t, a.value)
		for _, v := range values {
			sum += v / float64(len(values))
		}
		return sum, read(t, a.Actors())
	}
	before, _ := mean(1)
	later, actors := mean(60)
	if !(later > before+0.01) {
		t.Errorf("a mean value of %g after 60 steps, %g before", later, before)
	}
	_, again := mean(60)
	for i := range actors {
		if actors[i] != again[i] {
			t.Fatalf("parameter %d is %g, and %g in another run", i, actors[i], again[i])
		}
	}
}

// TestAscentRefused: agents without a critic to climb are refused.
func TestAscentRefused(t *testing.T) {
	dev := open(t)
	o := newSmall(t, dev, func(*TD3Config, *ReplayConfig) {})
	if _, err := o.NewAscent(o.State().Sub("ascent"), AscentConfig{Actors: 0, Steps: 1}); err == nil || !strings.Contains(err.Error(), "0 actors") {
		t.Errorf("error %v", err)
	}
	atoms := newSmall(t, dev, func(c *TD3Config, _ *ReplayConfig) { c.Atoms = 5 })
	if _, err := atoms.NewAscent(atoms.State().Sub("ascent"), AscentConfig{Actors: 1, Steps: 1}); err == nil || !strings.Contains(err.Error(), "\"td3.atoms\"") {
		t.Errorf("error %v", err)
	}
	common, replay := smallOffPolicy()
	cfg := DefaultSAC()
	cfg.OffPolicyConfig = common
	s, err := NewSAC(t.Context(), engine.New(dev), lookup(t, "Pendulum-v1"), cfg, Replays(replay))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.NewAscent(s.State().Sub("ascent"), AscentConfig{Actors: 1, Steps: 1}); err == nil || !strings.Contains(err.Error(), "want ddpg or td3") {
		t.Errorf("error %v", err)
	}
}
