package envs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Elements of SlimeVolley's state: x, y, vx, vy of the left player, the right one and the ball, and others.
const slimeRight, slimeBall, slimeHeld, slimeLeftLives, slimeSeen, slimeElements = 4, 8, 12, 13, 15, 27

// slimeState is a state with the left player's x, y and vy, the right player's, the ball's x, y, vx and vy, and what is seen of it.
func slimeState(left, right [3]float64, ball [4]float64) []float64 {
	s := []float64{left[0], left[1], 0, left[2], right[0], right[1], 0, right[2], ball[0], ball[1], ball[2], ball[3], 0, 5, 5}
	return append(s, s[:12]...)
}

// slimeStep is a step by the rules, in float64: it changes the state but for the ball that is served after a score, and returns the right player's reward.
// near is how far the nearest condition that changes the state is from changing sides.
func slimeStep(s []float64, actions [2]int) (reward, near float64) {
	const dt, gravity, gap, ground = 1. / 30, -29.4, 1. / 300, 1.5
	near = math.Inf(1)
	within := func(difference float64) bool { // difference <= 0
		near = min(near, math.Abs(difference))
		return difference <= 0
	}
	flip := func(i int, to float64) { s[slimeBall+i], s[slimeBall+2+i] = to, -s[slimeBall+2+i] }
	for player, action := range actions {
		p, side := s[4*player:4*player+4], float64(2*player-1)
		p[3] += gravity * dt
		if p[1] == ground || within(p[1]-ground-gap) {
			p[3] = 0
			if action >= 2 && action <= 4 {
				p[3] = 13.5
			}
		}
		p[2] = side * []float64{0, -17.5, -17.5, 0, 17.5, 17.5}[action]
		p[0] += p[2] * dt
		p[1] += p[3] * dt
		if p[3] == 0 || within(p[1]-ground) {
			p[1], p[3] = ground, 0
		}
		if moves := p[2] != 0; moves {
			if within(side*p[0] - 2) {
				p[0], p[2] = side*2, 0
			}
			if within(22.5 - side*p[0]) {
				p[0], p[2] = side*22.5, 0
			}
		}
	}
	ball := s[slimeBall : slimeBall+4]
	before := ball[0]
	if s[slimeHeld] > 0 {
		s[slimeHeld]--
	} else {
		ball[3] += gravity * dt
		if v := math.Hypot(ball[2], ball[3]); v > 22.5 {
			ball[2], ball[3] = ball[2]/v*22.5, ball[3]/v*22.5
		}
		ball[0] += ball[2] * dt
		ball[1] += ball[3] * dt
	}
	for _, disc := range [][5]float64{{s[0], s[1], s[2], s[3], 1.5}, {s[4], s[5], s[6], s[7], 1.5}, {0, 3.5, 0, 0, 0.5}} {
		reach := disc[4] + 0.5
		x, y := ball[0]-disc[0], ball[1]-disc[1]
		d := math.Hypot(x, y)
		if within(reach - d) {
			continue
		}
		x, y = x/d, y/d
		for !within(reach - math.Hypot(ball[0]-disc[0], ball[1]-disc[1])) {
			ball[0] += 0.1 * x
			ball[1] += 0.1 * y
		}
		u, v := ball[2]-disc[2], ball[3]-disc[3]
		along := u*x + v*y
		ball[2], ball[3] = u-2*along*x+disc[2], v-2*along*y+disc[3]
	}
	if within(ball[0] + 23.5) {
		flip(0, -23.5+gap)
	}
	if within(23.5 - ball[0]) {
		flip(0, 23.5-gap)
	}
	switch {
	case within(ball[1] - 2):
		reward = -1
		if within(ball[0]) {
			reward = 1
			s[slimeLeftLives]--
		} else {
			s[slimeLeftLives+1]--
		}
		s[slimeHeld] = 30
		return reward, near
	case within(47.5 - ball[1]):
		flip(1, 47.5-gap)
	}
	if ball[1] <= 3.5 && ball[0] <= 1 && before > 1 {
		flip(0, 1+gap)
	}
	if ball[1] <= 3.5 && ball[0] >= -1 && before < -1 {
		flip(0, -1-gap)
	}
	for _, distance := range []float64{ball[0] - 1, ball[0] + 1, before - 1, before + 1} {
		if ball[1] < 3.51 {
			within(distance)
		}
	}
	if math.Abs(ball[0]) < 1.1 {
		within(ball[1] - 3.5)
	}
	copy(s[slimeSeen:], s[:12])
	return 0, near
}

