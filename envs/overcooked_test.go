package envs

import "testing"

// TestOvercooked replays episodes of JaxMARL's Overcooked.
func TestOvercooked(t *testing.T) {
	env, err := lookup(t, "OvercookedCrampedRoom-v0").With(OvercookedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	replaySeats(t, open(t), env)
}

// TestOvercookedShaped: learners are paid for onions, plates and soup, less from step to step; returns have what is served only.
func TestOvercookedShaped(t *testing.T) {
	const factor, until = 2, 4
	env, err := lookup(t, "OvercookedCrampedRoom-v0").With(OvercookedOptions{Shaped: factor, ShapedSteps: until})
	if err != nil {
		t.Fatal(err)
	}
	const stay, interact = 4, 5
	// Both cooks stand below the pot's neighbours; the first looks at the pot from (1, 2) with an onion, or at the plates from (2, 1).
	full := []float64{1, 2, 0, 1, 1, 3, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	plates := []float64{2, 1, 1, 0, 1, 3, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	plateOut := append([]float64{}, plates...)
	plateOut[12] = 2 // on a counter
	ready := []float64{1, 2, 0, 2, 2, 3, 1, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	states := [][]float64{full, plates, plateOut, ready}
	g := newGiven(t, open(t), env, len(states))
	g.set(states)
	for step, want := range [][]float32{{0, 0, 0, 0, 0, 0, 0, 0}, {3, 0, 3, 0, 0, 0, 20 + 5, 20}} {
		action := stay
		if step == 1 {
			action = interact
		}
		g.act([]int{action, stay, action, stay, action, stay, action, action})
		fall := 1 - float32(step)/until
		served := []float32{0, 0, 0, 0, 0, 0, 0, 0}
		if step == 1 {
			served[6], served[7] = 20, 20
		}
		rewards, returns := g.floats(g.ro.Reward), g.floats(g.ro.ret)
		for i, w := range want {
			if w := served[i] + factor*fall*(w-served[i]); rewards[i] != w {
				t.Errorf("step %d, place %d: reward %v; want %v", step, i, rewards[i], w)
			}
			if returns[i] != served[i] {
				t.Errorf("step %d, place %d: return %v; want %v", step, i, returns[i], served[i])
			}
		}
	}
	if got := g.states()[0]; got[3] != 0 || got[8] != 3 || got[9] != 19 {
		t.Errorf("the third onion leads to %v; want an empty hand, three onions and 19 steps", got)
	}
}
