package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// A sparring's players are answered together: as soon as a batch is full, else at the deadline, each by its own action. What its policy returns is their error.
func TestSparring(t *testing.T) {
	ctx := t.Context()
	var batches []int
	fault := errors.New("no idea")
	s, err := NewSparring(echoSpec(), func(_ context.Context, n int, obs, actions []float32) error {
		batches = append(batches, n)
		for i := range n {
			if obs[3*i+1] > 2 {
				return fault
			}
			actions[i] = due(obs[3*i : 3*i+3])
		}
		return nil
	}, SparringConfig{Batch: 3, Deadline: 40 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var players []*Player
	for range 3 {
		players = append(players, s.Player())
	}
	for tick, asking := range []int{3, 2, 3, 1} {
		begun := time.Now()
		for i, p := range players[:asking] {
			if err := p.Ask([]float32{float32(i), float32(tick), 0}); err != nil {
				t.Fatal(err)
			}
		}
		for i, p := range players[:asking] {
			action, err := p.Answer(ctx)
			if tick == 3 {
				if !errors.Is(err, fault) {
					t.Errorf("a policy that fails: %v", err)
				}
			} else if want := due([]float32{float32(i), float32(tick), 0}); err != nil || action[0] != want {
				t.Errorf("tick %d, player %d: %v, %v; want %v", tick, i, action, err, want)
			}
		}
		if took := time.Since(begun); asking < 3 && took < 40*time.Millisecond {
			t.Errorf("%d players were answered after %v; want the deadline", asking, took)
		}
	}
	p := players[2]
	if p.Learning() {
		t.Error("a sparring's player learns")
	}
	if err := p.End([]float32{0, 0, 0}, true); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(batches, []int{3, 2, 3, 1}) {
		t.Errorf("batches of %v players; want 3, 2, 3, 1", batches)
	}
	if _, err := players[0].Act(ctx, []float32{0, 0, 0}); err == nil {
		t.Error("a sparring that is closed answers")
	}
}