// slimeObserve is what the seats see of a state.
func slimeObserve(s []float64) (obs []float64) {
	left, right, ball := s[slimeSeen:], s[slimeSeen+4:], s[slimeSeen+8:]
	for seat, side := range []float64{-1, 1} {
		for _, part := range []struct {
			of   []float64
			side float64
		}{{[][]float64{left, right}[seat], side}, {ball, side}, {[][]float64{right, left}[seat], -side}} {
			obs = append(obs, part.side*part.of[0]/10, part.of[1]/10, part.side*part.of[2]/10, part.of[3]/10)
		}
	}
	return obs
}

func float32s(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

func float64s(x []float32) (y []float64) {
	for _, v := range x {
		y = append(y, float64(v))
	}
	return y
}

// slimeTolerance is 2e-5, and of velocities 2e-6 of the largest that there is.
func slimeTolerance(element int, want float64) float64 {
	if velocity := element < slimeHeld && element%4 >= 2 || element >= slimeSeen && (element-slimeSeen)%4 >= 2; velocity {
		return 2e-6 * 56
	}
	return 2e-5 * max(1, math.Abs(want))
}

// slimeClose fails if rows differ. The ball that is served after a score is not compared, but in range.
func slimeClose(t *testing.T, what string, state []float32, obs []float32, want, seen []float64, scored bool) {
	t.Helper()
	for i, got := range state {
		served := scored && i >= slimeBall && i < slimeHeld
		limits := [][2]float64{{0, 0}, {12, 12}, {-20, 20}, {10, 25}}
		if served && !(float64(got) >= limits[i-slimeBall][0] && float64(got) <= limits[i-slimeBall][1]) {
			t.Fatalf("%s: element %d is served as %v; want %v", what, i, got, limits[i-slimeBall])
		}
		if d := math.Abs(float64(got) - want[i]); !served && !(d <= slimeTolerance(i, want[i])) {
			t.Fatalf("%s: element %d is %v; want %v", what, i, got, want[i])
		}
	}
	for i, got := range obs {
		if d := math.Abs(float64(got) - seen[i]); !(d <= slimeTolerance(i, seen[i])) {
			t.Fatalf("%s: sees %v at %d; want %v", what, got, i, seen[i])
		}
	}
}

// TestSlimeVolley repeats steps of the package slimevolleygym by the rules in float64 and on the device, between two seats and against the script.
func TestSlimeVolley(t *testing.T) {
	data, dev := readArrays(t, "SlimeVolley"), open(t)
	before, action, script := data["before.npy"], data["action.npy"], data["script.npy"]
	after, seen, reward := data["after.npy"], data["obs.npy"], data["reward.npy"]
	scores, left := 0, 0
	var decided []int // rows in which no condition is within rounding of changing sides
	for i, s := range before {
		s = slices.Clone(s)
		paid, near := slimeStep(s, [2]int{int(action[i][0]), int(action[i][1])})
		if near < 1e-5 {
			left++
			continue
		}
		decided = append(decided, i)
		if paid != reward[i][0] {
			t.Fatalf("row %d: the rules pay %v; want %v", i, paid, reward[i][0])
		}
		obs := float32s(slimeObserve(s))
		if paid != 0 {
			scores++
			copy(s[slimeBall:], []float64{0, 12, 0, 20})
		}
		slimeClose(t, "the rules", float32s(s[:slimeElements]), obs, after[i], seen[i], paid != 0)
	}
	// A player that takes a step away from the fence and one back is at the fence but for rounding.
	if t.Logf("%d steps, %d scores, %d left out", len(before), scores, left); scores < 10 || 30*left > len(before) {
		t.Error("want more scores and fewer left out")
	}
	duel, single := lookup(t, "SlimeVolleyDuel-v0"), lookup(t, "SlimeVolley-v0")
	var states, memories, both, own [][]float64
	for _, i := range decided {
		states, memories = append(states, before[i][:slimeElements]), append(memories, before[i])
		both, own = append(both, action[i]), append(own, action[i][1:])
	}
	got, obs, paid := poolStep(t, dev, duel, states, both)
	for e, i := range decided {
		slimeClose(t, "two seats", got[e][:slimeElements], obs[24*e:24*e+24], after[i], seen[i], reward[i][0] != 0)
		if float64(paid[2*e+1]) != reward[i][0] || float64(paid[2*e]) != -reward[i][0] {
			t.Fatalf("row %d pays %v; want %v for the right player", i, paid[2*e:2*e+2], reward[i][0])
		}
	}
	got, obs, paid = poolStep(t, dev, single, memories, own)
	scripted := 0
	for e, i := range decided {
		for k, memory := range got[e][slimeElements:] {
			if want := after[i][slimeElements+k]; math.Abs(float64(memory)-want) > 1e-4 {
				t.Fatalf("row %d: the script keeps %v at %d; want %v", i, memory, k, want)
			}
		}
		if script[i][0] != action[i][0] {
			continue
		}
		scripted++
		slimeClose(t, "against the script", got[e][:slimeElements], obs[12*e:12*e+12], after[i], seen[i][12:], reward[i][0] != 0)
		if float64(paid[e]) != reward[i][0] {
			t.Fatalf("row %d pays %v; want %v", i, paid[e], reward[i][0])
		}
	}
	if scripted < 200 {
		t.Errorf("%d steps of the script; want 200", scripted)
	}
}

// TestSlimeVolleyRules steps worlds with random actions, each step by the rules in float64 from the device's state.
func TestSlimeVolleyRules(t *testing.T) {
	const worlds, steps = 32, 240
	env, dice := lookup(t, "SlimeVolleyDuel-v0"), rand.New(rand.NewPCG(3, 1))
	g := newGiven(t, open(t), env, worlds)
	var states [][]float64
	for e := range worlds { // of each four balls, three are at the height of the fence and beside it
		x, y := 16*dice.Float64()-8, 3+9*dice.Float64()
		if e%4 > 0 {
			x, y = 1.5*float64(1-2*(e%2))+0.4*dice.Float64(), 2.5+2*dice.Float64()
		}
		s := slimeState([3]float64{-2 - 20*dice.Float64(), 1.5}, [3]float64{2 + 20*dice.Float64(), 1.5},
			[4]float64{x, y, math.Copysign(6+14*dice.Float64(), -x), 20*dice.Float64() - 10})
		s[slimeHeld], s[slimeLeftLives], s[slimeLeftLives+1] = float64(dice.IntN(6)), 1000, 1000
		states = append(states, s)
	}
	g.set(states)
	actions := make([]int, 2*worlds)
	left, events := 0, map[string]int{}
	for range steps {
		for i := range actions {
			if dice.Float64() < 0.2 {
				actions[i] = dice.IntN(6)
			}
		}
		before := g.states()
		g.act(actions)
		after, obs, paid := g.states(), g.floats(g.ro.NextObs), g.floats(g.ro.Reward)
		for e := range worlds {
			s := float64s(before[e])
			reward, near := slimeStep(s, [2]int{actions[2*e], actions[2*e+1]})
			switch x := before[e][slimeBall]; {
			case reward != 0:
				events["scores"]++
			case before[e][slimeHeld] > 0:
				events["held"]++
			case math.Abs(float64(x)) < 3 && before[e][slimeBall+1] < 4.5 && float64(before[e][slimeBall+2])*s[slimeBall+2] < 0:
				events["fence"]++
			case before[e][slimeBall+2] != after[e][slimeBall+2]:
				events["turns"]++
			}
			if near < 1e-5 {
				left++
				continue
			}
			slimeClose(t, "a step", after[e][:slimeElements], obs[24*e:24*e+24], s, slimeObserve(s), reward != 0)
			if float64(paid[2*e+1]) != reward || float64(paid[2*e]) != -reward {
				t.Fatalf("pays %v; want %v for the right player", paid[2*e:2*e+2], reward)
			}
		}
	}
	t.Logf("%d steps: %v, %d left out", worlds*steps, events, left)
	if events["scores"] < 50 || events["held"] < 500 || events["fence"] < 15 || events["turns"] < 100 || 30*left > worlds*steps {
		t.Error("want more events and fewer left out")
	}
}

// TestSlimeVolleyEdges: what happens at edges, computed by hand.
func TestSlimeVolleyEdges(t *testing.T) {
	const dt, gap = 1. / 30, 1. / 300
	far, away := [3]float64{-12, 1.5}, [3]float64{12, 1.5}
	held := func(s []float64, steps float64) []float64 {
		s[slimeHeld] = steps
		return s
	}
	lives := func(s []float64, left, right float64) []float64 {
		s[slimeLeftLives], s[slimeLeftLives+1] = left, right
		return s
	}
	still := 29.4 * dt // upwards, of a ball that gravity stops in this step
	cases := []struct {
		name    string
		state   []float64
		actions [2]int
		want    map[int]float64 // elements after the step
		reward  float64         // of the right player
		over    bool
	}{
		{"forward", slimeState(far, away, [4]float64{0, 20, 0, 0}), [2]int{1, 1},
			map[int]float64{0: -12 + 17.5*dt, 2: 17.5, 4: 12 - 17.5*dt, 6: -17.5, 3: 0, 11: -still}, 0, false},
		{"backward and jump", slimeState(far, away, [4]float64{0, 20, 0, 0}), [2]int{4, 4},
			map[int]float64{0: -12 - 17.5*dt, 1: 1.5 + 13.5*dt, 3: 13.5, 4: 12 + 17.5*dt, 5: 1.5 + 13.5*dt, 7: 13.5}, 0, false},
		{"no jump in the air", slimeState([3]float64{-12, 2, 1}, away, [4]float64{0, 20, 0, 0}), [2]int{3, 0},
			map[int]float64{1: 2 + (1-still)*dt, 3: 1 - still}, 0, false},
		{"a jump just above the ground", slimeState([3]float64{-12, 1.503, -9}, away, [4]float64{0, 20, 0, 0}), [2]int{3, 0},
			map[int]float64{1: 1.503 + 13.5*dt, 3: 13.5}, 0, false},
		{"lands", slimeState([3]float64{-12, 1.6, -9}, away, [4]float64{0, 20, 0, 0}), [2]int{3, 0}, map[int]float64{1: 1.5, 3: 0}, 0, false},
		{"the fence stops players", slimeState([3]float64{-2.5, 1.5}, [3]float64{2.5, 1.5}, [4]float64{0, 20, 0, 0}), [2]int{1, 1},
			map[int]float64{0: -2, 2: 0, 4: 2, 6: 0}, 0, false},
		{"walls stop players", slimeState([3]float64{-22, 1.5}, [3]float64{22, 1.5}, [4]float64{0, 20, 0, 0}), [2]int{5, 5},
			map[int]float64{0: -22.5, 2: 0, 4: 22.5, 6: 0}, 0, false},
		{"the ball is held", held(slimeState(far, away, [4]float64{0, 12, 3, 4}), 2), [2]int{0, 1},
			map[int]float64{4: 12 - 17.5*dt, 8: 0, 9: 12, 10: 3, 11: 4, slimeHeld: 1}, 0, false},
		{"the last step that it is held", held(slimeState(far, away, [4]float64{0, 12, 3, 4}), 1), [2]int{0, 0},
			map[int]float64{8: 0, 9: 12, 10: 3, 11: 4, slimeHeld: 0}, 0, false},
		{"the ball's speed is limited", slimeState(far, away, [4]float64{0, 20, 30, 40 + still}), [2]int{0, 0},
			map[int]float64{8: 13.5 * dt, 9: 20 + 18*dt, 10: 13.5, 11: 18}, 0, false},
		{"the left wall", slimeState(far, away, [4]float64{-23.4, 20, -6, still}), [2]int{0, 0}, map[int]float64{8: -23.5 + gap, 9: 20, 10: 6, 11: 0}, 0, false},
		{"the right wall", slimeState(far, away, [4]float64{23.4, 20, 6, still}), [2]int{0, 0}, map[int]float64{8: 23.5 - gap, 9: 20, 10: -6, 11: 0}, 0, false},
		{"the ceiling", slimeState(far, away, [4]float64{5, 47.4, 3, 9 + still}), [2]int{0, 0}, map[int]float64{8: 5 + 3*dt, 9: 47.5 - gap, 10: 3, 11: -9}, 0, false},
		{"the fence from the right", slimeState(far, away, [4]float64{1.1, 2.4, -6, still}), [2]int{0, 0},
			map[int]float64{8: 1 + gap, 9: 2.4, 10: 6, 11: 0}, 0, false},
		{"the fence from the left", slimeState(far, away, [4]float64{-1.1, 2.4, 6, still}), [2]int{0, 0},
			map[int]float64{8: -1 - gap, 9: 2.4, 10: -6, 11: 0}, 0, false},
		{"over the fence", slimeState(far, away, [4]float64{1.1, 4.6, -6, still}), [2]int{0, 0}, map[int]float64{8: 0.9, 9: 4.6, 10: -6, 11: 0}, 0, false},
		// Straight down onto the stub: 0.85 from its centre is pushed to 1.05, and turned.
		{"the stub", slimeState(far, away, [4]float64{0, 4.45, 0, -3 + still}), [2]int{0, 0}, map[int]float64{8: 0, 9: 4.55, 10: 0, 11: 3}, 0, false},
		{"a player's head", slimeState([3]float64{-12, 1.5}, away, [4]float64{-12, 3.45, 0, -3 + still}), [2]int{0, 0},
			map[int]float64{8: -12, 9: 3.55, 11: 3}, 0, false},
		// A player that moves gives the ball twice its speed.
		{"a player that jumps", slimeState([3]float64{-12, 1.5}, away, [4]float64{-12, 3.88, 0, -3 + still}), [2]int{3, 0},
			map[int]float64{8: -12, 9: 3.98, 11: 3 + 2*13.5}, 0, false},
		{"a player that runs", slimeState(far, [3]float64{4.9, 3, still}, [4]float64{2.45, 3, 0, still}), [2]int{0, 1},
			map[int]float64{4: 4.9 - 17.5*dt, 5: 3, 8: 2.25, 9: 3, 10: -35, 11: 0}, 0, false},
		// On its way out the ball is turned inwards.
		{"a ball that leaves a player", slimeState(far, away, [4]float64{-12, 3.17, 0, 6 + still}), [2]int{0, 0}, map[int]float64{9: 3.57, 11: -6}, 0, false},
		{"right scores", slimeState(far, away, [4]float64{-5, 2.1, 1, -9}), [2]int{0, 1},
			map[int]float64{8: 0, 9: 12, slimeHeld: 30, 13: 4, 14: 5, 4: 12 - 17.5*dt, slimeSeen + 4: 12, slimeSeen + 8: -5, slimeSeen + 9: 2.1}, 1, false},
		{"left scores", slimeState(far, away, [4]float64{5, 2.1, 1, -9}), [2]int{0, 0}, map[int]float64{8: 0, 9: 12, slimeHeld: 30, 13: 5, 14: 4}, -1, false},
		{"the left player's last life", lives(slimeState(far, away, [4]float64{-5, 2.1, 1, -9}), 1, 1), [2]int{0, 0}, map[int]float64{13: 0, 14: 1}, 1, true},
		{"the right player's last life", lives(slimeState(far, away, [4]float64{5, 2.1, 1, -9}), 2, 1), [2]int{0, 0}, map[int]float64{13: 2, 14: 0}, -1, true},
	}
	env := lookup(t, "SlimeVolleyDuel-v0")
	g := newGiven(t, open(t), env, len(cases))
	var states [][]float64
	var actions []int
	for _, c := range cases {
		states, actions = append(states, c.state), append(actions, c.actions[:]...)
	}
	g.set(states)
	g.act(actions)
	after, reward, done := g.states(), g.floats(g.ro.Reward), g.words(g.ro.Done)
	for e, c := range cases {
		for i, want := range c.want {
			if d := math.Abs(float64(after[e][i]) - want); d > 2e-5 {
				t.Errorf("%s: %s is %v; want %v", c.name, env.State[i], after[e][i], want)
			}
		}
		if float64(reward[2*e+1]) != c.reward || float64(reward[2*e]) != -c.reward || (Done(done[2*e]) == Terminated) != c.over {
			t.Errorf("%s: rewards %v, flags %v; want %v, %t", c.name, reward[2*e:2*e+2], done[2*e], c.reward, c.over)
		}
	}
}

// TestSlimeVolleyOptions: lives, the steps that a ball is held, and an opponent that acts at random.
func TestSlimeVolleyOptions(t *testing.T) {
	dev := open(t)
	endless, err := lookup(t, "SlimeVolleyDuel-v0").With(SlimeVolleyOptions{Freeze: 7})
	if err != nil {
		t.Fatal(err)
	}
	s := slimeState([3]float64{-12, 1.5}, [3]float64{12, 1.5}, [4]float64{-5, 2.1, 1, -9})
	s[slimeLeftLives] = 1
	g := newGiven(t, dev, endless, 1)
	g.set([][]float64{s})
	g.act([]int{0, 0})
	if after := g.states()[0]; after[slimeHeld] != 7 || after[slimeLeftLives] != 0 || g.words(g.ro.Done)[0] != 0 {
		t.Errorf("without lives a point leads to %v, flags %v; want a ball held for 7 steps, and no end", after, g.words(g.ro.Done))
	}
	random, err := lookup(t, "SlimeVolley-v0").With(SlimeVolleyScriptOptions{Lives: 5, Freeze: 30, Random: 1})
	if err != nil {
		t.Fatal(err)
	}
	var states, actions [][]float64
	for range 600 {
		s := slimeState([3]float64{-12, 1.5}, [3]float64{12, 1.5}, [4]float64{0, 20, 0, 0})
		states, actions = append(states, append(s, make([]float64, 7)...)), append(actions, []float64{0})
	}
	ways := map[[2]float32]int{}
	after, _, _ := poolStep(t, dev, random, states, actions)
	for _, s := range after {
		ways[[2]float32{s[2], s[3]}]++
	}
	for way, n := range ways {
		if n < 60 || len(ways) != 6 {
			t.Errorf("a random opponent goes %v in %d of 600 steps, of %d ways; want one of 6 in about 100", way, n, len(ways))
		}
	}
}
