package rl

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// stayEcho is an environment that the host steps, whose state cannot move. A world observes the number of its Stepper, its own in that, its steps in all, its
// episodes, the step of the episode and the action before: stayScale has their units. The b-th episode ends after 3 + (Stepper + world + b) mod 3 steps, by
// termination if b is even, else by truncation. The reward is 1 for the action (step of the episode) mod 3, and 0 for others.
type stayEcho struct {
	t   *testing.T
	env *envs.Environment

	mu    sync.Mutex
	made  []*stayStepper
	seeds map[uint32]uint32 // by a seed of Reset, that of the Steppers which were given it
}

const staySize = 6

var stayScale = [staySize]float32{256, 64, 4096, 1024, 8, 4}

type stayRow [staySize]float32

const (
	stayMaker = iota
	stayWorld
	staySteps
	stayEpisodes
	stayStep
	stayAction
)

var errBroken = errors.New("the stepper is broken")

// newStayEcho returns the environment. At the end of the test all of its Steppers must be closed.
func newStayEcho(t *testing.T) *stayEcho {
	t.Helper()
	e := &stayEcho{t: t, seeds: map[uint32]uint32{}}
	low, high := make([]float32, staySize), make([]float32, staySize)
	for i := range low {
		low[i], high[i] = -1, 1
	}
	var err error
	e.env, err = envs.NewOutside(envs.Spec{Name: "Stay-v0", Observation: envs.Box(low, high), Action: envs.Discrete(3), MaxSteps: 8},
		func(_ context.Context, n int, seed uint32) (envs.Stepper, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			s := &stayStepper{echo: e, number: len(e.made), seed: seed, rows: make([]stayRow, n), order: make(chan func() error, 1)}
			e.made = append(e.made, s)
			return s, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := e.open(); n != 0 {
			t.Errorf("%d of %d steppers are not closed", n, len(e.made))
		}
	})
	return e
}

// open returns how many Steppers there are.
func (e *stayEcho) open() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.made {
		if !s.closed {
			n++
		}
	}
	return n
}

type stayStepper struct {
	echo   *stayEcho
	number int
	seed   uint32
	rows   []stayRow
	order  chan func() error // what the next step does first
	closed bool
}

func (s *stayStepper) observe(i int, obs []float32) {
	for k, v := range s.rows[i] {
		obs[i*staySize+k] = v / stayScale[k]
	}
}

// begin begins the next episode.
func (r *stayRow) begin() { r[stayEpisodes], r[stayStep], r[stayAction] = r[stayEpisodes]+1, 0, -1 }

// step takes a step.
func (r *stayRow) step(action float32) (reward float32, done envs.Done) {
	if int(action) == int(r[stayStep])%3 {
		reward = 1
	}
	r[staySteps], r[stayStep], r[stayAction] = r[staySteps]+1, r[stayStep]+1, action
	if of := int(r[stayEpisodes]); int(r[stayStep]) == 3+(int(r[stayMaker])+int(r[stayWorld])+of)%3 {
		done = envs.Terminated << (of % 2)
	}
	return reward, done
}

func (s *stayStepper) Reset(_ context.Context, which []bool, seeds []uint32, obs []float32) error {
	for i := range s.rows {
		if which != nil && !which[i] {
			continue
		}
		s.echo.mu.Lock()
		if of, there := s.echo.seeds[seeds[i]]; there && of != s.seed {
			s.echo.t.Errorf("an episode has the seed %d in two parts", seeds[i])
		}
		s.echo.seeds[seeds[i]] = s.seed
		s.echo.mu.Unlock()
		s.rows[i][stayMaker], s.rows[i][stayWorld] = float32(s.number), float32(i)
		s.rows[i].begin()
		s.observe(i, obs)
	}
	return nil
}

func (s *stayStepper) Step(_ context.Context, st *envs.Step) error {
	select {
	case order := <-s.order:
		if err := order(); err != nil {
			return err
		}
	default:
	}
	for i := range s.rows {
		if st.Idle[i] {
			continue
		}
		var done envs.Done
		st.Reward[i], done = s.rows[i].step(st.Action[i])
		st.Terminated[i], st.Truncated[i] = done == envs.Terminated, done == envs.Truncated
		if s.observe(i, st.Obs); !st.Ended(i) {
			continue
		}
		s.observe(i, st.Final)
		if !st.Stay {
			s.rows[i].begin()
			s.observe(i, st.Obs)
		}
	}
	return nil
}

func (s *stayStepper) Close() error {
	s.echo.mu.Lock()
	defer s.echo.mu.Unlock()
	if s.closed {
		s.echo.t.Errorf("stepper %d is closed twice", s.number)
	}
	s.closed = true
	return nil
}

// stayLane is what is known of an environment of the learner's.
type stayLane struct {
	row  stayRow // to act on next
	last map[float32]stayRow
}

