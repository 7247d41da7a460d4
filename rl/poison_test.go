package rl

import (
	"reflect"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// TestPoison: what is not saved carries nothing from one step to the next, nor from before Init, nor into an evaluation.
func TestPoison(t *testing.T) {
	for _, w := range workflows() {
		t.Run(w.name, func(t *testing.T) { w.poisoned(t, open(t)) })
	}
}

func (w workflow) poisoned(t *testing.T, dev *vk.Device) {
	t.Helper()
	p := w.begin(t, dev, 8)
	want := steps(t, p, 0, 4)
	returns := evaluate(t, p)
	p = w.open(t, dev, 8)
	poisonState(t, p)
	if err := p.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range 4 {
		poisonState(t, p)
		got = steps(t, p, i, i+1)
	}
	if got != want {
		t.Errorf("with poison between the steps the digest is %s; want %s", got, want)
	}
	poisonState(t, p)
	if got := evaluate(t, p); !reflect.DeepEqual(got, returns) {
		t.Errorf("after poison the evaluation is %v; want %v", got, returns)
	}
}

// poisonState leaves of p what a checkpoint would bring back.
func poisonState(t testing.TB, p engine.Workflow) {
	t.Helper()
	if err := p.State().Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func evaluate(t testing.TB, p engine.Workflow) engine.Evaluation {
	t.Helper()
	ev, err := p.Evaluate(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}
