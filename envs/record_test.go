package envs

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// TestRecord: a recorded episode is the one that the evaluation of the member runs, and its actions lead from each
// state to the next.
func TestRecord(t *testing.T) {
	dev := open(t)
	eng := engine.New(dev, engine.Seed(3))
	const members = 3
	for _, c := range []struct {
		title, name string
		options     Options
		policy      func(*Policy)
	}{
		{"discrete", "CartPole-v1", Options{RewardScale: 0.1}, func(*Policy) {}},
		{"discrete, truncated", "Acrobot-v1", Options{TimeLimit: 37}, func(p *Policy) { p.Normalizer = nil }},
		{"continuous", "Pendulum-v1", Options{}, func(*Policy) {}},
		{"squashed, actions repeated", "Pendulum-v1", Options{TimeLimit: 20, ActionRepeat: 3}, func(p *Policy) { p.Head.Squash = true }},
		{"bins", "Pendulum-v1", Options{TimeLimit: 30}, func(p *Policy) { p.Head.Kind, p.Head.Bins = nn.Binned, 3; outputs(p) }},
		{"a robot", "InvertedPendulum-v5", Options{}, func(p *Policy) { p.Head.Squash = true }},
	} {
		t.Run(c.title, func(t *testing.T) {
			f := newFixture(t, eng, c.name, RolloutConfig{Members: members, Environments: 1, Horizon: 5, Options: c.options}, small, c.policy)
			f.advance() // so that the clock's count is not zero
			ev, err := NewEvaluator(t.Context(), f.state, f.env, c.options, f.policy)
			if err != nil {
				t.Fatal(err)
			}
			defer ev.Close()
			evaluation, err := ev.Run(t.Context(), f.clock, 1)
			if err != nil {
				t.Fatal(err)
			}
			for m := range members {
				e, err := ev.Record(t.Context(), f.clock, m)
				if err != nil {
					t.Fatal(err)
				}
				n := len(e.Actions)
				if want := evaluation.Returns[m][0]; e.Return() != want || float32(e.Steps) != evaluation.Lengths[m][0] || e.Member != m {
					t.Errorf("member %d: the return is %v after %d steps; the evaluation has %v after %v", m, e.Return(), e.Steps, want, evaluation.Lengths[m][0])
				}
				if n < 1 || len(e.States) != n+1 || len(e.Rewards) != n || len(e.Returns) != n || !e.Done.Over() {
					t.Fatalf("member %d: %d actions, %d states, %d rewards, %d returns, done %d", m, n, len(e.States), len(e.Rewards), len(e.Returns), e.Done)
				}
				replay(t, dev, c.name, c.options, e)
			}
		})
	}
}

// replay steps a batch from every state of an episode with its action.
func replay(t *testing.T, dev *vk.Device, name string, options Options, e *Episode) {
	t.Helper()
	n := len(e.Actions)
	b := newBatch(t, dev, name, 1, n, Options{AutoReset: Disabled, ActionRepeat: options.ActionRepeat, TimeLimit: options.TimeLimit})
	var before, actions [][]float64
	words := make([]EpisodeWord, n)
	sum := 0.0
	for i := range n {
		before, actions = append(before, floats64(e.States[i])), append(actions, floats64(e.Actions[i]))
		words[i] = EpisodeWord(i * max(1, options.ActionRepeat))
		sum += float64(e.Rewards[i])
		if !(math.Abs(sum-float64(e.Returns[i])) <= 1e-5*max(1, math.Abs(sum))) {
			t.Errorf("member %d: the return after %d actions is %g; the rewards' sum is %g", e.Member, i+1, e.Returns[i], sum)
		}
	}
	states := make([]float32, n*len(e.States[0]))
	for i, row := range e.States[:n] {
		for k, v := range row {
			states[k*n+i] = v
		}
	}
	if err := b.SetState(t.Context(), State{states, words, make([]float32, n)}); err != nil {
		t.Fatal(err)
	}
	got, err := act(t.Context(), b, actions)
	if err != nil {
		t.Fatal(err)
	}
	after, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for k, v := range column(after.Env, n, i) {
			if want := e.States[i+1][k]; !(math.Abs(float64(v-want)) <= 1e-4*max(1, math.Abs(float64(want)))) {
				t.Fatalf("member %d, action %d: %v leads from %v to %v; the episode goes on from %v",
					e.Member, i, actions[i], before[i], column(after.Env, n, i), e.States[i+1])
			}
		}
		if !(math.Abs(float64(got.Reward[i]-e.Rewards[i])) <= 1e-4*max(1, math.Abs(float64(e.Rewards[i])))) {
			t.Fatalf("member %d, action %d is paid %g; the episode has %g", e.Member, i, got.Reward[i], e.Rewards[i])
		}
	}
}

func floats64(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// TestRecordRefuses: a member out of range is an error.
func TestRecordRefuses(t *testing.T) {
	f := newFixture(t, engine.New(open(t)), "CartPole-v1", RolloutConfig{Members: 2, Environments: 1, Horizon: 5}, small)
	ev, err := NewEvaluator(t.Context(), f.state, f.env, Options{}, f.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	for _, m := range []int{-1, 2} {
		if _, err := ev.Record(t.Context(), f.clock, m); err == nil || !strings.Contains(err.Error(), "the members 0 to 1") {
			t.Errorf("member %d: %v", m, err)
		}
	}
}
