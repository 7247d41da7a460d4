package envs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// echo is a batch whose observations say which environment, step of the run, step of the episode and action they follow. Episodes of environment i
// end after 3 + i mod 4 steps, in turn by termination and truncation. The reward is the step of the run and a tenth of the action.
type echo struct {
	n       int
	steps   []int // of the run
	episode []int // its steps
	ended   []int // episodes
	resets  int
	closed  int
	broken  int // environment whose observation is not a number at step 2; -1: none
	failsAt int // step of the run; 0: never
}

var errEcho = errors.New("environment 3 does not answer")

const echoSize = 4

func (e *echo) row(i int, action float32) []float32 {
	return []float32{float32(i), float32(e.steps[i]), float32(e.episode[i]), action}
}

func (e *echo) Reset(_ context.Context, which []bool, seeds []uint32, obs []float32) error {
	e.resets++
	for i := range e.n {
		if which == nil || which[i] {
			e.episode[i] = 0
			copy(obs[i*echoSize:], e.row(i, -1))
		}
	}
	return nil
}

func (e *echo) Step(_ context.Context, s *Step) error {
	for i := range e.n {
		if s.Idle[i] {
			continue
		}
		a := s.Action[i]
		e.steps[i]++
		e.episode[i]++
		if e.steps[i] == e.failsAt {
			return errEcho
		}
		s.Reward[i] = float32(e.steps[i]) + a/10
		now := e.row(i, a)
		if i == e.broken && e.steps[i] == 2 {
			now[3] = float32(math.NaN())
		}
		if e.episode[i] == 3+i%4 {
			s.Terminated[i], s.Truncated[i] = e.ended[i]%2 == 0, e.ended[i]%2 == 1
		}
		if s.Ended(i) {
			e.ended[i]++
			copy(s.Final[i*echoSize:], now)
			if e.episode[i] = 0; !s.Stay {
				copy(s.Obs[i*echoSize:], e.row(i, -1))
			}
			continue
		}
		copy(s.Obs[i*echoSize:], now)
	}
	return nil
}

func (e *echo) Close() error {
	e.closed++
	return nil
}

func newEcho(n int) *echo {
	return &echo{n: n, steps: make([]int, n), episode: make([]int, n), ended: make([]int, n), broken: -1}
}