// stayCheck compares what reaches a learner with what the worlds do.
type stayCheck struct {
	echo           *stayEcho
	members, parts int
	lanes          []*stayLane
	seeds          map[int]uint32           // of the Steppers of a part
	midway         bool                     // the first trajectory goes on in episodes
	anyone         map[[2]float32]*stayLane // by Stepper and world, if any part comes anywhere, and some are dropped; nil: they come in order
	moves          int                      // of an environment to other episodes, which do not continue the ones before
}

func (e *stayEcho) check(members, environments, parts int) *stayCheck {
	c := &stayCheck{echo: e, members: members, parts: parts, seeds: map[int]uint32{}}
	for range members * environments {
		c.lanes = append(c.lanes, &stayLane{})
	}
	return c
}

func stayRowOf(obs []float32) (r stayRow) {
	for i := range r {
		r[i] = obs[i] * stayScale[i]
	}
	return r
}

// trajectory compares the transitions of an iteration.
func (c *stayCheck) trajectory(of *envs.Trajectory) {
	t := c.echo.t
	t.Helper()
	read := func(x *engine.Tensor) []float32 {
		v, err := x.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	obs, action, reward, next := read(of.Obs), read(of.Action), read(of.Reward), read(of.NextObs)
	done, err := of.Done.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range reward { // [T, M, E], one environment after the other: a world may be in two places, with trajectories that follow each other
		horizon := len(reward) / len(c.lanes)
		e, k := i/horizon, i%horizon*len(c.lanes)+i/horizon
		row := func(of []float32) stayRow { return stayRowOf(of[k*staySize : (k+1)*staySize]) }
		if c.anyone != nil && k < len(c.lanes) {
			c.arrives(e, row(obs))
		}
		lane := c.lanes[e]
		if got := row(obs); lane.last == nil || got != lane.row {
			c.begins(e, got, k < len(c.lanes))
		}
		lane.last[lane.row[stayMaker]] = lane.row
		wantReward, wantDone := lane.row.step(action[k])
		if reward[k] != wantReward || envs.Done(done[k]) != wantDone || row(next) != lane.row {
			t.Fatalf("step %d, environment %d, action %v: reward %v, done %d, then %v; want %v, %d, %v", k/len(c.lanes), e, action[k],
				reward[k], done[k], row(next), wantReward, wantDone, lane.row)
		}
		if wantDone != 0 {
			lane.row.begin()
		}
	}
}

// arrives finds the world whose trajectory is in the place of an environment.
func (c *stayCheck) arrives(e int, row stayRow) {
	of := [2]float32{row[stayMaker], row[stayWorld]}
	if c.anyone[of] == nil {
		c.anyone[of] = &stayLane{}
	}
	c.lanes[e] = c.anyone[of]
}

// begins notes that an environment does not go on as it was: another one, or another episode of it, is in its place, which may be at the beginning of a
// trajectory alone.
func (c *stayCheck) begins(e int, row stayRow, first bool) {
	t, lane := c.echo.t, c.lanes[e]
	t.Helper()
	each := len(c.lanes) / c.members / c.parts
	member, part := e*c.members/len(c.lanes), e/each%c.parts
	c.echo.mu.Lock()
	defer c.echo.mu.Unlock()
	maker := c.echo.made[int(row[stayMaker])]
	if _, there := c.seeds[part]; !there || c.anyone != nil {
		c.seeds[part] = maker.seed
	}
	before, again := lane.last[row[stayMaker]]
	begins := row[stayStep] == 0 && row[stayAction] == -1 || c.midway && lane.last == nil || c.anyone != nil // those between may be dropped
	switch {
	case !first || !begins:
		t.Fatalf("environment %d: %v after %v, whose episode goes on", e, row, lane.row)
	case maker.seed != c.seeds[part] || len(maker.rows) != c.members*each || int(row[stayWorld]) != member*each+e%each:
		t.Fatalf("environment %d of member %d, part %d: %v of a stepper of %d worlds with the seed %d; want world %d of one of %d with the seed %d", e, member, part,
			row, len(maker.rows), maker.seed, member*each+e%each, c.members*each, c.seeds[part])
	case again && (row[staySteps] < before[staySteps] || c.anyone == nil && row[stayEpisodes] <= before[stayEpisodes]):
		t.Fatalf("environment %d: %v comes after %v", e, row, before)
	}
	if lane.last == nil {
		lane.last = map[float32]stayRow{}
	} else {
		c.moves++
	}
	lane.row = row
}

// distinct checks that the parts have Steppers of different seeds.
func (c *stayCheck) distinct() {
	var all []uint32
	for _, seed := range c.seeds {
		if slices.Contains(all, seed) {
			c.echo.t.Errorf("the seeds of the parts' steppers are %v; want different ones", c.seeds)
		}
		all = append(all, seed)
	}
}
