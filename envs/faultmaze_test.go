package envs

import (
	"math"
	"math/bits"
	"testing"

	"github.com/evorl/evorl/engine"
)

// mazeState is the state of an episode in the reference of FaultMaze-v0.
type mazeState struct {
	row, column, keyUses, leverUses, bumps, run int
	key, door, goal                             bool
}

// mazeStart is the state in which episodes begin.
var mazeStart = mazeState{row: 1, column: 1}

// mazeWalls is the maze from above: # a wall, D the door.
var mazeWalls = [13]string{
	"#############",
	"#     #     #",
	"#     #     #",
	"#           #",
	"#     #     #",
	"#     #     #",
	"## ##########",
	"#     #     #",
	"#     #     #",
	"#     D     #",
	"#     #     #",
	"#     #     #",
	"#############",
}

// step follows the rules in words: it returns the next state, the reward, and the faults that the step meets, as bits in the order of the table of
// docs/testing-games.md.
func (s mazeState) step(action int) (next mazeState, reward float64, faults uint) {
	next = s
	var bump [2]int
	entered := false
	if action < 4 {
		row, column := s.row+[]int{-1, 1, 0, 0}[action], s.column+[]int{0, 0, -1, 1}[action]
		switch cell := mazeWalls[row][column]; {
		case cell == '#', cell == 'D' && !s.door && !s.key:
			bump = [2]int{row, column}
		default:
			if cell == 'D' && !s.door {
				next.door = true
				reward += 0.1
			}
			next.row, next.column, entered = row, column, true
		}
	}
	is := func(row, column int) bool { return next.row == row && next.column == column }
	use := action == 4
	if use && is(10, 2) {
		if !s.key {
			reward += 0.1
		}
		next.key, next.keyUses = true, min(s.keyUses+1, 2)
	}
	if use && is(2, 10) {
		next.leverUses = min(s.leverUses+1, 3)
	}
	if bump == [2]int{9, 6} {
		next.bumps = min(s.bumps+1, 3)
	}
	next.run = 0
	if use && s.row > 6 && s.column > 6 {
		next.run = min(s.run+1, 8)
	}
	if is(10, 10) && !s.goal {
		next.goal = true
		reward++
	}
	for i, met := range []bool{
		bump == [2]int{0, 1}, bump == [2]int{5, 12}, next.bumps == 3,
		entered && is(5, 5), entered && is(11, 1), next.run == 8,
		entered && is(1, 11), next.leverUses == 3, s.row == 9 && s.column == 6 && is(9, 5), entered && is(11, 11), bump == [2]int{7, 12} && s.leverUses > 0,
		next.keyUses == 2, use && is(10, 10), use && is(10, 10) && s.leverUses > 0,
	} {
		if met {
			faults |= 1 << i
		}
	}
	return next, reward, faults
}

// mazeFaults are the exact probabilities with which an episode of random play meets each fault, to two digits.
var mazeFaults = [14]float64{0.70, 0.078, 0.019, 0.59, 0.14, 9.0e-7, 0.13, 0.022, 0.015, 0.0027, 8.2e-8, 0.050, 0.0019, 1.3e-7}

// TestFaultMazeProbabilities: the reference's rules have the published probabilities, by dynamic programming over all states.
func TestFaultMazeProbabilities(t *testing.T) {
	for fault, want := range mazeFaults {
		if got := mazeChance(fault); math.Abs(got-want) > 0.051*want {
			t.Errorf("fault %d: random play meets it in an episode with probability %.3g; want %.2g", fault, got, want)
		}
	}
}

// mazeChance returns the probability that 200 random actions meet a fault.
func mazeChance(fault int) (met float64) {
	now := map[mazeState]float64{mazeStart: 1}
	for range 200 {
		next := map[mazeState]float64{}
		for s, p := range now {
			for action := range 5 {
				to, _, faults := s.step(action)
				if faults>>fault&1 != 0 {
					met += p / 5
					continue
				}
				// What the fault does not depend on, for fewer states.
				to.goal = false
				if fault != 2 {
					to.bumps = 0
				}
				if fault != 5 {
					to.run = 0
				}
				if fault != 11 {
					to.keyUses = 0
				}
				if fault != 7 {
					to.leverUses = min(to.leverUses, 1)
				}
				if fault != 7 && fault != 10 && fault != 13 {
					to.leverUses = 0
				}
				next[to] += p / 5
			}
		}
		now = next
	}
	return met
}