func echoEnvironment(t *testing.T, action Space, steppers ...*echo) *Environment {
	t.Helper()
	next := 0
	low, high := slices.Repeat([]float32{-1e6}, echoSize), slices.Repeat([]float32{1e6}, echoSize)
	env, err := NewOutside(Spec{Name: "Echo-v0", Observation: Box(low, high), Action: action, MaxSteps: 5},
		func(_ context.Context, n int, _ uint32) (Stepper, error) {
			e := steppers[next]
			next++
			if n != e.n {
				return nil, fmt.Errorf("%d environments; want %d", n, e.n)
			}
			return e, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// echoRollout is a rollout of the echo with a policy, or random actions.
type echoRollout struct {
	s       *engine.State
	ro      *Rollout
	clock   engine.Clock
	policy  *Policy
	program *engine.Program
}

func newEchoRollout(t *testing.T, env *Environment, cfg RolloutConfig, random bool) *echoRollout {
	t.Helper()
	return newModelRollout(t, env, cfg, random, nil)
}

// newModelRollout is newEchoRollout with any model; nil: a small one.
func newModelRollout(t *testing.T, env *Environment, cfg RolloutConfig, random bool, model nn.Model) *echoRollout {
	t.Helper()
	s := engine.New(open(t), engine.Seed(3)).NewState()
	t.Cleanup(func() { s.Close() })
	r := &echoRollout{s: s, clock: engine.NewClock(s)}
	head := env.Action.Head()
	if model == nil {
		model = nn.MLP{In: echoSize, Out: head.Outputs(), Hidden: []int{8}}
	}
	row := nn.Align(model.Size() + head.Parameters())
	if !random {
		r.policy = &Policy{Weights: nn.Weights{Params: s.Tensor("params", engine.Float32, engine.Members(cfg.Members), engine.Axis("parameter", row))},
			Network: model, Head: head}
	}
	cfg.Policy = r.policy
	var err error
	if r.ro, err = NewRollout(t.Context(), s.Sub("rollout"), env, cfg); err != nil {
		t.Fatal(err)
	}
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.policy != nil {
		params := make([]float32, r.policy.Params.Len())
		rng := engine.NewRng(5, 6, 7, 0, 0)
		for i := range params {
			params[i] = rng.Normal() / 10
		}
		if err := r.policy.Params.WriteFloat32(t.Context(), params); err != nil {
			t.Fatal(err)
		}
	}
	if r.program, err = s.Engine().Record("echo", func(rec *engine.Recorder) {
		r.ro.Record(rec, r.clock, r.policy)
		r.clock.Tick(rec, 1, cfg.Horizon)
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.program.Free)
	return r
}

func floats(t *testing.T, x *engine.Tensor) []float32 {
	t.Helper()
	v, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOutsideTrajectory: every transition of every step, member and environment is the right one, over episodes that end by themselves, by the environment's
// truncation and by the time limit, for discrete and continuous actions, in both forms of trajectories, by policies and at random.
func TestOutsideTrajectory(t *testing.T) {
	const members, environments, horizon, runs = 3, 5, 7, 3
	const n = members * environments
	for _, c := range []struct {
		action Space
		form   ActionForm
		random bool
	}{
		{Discrete(3), Sampled, false}, {Discrete(3), Applied, true},
		{Box([]float32{-2}, []float32{6}), Sampled, false}, {Box([]float32{-2}, []float32{6}), Applied, false},
		{Box([]float32{-2}, []float32{6}), Applied, true},
	} {
		e := newEcho(n)
		e.broken = 4
		r := newEchoRollout(t, echoEnvironment(t, c.action, e), RolloutConfig{
			Members: members, Environments: environments, Horizon: horizon, Trajectory: true, Actions: c.form, Seen: true,
			Options: Options{RewardScale: 2},
		}, c.random)
		steps, episode, ended, ret := make([]int, n), make([]int, n), make([]int, n), make([]float32, n)
		last := make([]float32, n) // the action before, as observations have it
		for i := range last {
			last[i] = -1
		}
		for run := range runs {
			if err := r.program.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			obs, next, action, reward := floats(t, r.ro.Obs), floats(t, r.ro.NextObs), floats(t, r.ro.Action), floats(t, r.ro.Reward)
			done, err := r.ro.Done.ReadUint32(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sums := make([]float32, 4)
			seen := make([]float64, 1+2*echoSize)
			for i := range horizon * n {
				at := i % n
				acted := []float32{float32(at), float32(steps[at]), float32(episode[at]), last[at]}
				if got := obs[i*echoSize : (i+1)*echoSize]; !slices.Equal(got, acted) {
					t.Fatalf("%+v, run %d, transition %d: acted on %v; want %v", c, run, i, got, acted)
				}
				for k, v := range acted {
					seen[1+k] += float64(v)
					seen[1+echoSize+k] += float64(v) * float64(v)
				}
				seen[0]++
				steps[at]++
				episode[at]++
				a := action[i]
				if !c.action.IsDiscrete() {
					a = min(max(2+4*a, -2), 6)
				}
				gain := float32(steps[at]) + a/10
				ret[at] += gain
				after := []float32{float32(at), float32(steps[at]), float32(episode[at]), a}
				var want Done
				if episode[at] == 3+at%4 {
					want = Terminated << (ended[at] % 2)
				}
				if episode[at] == 5 {
					want |= Truncated
				}
				if at == 4 && steps[at] == 2 {
					want, after = Terminated|Diverged, make([]float32, echoSize)
				}
				got := next[i*echoSize : (i+1)*echoSize]
				if !near(got, after) || Done(done[i]) != want || !near([]float32{reward[i]}, []float32{2 * gain}) {
					t.Fatalf("%+v, run %d, transition %d: next %v, done %v, reward %v; want %v, %v, %v", c, run, i, got, done[i], reward[i], after, want, 2*gain)
				}
				last[at] = got[3]
				if want != 0 {
					sums[0], sums[1], sums[2] = sums[0]+1, sums[1]+ret[at], sums[2]+float32(episode[at])
					if want&Diverged != 0 {
						sums[3]++
					} else {
						ended[at]++
					}
					episode[at], ret[at], last[at] = 0, 0, -1
				}
			}
			finished := floats(t, r.ro.Finished())
			for k := range 4 {
				var sum float32
				for _, v := range finished[k*n : (k+1)*n] {
					sum += v
				}
				if math.Abs(float64(sum-sums[k])) > 1e-3*float64(1+sums[k]) {
					t.Errorf("%+v, run %d: sum %d of the finished episodes is %v; want %v", c, run, k, sum, sums[k])
				}
			}
			sum := floats(t, r.ro.Seen())
			for k := range seen {
				total := 0.0
				for _, v := range sum[k*n : (k+1)*n] {
					total += float64(v)
				}
				if math.Abs(total-seen[k]) > 1e-3*(1+math.Abs(seen[k])) {
					t.Errorf("%+v, run %d: sum %d of the observations is %v; want %v", c, run, k, total, seen[k])
				}
			}
		}
		if e.resets != 2 { // the first, and after the broken one
			t.Errorf("%d resets; want 2", e.resets)
		}
	}
}

func near(a, b []float32) bool {
	for i := range a {
		if !(math.Abs(float64(a[i]-b[i])) <= 1e-4*(1+math.Abs(float64(b[i])))) {
			return false
		}
	}
	return true
}

// TestOutsideEpisodes: without auto-reset, episodes run to their ends and the rest of the steps is void.
func TestOutsideEpisodes(t *testing.T) {
	const members, environments, horizon = 2, 4, 9
	e := newEcho(members * environments)
	r := newEchoRollout(t, echoEnvironment(t, Discrete(2), e), RolloutConfig{
		Members: members, Environments: environments, Horizon: horizon, Trajectory: true, Begin: true, Options: Options{AutoReset: Disabled},
	}, false)
	for range 2 {
		if err := r.program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		done, err := r.ro.Done.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range done {
			at, step := i%(members*environments), i/(members*environments)+1
			length := min(3+at%4, 5)
			if void, over := Done(d)&Void != 0, Done(d).Over(); void != (step > length) || over != (step >= length) {
				t.Errorf("environment %d, step %d of %d: flags %d", at, step, length, d)
			}
		}
	}
	if e.resets != 2 || e.steps[0] != 6 {
		t.Errorf("%d resets, %d steps of environment 0; want 2 and 6", e.resets, e.steps[0])
	}
}

// TestOutsideErrors: an error of a Stepper names stage and environment, and the next run begins with another Stepper.
func TestOutsideErrors(t *testing.T) {
	first, second := newEcho(2), newEcho(2)
	first.failsAt = 4
	env := echoEnvironment(t, Discrete(2), first, second)
	r := newEchoRollout(t, env, RolloutConfig{Members: 1, Environments: 2, Horizon: 6, Trajectory: true}, false)
	var failed *engine.HostError
	err := r.program.Run(t.Context())
	if !errors.Is(err, errEcho) || !errors.As(err, &failed) || !strings.Contains(err.Error(), `"Echo-v0"`) || first.closed != 1 {
		t.Errorf("error %v, closed %d times", err, first.closed)
	}
	if err := r.program.Run(t.Context()); err != nil || second.steps[0] != 6 {
		t.Errorf("the next run: %v, after %d steps", err, second.steps[0])
	}
	if err := r.s.Close(); err != nil || second.closed != 1 || first.closed != 1 {
		t.Errorf("closing: %v; closed %d and %d times", err, first.closed, second.closed)
	}
	next := RolloutConfig{Members: 1, Environments: 1, Horizon: 1, Options: Options{AutoReset: Fast}}
	none := Spec{Name: "None-v0", Observation: env.Observation, Action: env.Action}
	counted := none
	counted.Iterations = 3
	for what, err := range map[string]error{
		"a batch":        errorOf(NewBatch(t.Context(), open(t), env, 1, 1, Options{})),
		"ActionRepeat":   errorOf(NewEvaluator(t.Context(), r.s, env, Options{ActionRepeat: 2}, r.policy)),
		"mode fast":      errorOf(NewRollout(t.Context(), r.s.Engine().NewState(), env, next)),
		"constructor":    errorOf(NewOutside(none, nil)),
		"has Iterations": errorOf(NewOutside(counted, nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }
