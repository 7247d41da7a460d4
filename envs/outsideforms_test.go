package envs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
)

// seen is an echo that keeps the seeds of its resets, shows its state, and can be saved.
type seen struct {
	*echo
	seeds [][]uint32
}

func (e *seen) Reset(ctx context.Context, which []bool, seeds []uint32, obs []float32) error {
	e.seeds = append(e.seeds, slices.Clone(seeds))
	return e.echo.Reset(ctx, which, seeds, obs)
}

// State is the step of the episode and the step of the run.
func (e *seen) State(i int, state []float32) error {
	state[0], state[1] = float32(e.episode[i]), float32(e.steps[i])
	return nil
}

const echoSaved = 13 // three words and a byte

func (e *seen) Save(i int, state []byte) error {
	for k, v := range []int{e.steps[i], e.episode[i], e.ended[i]} {
		binary.LittleEndian.PutUint32(state[4*k:], uint32(v))
	}
	state[12] = byte(i)
	return nil
}

func (e *seen) Load(i int, seed, episode uint32, state []byte) error {
	if len(state) != echoSaved || state[12] != byte(i) || int(episode) != 1+e.count(state) || seed == 0 {
		return fmt.Errorf("seed %d, episode %d, state %v", seed, episode, state)
	}
	for k, v := range []*int{&e.steps[i], &e.episode[i], &e.ended[i]} {
		*v = int(binary.LittleEndian.Uint32(state[4*k:]))
	}
	return nil
}

// count returns the episodes that ended.
func (e *seen) count(state []byte) int { return int(binary.LittleEndian.Uint32(state[8:])) }

