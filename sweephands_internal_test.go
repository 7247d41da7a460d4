package evorl

import (
	"bytes"
	"encoding/gob"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/mirror"
)

// A worker that sends what is wrong leaves, so that others do its run; the sweep goes on, and nothing is written.
func TestWrongPart(t *testing.T) {
	cfg, err := New("snes", "sphere")
	if err != nil {
		t.Fatal(err)
	}
	part := func(name string) []byte {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(&wholePart{Iteration: 1, Change: &mirror.Change{Files: []mirror.File{{Name: name, Data: []byte("x")}}}}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for what, data := range map[string][]byte{"no part": []byte("x"), "another configuration": part(rundir.ConfigFile), "no file of a run": part("x.sh")} {
		t.Run(what, func(t *testing.T) {
			s, of := &sweepHands{crew: cluster.NewCrew()}, &sweepRun{folder: filepath.Join(t.TempDir(), "run"), cfg: cfg}
			s.crew.Open()
			defer s.crew.Close()
			if _, _, err := s.crew.Join(t.Context(), "w"); err != nil {
				t.Fatal(err)
			}
			go func() {
				if n, _, err := s.crew.Next(t.Context(), "w", 0, nil); err == nil {
					_, _, _ = s.crew.Next(t.Context(), "w", n, data) // until the worker has left
				}
			}()
			hand := s.crew.Hands()[0]
			p, err := s.part(t.Context(), hand, &wholeJob{})
			if err == nil {
				err = s.take(hand, of, p.Change)
			}
			var left *cluster.LeftError
			if !errors.As(err, &left) || left.Cause == nil {
				t.Errorf("%v; want a *cluster.LeftError with its cause", err)
			}
			if _, err := s.part(t.Context(), hand, &wholeJob{}); !errors.As(err, &left) {
				t.Errorf("the worker takes part: %v", err)
			}
			if _, err := os.Stat(of.folder); !os.IsNotExist(err) {
				t.Errorf("the run's folder: %v; want nothing written", err)
			}
		})
	}
}
