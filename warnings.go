package evorl

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
)

// warnings counts what a run survives but its user should know.
type warnings struct {
	resuming []string  // found on resuming
	diverged float64   // episodes of this session
	unfit    float64   // candidates of this session whose fitness was not finite
	counted  string    // the metric that counts them; "": no search
	fit      bool      // a candidate of any generation had a finite fitness
	refused  []float32 // gradients of each member since the run began; with PBT a copied member takes over its parent's count
}

func (w *warnings) addf(format string, args ...any) {
	w.resuming = append(w.resuming, fmt.Sprintf(format, args...))
}

// ErrNoFitness: a run did all iterations, and no candidate of a search had a finite fitness.
var ErrNoFitness = errors.New("no candidate had a finite fitness")

// Metrics of the candidates without a finite fitness, with one objective and with several.
const (
	unfitMetric      = "fitness/not_finite"
	unfitFrontMetric = "front/not_finite"
)

// count adds the counts of a report. Each member has a population of candidates; 0: unknown.
func (w *warnings) count(r engine.Report, population int) {
	for _, n := range r.Metrics["episode/diverged"] {
		if n > 0 { // NaN stands for no value
			w.diverged += float64(n)
		}
	}
	w.refused = r.Metrics["gradient/refused"]
	for _, name := range []string{unfitMetric, unfitFrontMetric} {
		for _, n := range r.Metrics[name] {
			w.counted = name
			if n > 0 {
				w.unfit += float64(n)
			}
			w.fit = w.fit || name == unfitFrontMetric && int(n) < population
		}
	}
	for _, best := range r.Metrics["fitness/best_ever"] {
		w.fit = w.fit || !math.IsNaN(float64(best)) && !math.IsInf(float64(best), 0)
	}
}

// fitness is ErrNoFitness if all reports of a run had candidates, none of which had a finite fitness.
func (r *Run) fitness() error {
	if r.warnings.counted == "" || r.warnings.fit || r.from > 0 || r.done < r.cfg.Run.Iterations {
		return nil
	}
	return fmt.Errorf("%w in %d iterations: see %s in %s; want finite values of the problem, or of the environment's rewards", ErrNoFitness, r.done,
		r.warnings.counted, r.dir.Metrics())
}

// Warnings lists what went wrong without ending the run: first what Resume found, then what the metrics
// episode/diverged, fitness/not_finite, front/not_finite and gradient/refused report of the iterations since; empty if nothing did.
func (r *Run) Warnings() []string {
	out := slices.Clone(r.warnings.resuming)
	if n := r.warnings.diverged; n > 0 {
		out = append(out, fmt.Sprintf("%.0f episodes ended because their state diverged: see episode/diverged in %s", n, r.dir.Metrics()))
	}
	if n := r.warnings.unfit; n > 0 {
		out = append(out, fmt.Sprintf("the fitness of %.0f candidates was not finite, and they ranked last: see %s in %s", n, r.warnings.counted, r.dir.Metrics()))
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
