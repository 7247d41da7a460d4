package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/envs"
)

// echoSpec is of players that observe who they are, how often they have acted, and their last action.
func echoSpec() envs.Spec {
	return envs.Spec{Name: "Echo-v0", MaxSteps: 20, Observation: envs.Box([]float32{0, 0, -1}, []float32{1e6, 1e6, 5}), Action: envs.Discrete(5)}
}

// due is the action that is due for what a player observes.
func due(obs []float32) float32 { return float32((7*int(obs[0]) + 3*int(obs[1]) + int(obs[2])) % 5) }

// moment is a transition; the episode ended with it if how is not empty.
type moment struct {
	obs, next []float32
	action    float32
	reward    float32
	how       string
}

func newEcho(t *testing.T, cfg Config, n int) (*Controller, *stepper) {
	t.Helper()
	c, err := New(echoSpec(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, newStepper(c, n)
}

func newStep(n int) *envs.Step {
	return &envs.Step{Action: make([]float32, n), Last: make([]bool, n), Idle: make([]bool, n), Obs: make([]float32, 3*n), Final: make([]float32, 3*n),
		Reward: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n)}
}

// learner acts in the places of a stepper, and keeps the episodes by who played them.
type learner struct {
	st       *stepper
	s        *envs.Step
	episodes map[int][]moment
}

func begin(ctx context.Context, st *stepper) (*learner, error) {
	n := len(st.places)
	l := &learner{st: st, s: newStep(n), episodes: map[int][]moment{}}
	seeds := make([]uint32, n)
	for i := range seeds {
		seeds[i] = uint32(i + 1)
	}
	return l, st.Reset(ctx, nil, seeds, l.s.Obs)
}

func (l *learner) row(of []float32, i int) []float32 { return slices.Clone(of[3*i : 3*i+3]) }

// step takes a step, with a time limit for players whose number is a multiple of ten.
func (l *learner) step(ctx context.Context) error {
	s := l.s
	before := slices.Clone(s.Obs)
	for i := range s.Action {
		obs := l.row(before, i)
		s.Action[i], s.Last[i], s.Terminated[i], s.Truncated[i] = due(obs), int(obs[0])%10 == 0 && obs[1] == 2, false, false
	}
	if err := l.st.Step(ctx, s); err != nil {
		return err
	}
	for i := range s.Action {
		m := moment{obs: l.row(before, i), next: l.row(s.Obs, i), action: s.Action[i], reward: s.Reward[i]}
		if s.Ended(i) {
			m.next, m.how = l.row(s.Final, i), fmt.Sprint(s.Terminated[i], s.Truncated[i], s.Last[i])
		}
		if !s.Idle[i] {
			l.episodes[int(m.obs[0])] = append(l.episodes[int(m.obs[0])], m)
		}
		s.Idle[i] = s.Idle[i] || s.Stay && s.Ended(i)
	}
	return nil
}

// echoes plays matches with whoever claims, and keeps what the players did.
type echoes struct {
	t        *testing.T
	c        *Controller
	mu       sync.Mutex
	episodes map[int][]moment
	scripted int // actions of the script
}

// serve plays matches until the context ends.
func (e *echoes) serve(ctx context.Context) {
	var wait sync.WaitGroup
	defer wait.Wait()
	for id := 1; ; id++ {
		p, err := e.c.Claim(ctx)
		if err != nil {
			return
		}
		wait.Go(func() { e.match(ctx, p, id) })
	}
}

// match plays an episode: one of five ends by itself, one is truncated, and the others leave, unless a time limit ends it before.
func (e *echoes) match(ctx context.Context, p *Player, id int) {
	defer p.Leave()
	last := float32(-1)
	var all []moment
	for tick := range 9 {
		obs := []float32{float32(id), float32(tick), last}
		if tick > 0 {
			all[tick-1].next = obs
		}
		how, length := "", 2+id%4
		switch {
		case tick != length:
		case id%5 == 1:
			how = "true false false"
		case id%5 == 2:
			how = "false true false"
		}
		p.Reward(float32(tick) / 8)
		if how != "" {
			all[tick-1].how, all[tick-1].reward = how, float32(tick)/8
			if err := p.End(obs, how == "true false false"); err != nil {
				e.t.Error(err)
			}
			break
		}
		if tick == 4 && id%5 == 3 || tick == 8 {
			all[tick-1].how, all[tick-1].next = "false true false", all[tick-1].obs
			break // and leaves
		}
		if tick > 0 {
			all[tick-1].reward = float32(tick) / 8
		}
		action, err := p.Act(ctx, obs)
		if err != nil {
			return // the test is over
		}
		if !p.Learning() && action[0] == -3 { // a time limit: the game goes on by the script
			if tick == 0 {
				return // the test is over
			}
			all[tick-1].how = "false false true"
			e.mu.Lock()
			e.scripted++
			e.mu.Unlock()
			break
		}
		if len(action) != 1 || action[0] != due(obs) {
			e.t.Errorf("player %d, tick %d: %v; want %v", id, tick, action, due(obs))
		}
		last = action[0]
		all = append(all, moment{obs: obs, action: last})
	}
	e.mu.Lock()
	e.episodes[id] = all
	e.mu.Unlock()
}

// Every player is answered by the action for what it observes, and what a learner gets of an episode is what the player did, from its first observation to its
// end: by itself, by the game's truncation, by leaving and by a time limit of the learner.
func TestEcho(t *testing.T) {
	for _, stay := range []bool{false, true} {
		const n, steps = 6, 200
		c, st := newEcho(t, Config{Script: func(_, action []float32) { action[0] = -3 }}, n)
		ctx, end := context.WithCancel(t.Context())
		e := &echoes{t: t, c: c, episodes: map[int][]moment{}}
		var wait sync.WaitGroup
		wait.Go(func() { e.serve(ctx) })
		l, err := begin(ctx, st)
		if err != nil {
			t.Fatal(err)
		}
		l.s.Stay = stay
		for k := 0; k < steps && slices.Contains(l.s.Idle, false); k++ {
			if err := l.step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		end()
		wait.Wait()
		ended, ways := 0, map[string]int{}
		for id, got := range l.episodes {
			want := e.episodes[id]
			if how := got[len(got)-1].how; how != "" {
				ended++
				ways[how]++
			} else {
				continue // the run ended within it
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("player %d did %v; the learner has %v", id, want, got)
			}
		}
		if stay && ended != n || !stay && (ended < 100 || len(ways) != 3 || e.scripted == 0) {
			t.Errorf("stay %t: %d episodes ended, %v, %d by a time limit; want %d, or at least 100 in three ways", stay, ended, ways, e.scripted, n)
		}
	}
}

// A player that does not ask again until the deadline is cut off at what it observed last, and the others lose nothing; it goes on by the script, and
// another one has its place.
func TestDeadline(t *testing.T) {
	c, st := newEcho(t, Config{Script: func(_, action []float32) { action[0] = 4 }, Deadline: 50 * time.Millisecond}, 2)
	ctx := t.Context()
	var ids sync.Map // of learners' places to players
	late, over := make(chan error, 1), make(chan struct{})
	for id := 1; id <= 3; id++ {
		go func() {
			p, err := c.Claim(ctx)
			if err != nil {
				late <- err
				return
			}
			ids.Store(id, p)
			for tick := range 3 {
				action, err := p.Act(ctx, []float32{float32(id), float32(tick), -1})
				if err != nil {
					return // the test is over
				}
				if tick == 0 && id == 2 {
					<-over
				} else if id == 2 {
					if err := p.End([]float32{2, 2, 2}, true); p.Learning() || action[0] != 4 || err != nil {
						err = fmt.Errorf("after it was cut off: learning %t, action %v, %w", p.Learning(), action, err)
						late <- err
					}
					late <- nil
					return
				}
				p.Reward(1)
			}
		}()
		for range 1000 { // in order
			c.mu.Lock()
			free := len(c.waiters)
			c.mu.Unlock()
			if free == id {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	l, err := begin(ctx, st)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := l.step(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 50*time.Millisecond {
		t.Errorf("the step took %v; want the deadline, 50ms", took)
	}
	want := map[int][]moment{
		1: {{obs: []float32{1, 0, -1}, next: []float32{1, 1, -1}, action: due([]float32{1, 0, -1}), reward: 1}},
		2: {{obs: []float32{2, 0, -1}, next: []float32{2, 0, -1}, action: due([]float32{2, 0, -1}), how: "false true false"}},
	}
	if !reflect.DeepEqual(l.episodes, want) || !slices.Equal(l.row(l.s.Obs, 1), []float32{3, 0, -1}) {
		t.Errorf("%v, then %v; want %v", l.episodes, l.s.Obs, want)
	}
	close(over)
	if err := <-late; err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// Players without a learner act by the script, at once; without one it is an error. A learner whose places nobody claims ends with an error. A player whose
// patience ends goes on by the script. Misuse is refused.
func TestWithoutLearner(t *testing.T) {
	ctx := t.Context()
	c, st := newEcho(t, Config{
		Script: func(obs, action []float32) { action[0] = obs[1] + 1 }, ClaimTimeout: 30 * time.Millisecond, Patience: 20 * time.Millisecond,
	}, 1)
	p := c.Join()
	for tick := range 3 {
		if action, err := p.Act(ctx, []float32{0, float32(tick), 0}); err != nil || action[0] != float32(tick+1) || p.Learning() {
			t.Errorf("tick %d: %v, %v", tick, action, err)
		}
	}
	if err := p.End([]float32{0, 3, 0}, true); err != nil {
		t.Error(err)
	}
	if _, err := p.Act(ctx, []float32{0, 0, 0}); !errors.Is(err, ErrOrder) {
		t.Errorf("after the end: %v", err)
	}
	for what, ask := range map[string]func(p *Player) error{
		"size":   func(p *Player) error { return p.Ask([]float32{1, 2}) },
		"number": func(p *Player) error { return p.Ask([]float32{1, 2, float32(math.NaN())}) },
		"twice":  func(p *Player) error { return errors.Join(p.Ask([]float32{1, 2, 3}), p.Ask([]float32{1, 2, 3})) },
		"end":    func(p *Player) error { return errors.Join(p.Ask([]float32{1, 2, 3}), p.End([]float32{1, 2, 3}, true)) },
	} {
		if err := ask(c.Join()); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	_, err := begin(ctx, st)
	var of *envs.OutsideError
	if !errors.As(err, &of) || !strings.Contains(err.Error(), "no player has claimed its place within 30ms") {
		t.Errorf("unclaimed: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = newStepper(c, 1)
	acted := make(chan float32, 1)
	go func() {
		p, err := c.Claim(ctx)
		if err != nil {
			return
		}
		action, err := p.Act(ctx, []float32{1, 0, 0}) // nobody steps
		if err == nil && !p.Learning() {
			acted <- action[0]
		}
	}()
	if _, err := begin(ctx, st); err != nil {
		t.Fatal(err)
	}
	if a := <-acted; a != 1 {
		t.Errorf("after patience: %v; want the script's 1", a)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	c, _ = newEcho(t, Config{}, 1)
	if _, err := c.Join().Act(ctx, []float32{0, 0, 0}); !errors.Is(err, ErrNoLearner) {
		t.Errorf("no script: %v", err)
	}
	waits, end := context.WithTimeout(ctx, 10*time.Millisecond)
	defer end()
	if _, err := c.Claim(waits); !errors.Is(err, context.DeadlineExceeded) || len(c.waiters) != 0 {
		t.Errorf("nobody offers a place: %v, %d wait", err, len(c.waiters))
	}
	spec := echoSpec()
	spec.Saved = 4
	if _, err := New(spec, Config{}); err == nil {
		t.Error("saved players are not refused")
	}
}
