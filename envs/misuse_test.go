package envs

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// Wrong use is an error that says what is wrong: never a panic, and never without end.
func TestMisuse(t *testing.T) {
	ctx, eng := t.Context(), engine.New(open(t))
	env, err := Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	only := func(_ any, err error) error { return err }
	state := eng.NewState()
	defer state.Close()
	fresh, closed := newBatch(t, eng.Device(), "CartPole-v1", 1, 1, Options{}), newBatch(t, eng.Device(), "CartPole-v1", 1, 1, Options{})
	closed.Close()
	type misuse struct {
		what string
		err  error
		want string
	}
	cases := []misuse{
		{"nothing given", only(New(Spec{}, "")), "no Name"},
		{"uneven bounds", only(New(Spec{Name: "x", Action: Box([]float32{1}, nil)}, "")), "action space"},
		{"no text", only(FromGLSL("", nil)), ""},
		{"no options", only(env.With(nil)), "options"},
		{"options of another type", only(env.With(3)), "options"},
		{"evaluator of no state", only(NewEvaluator(ctx, nil, env, Options{}, &Policy{})), "state is nil"},
		{"evaluator of no environment", only(NewEvaluator(ctx, state, nil, Options{}, &Policy{})), "environment is nil"},
		{"evaluator of no policy", only(NewEvaluator(ctx, state, env, Options{}, nil)), "policy is nil"},
		{"rollout of no state", only(NewRollout(ctx, nil, env, RolloutConfig{})), "state is nil"},
		{"rollout of no environment", only(NewRollout(ctx, state, nil, RolloutConfig{})), "environment is nil"},
		{"rollout of nothing", only(NewRollout(ctx, state, env, RolloutConfig{})), "at least 1"},
		{"contacts of no environment", only(NewContacts(state, nil, 1, 1)), "environment is nil"},
		{"contacts of no feet", only(NewContacts(state, env, 1, 1)), "no feet"},
		{"touch of no environment", only(NewTouch(state, nil)), "environment is nil"},
		{"step before reset", only(fresh.Step(ctx, []uint32{0})), "want Reset or SetState first"},
		{"no actions", only(fresh.Step(ctx, nil)), "0 action words"},
		{"no state", fresh.SetState(ctx, State{}), "a state of 0 + 0 + 0 numbers"},
		{"closed: reset", only(closed.Reset(ctx, 1)), ErrClosed.Error()},
		{"closed: step", only(closed.Step(ctx, []uint32{0})), ErrClosed.Error()},
		{"closed: state", only(closed.State(ctx)), ErrClosed.Error()},
	}
	for _, n := range []int{-1, 0, 1 << 40, math.MaxInt, math.MinInt} {
		cases = append(cases,
			misuse{"members", only(NewBatch(ctx, eng.Device(), env, n, 1, Options{})), ""},
			misuse{"environments", only(NewBatch(ctx, eng.Device(), env, 1, n, Options{})), ""},
			misuse{"horizon", only(NewRollout(ctx, state, env, RolloutConfig{Members: 1, Environments: 1, Horizon: min(n, 0)})), "at least 1"})
		if n != 0 {
			cases = append(cases, misuse{"action repeat", only(NewBatch(ctx, eng.Device(), env, 1, 1, Options{ActionRepeat: n})), "ActionRepeat"})
		}
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, c.err, c.want)
		}
	}
}

// New lists everything that is wrong at once.
func TestNewListsAll(t *testing.T) {
	spec := Spec{Name: "Own-v0", Observation: Box([]float32{0}, []float32{1}), Action: Discrete(2), State: []string{"x"}, MaxSteps: -1}
	_, err := New(spec, "// environment: Other-v0\n#define STATE_SIZE 7\nvoid f() { for (int i = 0; i < 3; i++) {} }\n")
	for _, want := range []string{
		"-1 MaxSteps", `want "// environment: Own-v0"`,
		"#define STATE_SIZE 7, but", "no #define OBS_SIZE", "no #define ACTION_SIZE", "Spec.Iterations is 0, and line 3",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q in it", err, want)
		}
	}
}