// seenEnvironment is the echo; its steppers, in the order of their making, are in the result's second part.
func seenEnvironment(t *testing.T, action Space) (*Environment, func(int) *seen) {
	t.Helper()
	var made []*seen
	low, high := slices.Repeat([]float32{-1e6}, echoSize), slices.Repeat([]float32{1e6}, echoSize)
	env, err := NewOutside(Spec{Name: "Echo-v0", Observation: Box(low, high), Action: action, MaxSteps: 5, State: []string{"episode", "run"}, Saved: echoSaved},
		func(_ context.Context, n int, _ uint32) (Stepper, error) {
			made = append(made, &seen{echo: newEcho(n)})
			return made[len(made)-1], nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return env, func(i int) *seen { return made[i] }
}

// TestOutsideWindow: candidates draw the seeds of their places in the population, whatever window they are in, and all the same ones if that is asked for;
// an episode is cut off at its population's cap.
func TestOutsideWindow(t *testing.T) {
	const populations, population, count, environments = 2, 4, 2, 3
	seeds := func(w Window, first int) []uint32 {
		env, made := seenEnvironment(t, Discrete(2))
		r := newEchoRollout(t, env, RolloutConfig{
			Members: populations * w.Count, Environments: environments, Horizon: 4, Trajectory: true, Begin: true, Options: Options{AutoReset: Disabled},
			Window: &w, Cap: true,
		}, false)
		if err := r.ro.Cap().WriteUint32(t.Context(), []uint32{2, 0}); err != nil {
			t.Fatal(err)
		}
		p, err := r.s.Engine().Record("window", func(rec *engine.Recorder) { r.ro.RecordWindow(rec, r.clock, r.policy, first) })
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		done, err := r.ro.Done.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := populations * w.Count * environments
		for i, d := range done {
			at, step := i%n, i/n+1
			length := min(3+at%4, 5)
			if at/environments/w.Count == 0 {
				length = 2
			}
			if void, over := Done(d)&Void != 0, Done(d).Over(); void != (step > length) || over != (step >= length) {
				t.Errorf("environment %d, step %d of %d: flags %d", at, step, length, d)
			}
		}
		return made(0).seeds[0]
	}
	whole := seeds(Window{Population: population, Count: population}, 0)
	for first := 0; first < population; first += count {
		part := seeds(Window{Population: population, Count: count}, first)
		for p := range populations {
			size := count * environments
			want := whole[(p*population+first)*environments:][:size]
			if got := part[p*size : (p+1)*size]; !slices.Equal(got, want) {
				t.Errorf("population %d, candidates from %d: seeds %v; want %v", p, first, got, want)
			}
		}
	}
	common := seeds(Window{Population: population, Count: count, Common: true}, 2)
	if a, b := common[:environments], common[environments:2*environments]; !slices.Equal(a, b) || slices.Equal(a, common[count*environments:][:environments]) {
		t.Errorf("seeds %v; want the same for all candidates of a population", common)
	}
}

// TestOutsideRecord: an episode of an environment that shows its state is recorded; of others that is refused.
func TestOutsideRecord(t *testing.T) {
	env, _ := seenEnvironment(t, Discrete(2))
	r := newEchoRollout(t, env, RolloutConfig{Members: 3, Environments: 1, Horizon: 1}, false)
	ev, err := NewEvaluator(t.Context(), r.s, env, Options{}, r.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	e, err := ev.Record(t.Context(), r.clock, 1)
	if err != nil {
		t.Fatal(err)
	}
	result, err := ev.Run(t.Context(), r.clock, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.States) != 4 || len(e.Actions) != 3 || e.Done != Terminated || e.Steps != 3 {
		t.Fatalf("%+v; want an episode of three steps", e)
	}
	sum := float32(0)
	for i, s := range e.States {
		if s[0] != float32(i%3) || s[1] != float32(i) { // it is over after the third step
			t.Errorf("state %d is %v", i, s)
		}
		if i > 0 {
			sum += float32(i) + e.Actions[i-1][0]/10
			if !near([]float32{e.Returns[i-1], e.Rewards[i-1]}, []float32{sum, float32(i) + e.Actions[i-1][0]/10}) {
				t.Errorf("step %d: return %g, reward %g; the sum is %g", i, e.Returns[i-1], e.Rewards[i-1], sum)
			}
		}
	}
	// The environments of an echo differ, so that only the first member's are as in the recording.
	if got := result.Returns[0][0]; len(result.Returns) != 3 || math.Abs(float64(got-e.Return())) > 0.31 {
		t.Errorf("evaluated %v; recorded %g", result.Returns, e.Return())
	}
	blind, shown := echoEnvironment(t, Discrete(2), newEcho(1)), echoEnvironment(t, Discrete(2), newEcho(1))
	shown.State = []string{"x", "y"}
	for want, env := range map[string]*Environment{"names no elements of a state": blind, "*envs.echo shows no states; want an envs.Stater": shown} {
		ev, err := NewEvaluator(t.Context(), r.s, env, Options{}, r.policy)
		if err != nil {
			t.Fatal(err)
		}
		defer ev.Close()
		if _, err := ev.Record(t.Context(), r.clock, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("recording: %v; want %s", err, want)
		}
	}
}

// TestOutsideSaved: what is saved between any two runs continues in another Stepper with the same bits, also if it is saved once more before; without
// Spec.Saved the environments begin new episodes.
func TestOutsideSaved(t *testing.T) {
	const members, environments = 2, 3
	cfg := RolloutConfig{Members: members, Environments: environments, Horizon: 4, Trajectory: true, Policies: 1}
	newRollout := func(t *testing.T, action Space) (*echoRollout, func(int) *seen) {
		env, made := seenEnvironment(t, action)
		return newEchoRollout(t, env, cfg, false), made
	}
	digest := func(r *echoRollout) string {
		t.Helper()
		d, err := r.s.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	run := func(r *echoRollout, from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := errors.Join(r.s.Advance(t.Context(), i), r.program.Run(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, action := range []Space{Discrete(3), Box([]float32{-2}, []float32{6})} {
		whole, _ := newRollout(t, action)
		run(whole, 0, 2)
		dir := t.TempDir()
		saved, err := whole.s.Save(t.Context(), dir, 2)
		if err != nil {
			t.Fatal(err)
		}
		if saved.Digest != digest(whole) {
			t.Error("the digests of checkpoint and state differ")
		}
		run(whole, 2, 5)
		part, made := newRollout(t, action)
		if action.IsDiscrete() { // its environments are elsewhere
			run(part, 0, 1)
		}
		c, _, err := checkpoint.Latest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := part.s.Load(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if again, err := part.s.Save(t.Context(), t.TempDir(), 2); err != nil || again.Digest != saved.Digest {
			t.Errorf("saved again after loading: %v, %v; want %v", again.Digest, err, saved.Digest)
		}
		run(part, 2, 5)
		a, b := part.ro, whole.ro
		if digest(part) != digest(whole) || !slices.Equal(floats(t, a.Obs), floats(t, b.Obs)) || !slices.Equal(floats(t, a.Action), floats(t, b.Action)) {
			t.Error("it does not continue as the run that was not interrupted")
		}
		if got := made(0).resets; got != 0 && !action.IsDiscrete() {
			t.Errorf("%d resets; want none", got)
		}
	}
}

// unsaved is a World without Save.
type unsaved struct{}

func (unsaved) Reset(uint32, []float32) error { return nil }

func (unsaved) Step(_, _ []float32) (float32, bool, bool, error) { return 0, false, false, nil }

// broken panics, or fails, in its third step, in every environment whose first observation is even.
type broken struct {
	unsaved
	with any
	at   int
}

func (b *broken) Step(_, obs []float32) (float32, bool, bool, error) {
	if b.at++; b.at == 3 {
		if err, ok := b.with.(error); ok {
			return 0, false, false, err
		}
		if b.with == nil {
			return obs[len(obs)], false, false, nil
		}
		panic(b.with)
	}
	return 0, false, false, nil
}

// nowhere begins nowhere.
type nowhere struct{ unsaved }

func (nowhere) Reset(_ uint32, obs []float32) error {
	obs[0] = float32(math.NaN())
	return nil
}

// greedy appends to its observation, which is not to reach the next environment's.
type greedy struct{ unsaved }

func (greedy) Step(_, obs []float32) (float32, bool, bool, error) {
	_ = append(obs, 7)
	return 0, false, false, nil
}

// TestWorldRows: a World cannot write beyond its observation.
func TestWorldRows(t *testing.T) {
	s, err := Worlds(func() (World, error) { return greedy{}, nil })(t.Context(), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	step := Step{
		Action: make([]float32, 3), Obs: make([]float32, 3), Final: make([]float32, 3), Reward: make([]float32, 3),
		Last: make([]bool, 3), Idle: make([]bool, 3), Terminated: make([]bool, 3), Truncated: make([]bool, 3),
	}
	if err := s.Step(t.Context(), &step); err != nil || !slices.Equal(step.Obs, make([]float32, 3)) {
		t.Errorf("%v, observations %v; want 0", err, step.Obs)
	}
}

// replacing gives slices of its own instead of writing to those that it is given.
type replacing struct{ *echo }

func (e replacing) Step(ctx context.Context, s *Step) error {
	s.Obs, s.Truncated = make([]float32, 2*len(s.Obs)), slices.Clone(s.Truncated)
	return nil
}

// TestOutsideReplaced: a Stepper's own slices in a Step are an error, not observations that nobody sees.
func TestOutsideReplaced(t *testing.T) {
	env := echoEnvironment(t, Discrete(2))
	env.newStepper = func(_ context.Context, n int, _ uint32) (Stepper, error) { return replacing{newEcho(n)}, nil }
	r := newEchoRollout(t, env, RolloutConfig{Members: 1, Environments: 2, Horizon: 6, Trajectory: true}, true)
	err := r.program.Run(t.Context())
	for _, want := range []string{"step 1 of 6: envs.replacing: Step replaced the slice Obs", "Step replaced the slice Truncated by another one, of 2 elements"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestOutsideFailures: errors and panics of environments say where they were; a Stepper that cannot be saved is refused when a run begins.
func TestOutsideFailures(t *testing.T) {
	spec := Spec{Name: "Broken-v0", Observation: Box([]float32{0}, []float32{1}), Action: Discrete(2), MaxSteps: 9}
	run := func(spec Spec, one func(i int) (World, error)) error {
		made := 0
		maker := Worlds(func() (World, error) {
			made++
			return one(made - 1)
		})
		if one == nil {
			maker = Worlds(nil)
		}
		env, err := NewOutside(spec, maker)
		if err != nil {
			t.Fatal(err)
		}
		s := engine.New(open(t), engine.Seed(3)).NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		ro, err := NewRollout(t.Context(), s, env, RolloutConfig{Members: 4, Environments: 6, Horizon: 5, Trajectory: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := s.Engine().Record("broken", func(r *engine.Recorder) { ro.Record(r, clock, nil) })
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		return p.Run(t.Context())
	}
	lost := errors.New("it is lost")
	saving := spec
	saving.Saved = 4
	only := func(at int, of func() World) func(int) (World, error) {
		return func(i int) (World, error) {
			if i != at {
				return unsaved{}, nil
			}
			return of(), nil
		}
	}
	for what, c := range map[string]struct {
		err  error
		want []string
	}{
		"an error": {run(spec, only(15, func() World { return &broken{with: lost} })),
			[]string{`"step Broken-v0"`, `envs: "Broken-v0": step 3 of 5, environment 3 of member 2, after 2 steps of its episode: environment 15: it is lost`}},
		"a panic": {run(spec, only(4, func() World { return &broken{with: "over"} })), []string{"environment 4: panic: over (", "outsideforms_test.go:"}},
		"an index": {run(spec, only(23, func() World { return &broken{} })),
			[]string{"environment 5 of member 3", "index out of range [1]", "outsideforms_test.go:"}},
		"a constructor":  {run(spec, func(i int) (World, error) { panic(lost) }), []string{`"reset Broken-v0"`, "environment 0: panic: it is lost"}},
		"no environment": {run(spec, func(i int) (World, error) { return nil, nil }), []string{"environment 0: ", "nil"}},
		"no observation": {run(spec, only(10, func() World { return nowhere{} })),
			[]string{"beginning, environment 4 of member 1, after 0 steps of its episode: environment 10: the first observation of an episode is not finite: [NaN]"}},
		"no constructor":     {run(spec, nil), []string{`"reset Broken-v0"`, "constructor of worlds"}},
		"no Save":            {run(saving, only(-1, nil)), []string{"envs.unsaved has no method Save(state []byte) error"}},
		"GLSL that is saved": {errorOf(New(saving, "")), []string{"the Spec has 4 Saved bytes; want 0"}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%s: %v; want %s", what, c.err, want)
			}
		}
		var panicked *PanicError
		if strings.HasPrefix(what, "a panic") && (!errors.As(c.err, &panicked) || !bytes.Contains(panicked.Stack, []byte("(*broken).Step"))) {
			t.Errorf("%s: %v; want a *PanicError with the stack", what, c.err)
		}
		if (what == "an error" || what == "a constructor") && !errors.Is(c.err, lost) {
			t.Errorf("%s: %v is not the cause", what, c.err)
		}
	}
}

// slow is an echo whose fourth step waits for the end of its context and, if it is deaf, goes on waiting.
type slow struct {
	*echo
	waiting chan struct{}
	deaf    time.Duration
}

func (e *slow) Step(ctx context.Context, s *Step) error {
	if e.steps[0] == 3 {
		close(e.waiting)
		<-ctx.Done()
		if time.Sleep(e.deaf); e.deaf == 0 {
			return ctx.Err()
		}
	}
	return e.echo.Step(ctx, s)
}

// TestOutsideCancel: the end of the context ends a step that waits, closes the Stepper, and says so if the step does not return.
func TestOutsideCancel(t *testing.T) {
	for _, deaf := range []time.Duration{0, hangs + hangs/4} {
		e := &slow{echo: newEcho(2), waiting: make(chan struct{}), deaf: deaf}
		env := echoEnvironment(t, Discrete(2))
		env.newStepper = func(context.Context, int, uint32) (Stepper, error) { return e, nil }
		var log bytes.Buffer
		s := engine.New(open(t), engine.Seed(3), engine.Logger(slog.New(slog.NewTextHandler(&log, nil)))).NewState()
		defer s.Close()
		clock := engine.NewClock(s)
		ro, err := NewRollout(t.Context(), s, env, RolloutConfig{Members: 1, Environments: 2, Horizon: 6, Trajectory: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := s.Engine().Record("slow", func(r *engine.Recorder) { ro.Record(r, clock, nil) })
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-e.waiting
			cancel()
		}()
		err = p.Run(ctx)
		if !errors.Is(err, context.Canceled) || e.closed > 1 || deaf == 0 && (e.closed != 1 || e.steps[0] != 3) {
			t.Errorf("waiting for %v: error %v, closed %d times, %d steps", deaf, err, e.closed, e.steps[0])
		}
		if warned := strings.Contains(log.String(), "the environments do not return although their context has ended"); warned != (deaf > 0) {
			t.Errorf("waiting for %v: the log has %q", deaf, log.String())
		}
	}
}
