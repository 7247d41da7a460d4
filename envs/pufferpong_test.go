package envs

import (
	"math"
	"testing"
)

// TestPufferPong repeats steps of PufferLib's Pong (tools/reference/puffer_pong.py).
func TestPufferPong(t *testing.T) {
	const vy, score = 5, 6
	data := readArrays(t, "PufferPong-v0")
	before, action, after, seen, reward, end := data["before.npy"], data["action.npy"], data["after.npy"], data["obs.npy"], data["reward.npy"], data["end.npy"]
	n := len(before)
	b := newBatch(t, open(t), "PufferPong-v0", 1, n, Options{AutoReset: Disabled})
	if err := b.SetState(t.Context(), State{toFloat32("PufferPong-v0", before), make([]EpisodeWord, n), make([]float32, n)}); err != nil {
		t.Fatal(err)
	}
	got, err := act(t.Context(), b, action)
	if err != nil {
		t.Fatal(err)
	}
	states, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	served, ended := map[float32]int{}, 0
	for i, want := range after {
		if got.Reward[i] != float32(reward[i][0]) {
			t.Fatalf("row %d pays %v; want %v", i, got.Reward[i], reward[i][0])
		}
		over := end[i][0] != 0
		if (got.Done[i] == Terminated) != over {
			t.Fatalf("row %d: flags %v; want an end: %t", i, got.Done[i], over)
		}
		if over { // the reference has begun another game
			ended++
			continue
		}
		state := column(states.Env, n, i)
		serves := want[score] != before[i][score] || want[score+1] != before[i][score+1]
		for k, v := range state {
			if serves && k == vy {
				served[v]++
			} else if float64(v) != want[k] {
				t.Fatalf("row %d: %s is %v; want %v", i, b.env.State[k], v, want[k])
			}
		}
		for k, want := range seen[i] {
			if v := float64(got.NextObs[len(seen[i])*i+k]); math.Abs(v-want) > 1e-6 {
				t.Fatalf("row %d: sees %v at %d; want %v", i, v, k, want)
			}
		}
	}
	if served[0] < 50 || served[-1] < 50 || len(served) != 2 || ended < 10 {
		t.Errorf("served with %v, %d games ended; want each speed 50 times and 10 games", served, ended)
	}
}

// TestPufferPongOptions: a game ends with a player's last point; frames are steps of their own.
func TestPufferPongOptions(t *testing.T) {
	env, err := lookup(t, "PufferPong-v0").With(PufferPongOptions{Points: 2, FrameSkip: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := []float64{285, 285, 465, 500, 10, -1, 1, 0, 285, 285, 465, 500, 10, -1}
	after, obs, reward := poolStep(t, open(t), env, [][]float64{s, append([]float64{285, 285, 400}, s[3:]...)}, [][]float64{{0}, {1}})
	if reward[0] != -1 || after[0][6] != 2 || after[0][2] != 475 || math.Abs(float64(obs[2])-0.93) > 1e-6 {
		t.Errorf("the last point: paid %v, the score %v, the ball at %v, seen at %v; want -1, 2, 475, and 0.93 as before",
			reward[0], after[0][6], after[0][2], obs[2])
	}
	if reward[1] != 0 || after[1][2] != 410 || after[1][1] != 293 || after[1][3] != 499 {
		t.Errorf("a frame: paid %v, %v; want the ball at 410, 499 and the paddle at 293", reward[1], after[1])
	}
}
