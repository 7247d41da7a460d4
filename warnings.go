package evorl

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// warnings counts what a run survives but its user should know.
type warnings struct {
	resuming []string  // found on resuming
	diverged float64   // episodes of this session
	refused  []float32 // gradients of each member since the run began; with PBT a copied member takes over its parent's count
}

func (w *warnings) addf(format string, args ...any) {
	w.resuming = append(w.resuming, fmt.Sprintf(format, args...))
}

// count adds the counts of a report.
func (w *warnings) count(r engine.Report) {
	for _, n := range r.Metrics["episode/diverged"] {
		if n > 0 { // NaN stands for no value
			w.diverged += float64(n)
		}
	}
	w.refused = r.Metrics["gradient/refused"]
}

// Warnings lists what went wrong without ending the run: first what Resume found, then what the metrics
// episode/diverged and gradient/refused report of the iterations since; empty if nothing did.
func (r *Run) Warnings() []string {
	out := slices.Clone(r.warnings.resuming)
	if n := r.warnings.diverged; n > 0 {
		out = append(out, fmt.Sprintf("%.0f episodes ended because their state diverged: see episode/diverged in %s", n, r.dir.Metrics()))
	}
	sum, members := 0.0, 0
	for _, n := range r.warnings.refused {
		if n > 0 {
			sum, members = sum+float64(n), members+1
		}
	}
	if members > 0 {
		out = append(out, fmt.Sprintf("%.0f gradients of %d members were not finite and were left out: see gradient/refused in %s", sum, members, r.dir.Metrics()))
	}
	return out
}
