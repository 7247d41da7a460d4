package envs

import (
	"errors"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// stroll begins at a place that its seed gives, and walks by its actions: observations are place and step of the episode.
type stroll struct{ place, step float32 }

func (w *stroll) see(obs []float32) { obs[0], obs[1] = w.place, w.step }

func (w *stroll) Reset(seed uint32, obs []float32) error {
	w.place, w.step = float32(seed%1000), 0
	w.see(obs)
	return nil
}

func (w *stroll) Step(action, obs []float32) (float32, bool, bool, error) {
	w.place, w.step = w.place+action[0], w.step+1
	w.see(obs)
	return action[0], false, false, nil
}

// kept is a stroll that can be saved.
type kept struct{ stroll }

func (w *kept) Save(state []byte) error {
	state[0], state[1], state[2] = byte(w.place), byte(int(w.place)>>8), byte(w.step)
	return nil
}

func (w *kept) Load(state []byte) error {
	w.place, w.step = float32(int(state[0])|int(state[1])<<8), float32(state[2])
	return nil
}

// TestOutsideCopies: a copied member continues in the environments of the member that it copies if they can be saved, each for itself, and then begins
// episodes of its own; others go on as they were.
func TestOutsideCopies(t *testing.T) {
	const members, environments, horizon = 4, 3, 4
	parents := []uint32{3, 1, 1, 3}
	for _, saved := range []int{3, 0} {
		run := func(copying bool) (obs, returns [][]float32, done []uint32) {
			env, err := NewOutside(Spec{Name: "Stroll-v0", Observation: Symmetric(2000, 5), Action: Discrete(3), MaxSteps: 6, Saved: saved},
				Worlds(func() (World, error) {
					if saved > 0 {
						return new(kept), nil
					}
					return new(stroll), nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			r := newEchoRollout(t, env, RolloutConfig{Members: members, Environments: environments, Horizon: horizon, Trajectory: true}, true)
			parent := r.s.Scratch("parent", engine.Uint32, engine.Members(members))
			p, err := r.s.Engine().Record("exchange", func(rec *engine.Recorder) { engine.Gather(rec, parent, r.s.Inherited()...) })
			if err != nil {
				t.Fatal(err)
			}
			defer p.Free()
			for i := range 2 {
				if copying && i == 1 {
					if err := errors.Join(parent.WriteUint32(t.Context(), parents), p.Run(t.Context())); err != nil {
						t.Fatal(err)
					}
				}
				if err := errors.Join(r.s.Advance(t.Context(), i), r.program.Run(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			rows := func(x *engine.Tensor, width int) [][]float32 {
				return slices.Collect(slices.Chunk(floats(t, x), width))
			}
			if done, err = r.ro.Done.ReadUint32(t.Context()); err != nil {
				t.Fatal(err)
			}
			return rows(r.ro.Obs, 2), rows(r.ro.finished.Index(1), 1), done
		}
		before, _, _ := run(false)
		after, returns, done := run(true)
		const all = members * environments
		for i := range all {
			from := i
			if saved > 0 {
				from = int(parents[i/environments])*environments + i%environments
			}
			if got, want := after[i], before[from]; !slices.Equal(got, want) {
				t.Errorf("saved in %d bytes: environment %d continues at %v; want %v", saved, i, got, want)
			}
			// Episodes of six steps: the second recording begins at their fifth, and at its third step are new ones.
			if begins := after[2*all+i]; begins[1] != 0 || Done(done[all+i])&Truncated == 0 {
				t.Errorf("saved in %d bytes: environment %d observes %v after flags %d; want a new episode", saved, i, begins, done[all+i])
			} else if begins[0] != before[2*all+i][0] {
				t.Errorf("saved in %d bytes: environment %d begins at %v; want %v, by its own seed", saved, i, begins, before[2*all+i])
			}
			if returns[i][0] < 0 || returns[i][0] > 12 {
				t.Errorf("saved in %d bytes: return %v", saved, returns[i])
			}
		}
	}
}
