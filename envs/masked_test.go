package envs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// memoryTasks hide what others show, or are mazes; they have no records of their own. The name is of what they hide a part of: the same dynamics.
var memoryTasks = map[string]string{
	"CartPoleMasked-v1": "CartPole-v1", "PendulumMasked-v1": "Pendulum-v1",
	"TMaze-v0": "", "RepeatPrevious-v0": "", "FaultMaze-v0": "",
}

// TestMasked: an environment without velocities is the other in all but its observations.
func TestMasked(t *testing.T) {
	dev := open(t)
	for name, seen := range map[string][]int{"CartPoleMasked-v1": {0, 2}, "PendulumMasked-v1": {0, 1}} {
		const n, steps = 33, 60
		masked, whole := newBatch(t, dev, name, 1, n, Options{TimeLimit: 50}), newBatch(t, dev, memoryTasks[name], 1, n, Options{TimeLimit: 50})
		part := func(obs []float32) (out []float32) {
			size := len(obs) / n
			for i := range n {
				for _, k := range seen {
					out = append(out, obs[i*size+k])
				}
			}
			return out
		}
		first, err := masked.Reset(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		all, err := whole.Reset(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, part(all)) {
			t.Fatalf("%s: first observations differ from a part of %s", name, memoryTasks[name])
		}
		dice, ends := rand.New(rand.NewPCG(1, 2)), 0
		for range steps {
			actions := make([][]float64, n)
			for i := range actions {
				actions[i] = []float64{float64(dice.IntN(2))}
			}
			got, err := act(t.Context(), masked, actions)
			if err != nil {
				t.Fatal(err)
			}
			want, err := act(t.Context(), whole, actions)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Reward, want.Reward) || !slices.Equal(got.Done, want.Done) || !slices.Equal(got.Obs, part(want.Obs)) ||
				!slices.Equal(got.NextObs, part(want.NextObs)) {
				t.Fatalf("%s: a step differs from %s", name, memoryTasks[name])
			}
			for _, d := range got.Done {
				if d.Over() {
					ends++
				}
			}
		}
		if ends == 0 {
			t.Errorf("%s: no episode ended", name)
		}
	}
}

// TestTMaze follows the maze's rules: ways of known rewards, and what is seen on them.
func TestTMaze(t *testing.T) {
	const right, up, left, down = 0, 1, 2, 3
	straight := slices.Repeat([]int{right}, tMazeLength)
	with := func(last int) []int { return append(slices.Clone(straight), last) }
	b := newBatch(t, open(t), "TMaze-v0", 1, 64, Options{AutoReset: Disabled})
	for name, c := range map[string]struct {
		way  []int
		want float32    // return without the goal's
		end  [2]float32 // the last observation
		side float32    // where the way ends; 0: at no goal
	}{
		"up":             {with(up), 0, [2]float32{1, 1}, 1},
		"down":           {with(down), 0, [2]float32{1, -1}, -1},
		"idle":           {slices.Repeat([]int{left}, tMazeLength+1), -1, [2]float32{0, 0}, 0},
		"a wall":         {append([]int{up}, straight...), -1, [2]float32{1, 0}, 0},
		"through a wall": {with(right), 0, [2]float32{1, 0}, 0},
	} {
		first, err := b.Reset(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		goals := make([]float32, 64)
		for i := range goals {
			if goals[i] = first[2*i+1]; first[2*i] != 0 || goals[i]*goals[i] != 1 {
				t.Fatalf("the first observation is %v; want 0 and the goal", first[2*i:2*i+2])
			}
		}
		if !slices.Contains(goals, 1) || !slices.Contains(goals, -1) {
			t.Fatal("all goals are on one side")
		}
		sums := make([]float64, len(goals))
		for k, action := range c.way {
			got, err := act(t.Context(), b, slices.Repeat([][]float64{{float64(action)}}, len(goals)))
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range got.Reward {
				sums[i] += float64(r)
				obs := [2]float32(got.NextObs[2*i:])
				if last := k == len(c.way)-1; got.Done[i].Over() != last || last && obs != c.end || !last && obs[1] != 0 {
					t.Fatalf("%s: step %d: done %v, observation %v", name, k+1, got.Done[i], obs)
				}
			}
		}
		for i, sum := range sums {
			want := float64(c.want)
			if c.side == goals[i] {
				want++
			}
			if d := sum - want; d > 1e-6 || d < -1e-6 {
				t.Errorf("%s: return %v with the goal at %v; want %v", name, sum, goals[i], want)
			}
		}
	}
}

// TestRepeatPrevious plays whole decks: all cards are shown once, in an order that differs by episode, what is seen is the card and the action
// before, and only the suit of three cards before is paid for.
func TestRepeatPrevious(t *testing.T) {
	const n = 64
	b := newBatch(t, open(t), "RepeatPrevious-v0", 1, n, Options{AutoReset: Disabled})
	obs, err := b.Reset(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	suits, sums, before := make([][]int, n), make([]float64, n), slices.Repeat([]int{-1}, n)
	see := func(obs []float32) {
		for i := range n {
			seen := obs[9*i : 9*i+9]
			suit := slices.Index(seen, 1)
			want := make([]float32, 9)
			if suit < 0 || suit > 3 {
				t.Fatalf("the observation is %v; want a suit", seen)
			}
			want[suit] = 1
			if before[i] < 0 {
				want[8] = 1
			} else {
				want[4+before[i]] = 1
			}
			if !slices.Equal(seen, want) {
				t.Fatalf("the observation is %v; want %v", seen, want)
			}
			suits[i] = append(suits[i], suit)
		}
	}
	see(obs)
	for step := 1; step < repeatDeck; step++ {
		actions := make([][]float64, n)
		for i := range n { // half of the players remember, the others name the suit after that
			before[i] = suits[i][max(0, step-repeatMemory)]
			if i%2 == 1 {
				before[i] = (before[i] + 1) % 4
			}
			actions[i] = []float64{float64(before[i])}
		}
		got, err := act(t.Context(), b, actions)
		if err != nil {
			t.Fatal(err)
		}
		see(got.NextObs)
		for i, r := range got.Reward {
			sums[i] += float64(r)
			if over := step == repeatDeck-1; got.Done[i].Over() != over || (r == 0) != (step < repeatMemory) {
				t.Fatalf("step %d: done %v, reward %v", step, got.Done[i], r)
			}
		}
	}
	for i := range n {
		if want := float64(1 - 2*(i%2)); math.Abs(sums[i]-want) > 1e-5 {
			t.Errorf("player %d has a return of %v; want %v", i, sums[i], want)
		}
		for suit := range 4 {
			count := 0
			for _, s := range suits[i] {
				if s == suit {
					count++
				}
			}
			if count != repeatDeck/4 {
				t.Errorf("deck %d has %d cards of suit %d; want %d", i, count, suit, repeatDeck/4)
			}
		}
		if i > 0 && slices.Equal(suits[i], suits[0]) {
			t.Errorf("decks 0 and %d are in the same order", i)
		}
	}
}