// TestFaultMaze follows random and chosen actions: state, observation, reward and record are those of the reference at every step, across episodes.
func TestFaultMaze(t *testing.T) {
	const environments, steps = 37, 450
	b := newBatch(t, open(t), "FaultMaze-v0", 1, environments, Options{})
	if _, err := b.Reset(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	// To the goal by way of key and door; use is pressed before and after.
	path := []int{1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 4, 4, 0, 3, 3, 3, 3, 3, 1, 3, 3, 3, 4, 0, 2, 2, 2, 2}
	rng := engine.NewRng(3, 1, 0, 0, 0)
	states, found, visited := make([]mazeState, environments), make([]uint, environments), make([]map[int]bool, environments)
	visit := func(e int) {
		s, progress := states[e], 0
		for _, is := range []bool{s.key, s.door} {
			if is {
				progress++
			}
		}
		if s.leverUses > 0 {
			progress += 3
		}
		visited[e][121*progress+(s.row-1)*11+s.column-1] = true
	}
	for e := range states {
		states[e], visited[e] = mazeStart, map[int]bool{}
		visit(e)
	}
	for i := range steps {
		actions := make([]uint32, environments)
		for e := range actions {
			actions[e] = uint32(rng.Uniform() * 5)
			if e == 0 && i%200 < len(path) {
				actions[e] = uint32(path[i%200])
			}
		}
		out, err := b.Step(t.Context(), actions)
		if err != nil {
			t.Fatal(err)
		}
		state, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for e, s := range states {
			next, reward, faults := s.step(int(actions[e]))
			found[e] |= faults
			states[e] = next
			visit(e)
			if math.Abs(float64(out.Reward[e])-reward) > 1e-6 {
				t.Fatalf("environment %d, step %d: reward %g; want %g", e, i, out.Reward[e], reward)
			}
			if end := (i+1)%200 == 0; end != (out.Done[e].Over()) {
				t.Fatalf("environment %d, step %d: done %v; want an end after 200 steps", e, i, out.Done[e])
			} else if end {
				states[e] = mazeStart
				visit(e)
			}
			now := states[e]
			truth := func(b bool) float32 {
				if b {
					return 1
				}
				return 0
			}
			want := []float32{
				float32(now.row), float32(now.column), truth(now.key), float32(now.keyUses), float32(now.leverUses), truth(now.door), float32(now.bumps),
				float32(now.run), truth(now.goal), float32(found[e]),
			}
			for w := range 31 {
				bits := 0
				for k := range 24 {
					if visited[e][24*w+k] {
						bits |= 1 << k
					}
				}
				want = append(want, float32(bits))
			}
			for f, v := range want {
				if got := state.Env[f*environments+e]; got != v {
					t.Fatalf("environment %d, step %d, action %d: %s is %g; want %g", e, i, actions[e], faultMaze().State[f], got, v)
				}
			}
			obs := out.Obs[25*e:][:25]
			for k, v := range obs {
				want := truth(k == now.row-1 || k == 11+now.column-1 || k == 22 && now.key || k == 23 && now.leverUses > 0 || k == 24 && now.door)
				if v != want {
					t.Fatalf("environment %d, step %d: observation %d is %g; want %g", e, i, k, v, want)
				}
			}
		}
	}
	const way = 1<<8 | 1<<11 | 1<<12
	if found[0]&way != way {
		t.Errorf("the chosen path has met the faults %b; want at least those of the door, the key and the goal", found[0])
	}
}

// TestFound: random play meets faults as often as it should, and a group has found what any of its environments has met, also in earlier recordings.
func TestFound(t *testing.T) {
	const members, environments, groups = 6, 517, 2
	eng := engine.New(open(t), engine.Seed(3))
	s := eng.NewState()
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	env, clock := lookup(t, "FaultMaze-v0"), engine.NewClock(s)
	ro, err := NewRollout(t.Context(), s, env, RolloutConfig{
		Members: members, Environments: environments, Horizon: 200, Begin: true, Options: Options{AutoReset: Disabled},
	})
	must(err)
	found := NewFound(s, env, groups)
	must(s.Zero(t.Context()))
	must(s.Poison(t.Context()))
	program, err := eng.Record("random play", func(r *engine.Recorder) {
		ro.Record(r, clock, nil)
		found.Record(r, ro)
		clock.Tick(r, 1, 200)
	})
	must(err)
	defer program.Free()
	const all = members * environments
	words := len(env.State) - 9 // of both sets
	want, met := make([]uint32, groups*words), [14]int{}
	for range 2 {
		must(program.Run(t.Context()))
		state, err := ro.state.ReadFloat32(t.Context())
		must(err)
		for i := range all {
			for w := range words {
				want[i/(all/groups)*words+w] |= uint32(state[(9+w)*all+i])
			}
			for f := range met {
				met[f] += int(uint32(state[9*all+i]) >> f & 1)
			}
		}
	}
	got, err := found.bits.ReadUint32(t.Context())
	must(err)
	counts, err := found.Counts().ReadFloat32(t.Context())
	must(err)
	for g := range groups {
		sum := 0
		for w, v := range want[g*words:][:words] {
			if got[g*words+w] != v {
				t.Errorf("group %d, word %d: %b; want %b", g, w, got[g*words+w], v)
			}
			if sum += bits.OnesCount32(v); w == 0 && counts[g] != float32(sum) || w == words-1 && counts[groups+g] != float32(sum-bits.OnesCount32(want[g*words])) {
				t.Errorf("group %d: counts %v; want those of %b", g, counts, want)
			}
		}
	}
	for f, p := range mazeFaults {
		n := float64(2 * all)
		if d := math.Abs(float64(met[f])/n - p); d > 5*math.Sqrt(p*(1-p)/n)+0.05*p+1e-9 && p > 1e-4 {
			t.Errorf("fault %d: %d of %g episodes; want a share of %g", f, met[f], n, p)
		}
	}
	t.Logf("found %v, met %v in %d episodes", counts, met, 2*all)
}
