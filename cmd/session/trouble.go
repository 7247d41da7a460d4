package session

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// troubles are what a run survives and its user should know.
type troubles struct {
	diverged float64   // episodes of this session
	refused  []float32 // gradients of each member since the run began; of PBT's copies, their parent's too
}

// see adds a report's.
func (t *troubles) see(r engine.Report) {
	for _, n := range r.Metrics["episode/diverged"] {
		if n > 0 { // NaN stands for no value
			t.diverged += float64(n)
		}
	}
	t.refused = r.Metrics["gradient/refused"]
}

// Troubles says what went wrong without ending the run, by the metrics episode/diverged and gradient/refused; empty where nothing did.
func (s *Session) Troubles() []string {
	var out []string
	if n := s.troubles.diverged; n > 0 {
		out = append(out, fmt.Sprintf("%.0f episodes ended because their motion left all bounds: see episode/diverged in %s", n, s.dir.Metrics()))
	}
	sum, members := 0.0, 0
	for _, n := range s.troubles.refused {
		if n > 0 {
			sum, members = sum+float64(n), members+1
		}
	}
	if members > 0 {
		out = append(out, fmt.Sprintf("%.0f gradients of %d members were not finite and were left out: see gradient/refused in %s", sum, members, s.dir.Metrics()))
	}
	return out
}
