package hybrid

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
)

// Names of the metrics that PBT adds to those of its workflow.
const (
	fitnessRow = "pbt/fitness" // by which the members were last ranked
	parentRow  = "pbt/parent"  // whom each was copied from then; itself when it was not replaced
	hyperRow   = "hyper/"      // and a name: a searched hyperparameter
)

// Lineage tells of the exchange that a reported iteration began with, nothing where it began with none. There is a record for each
// member, with the values "member", "parent" (the member itself where it was not replaced), "fitness", by which it was ranked and perhaps
// replaced, and "hyper/<name>", its hyperparameters from then on.
func (p *PBT) Lineage(r engine.Report) []metrics.Record {
	if !p.exchanges(r.Iteration - 1) {
		return nil
	}
	fitness, parent := r.Metrics[fitnessRow], r.Metrics[parentRow]
	records := make([]metrics.Record, len(fitness))
	for i := range records {
		values := map[string]float64{"member": float64(i), "parent": float64(parent[i]), "fitness": float64(fitness[i])}
		for _, name := range p.names {
			values[hyperRow+name] = float64(r.Metrics[hyperRow+name][i])
		}
		records[i] = metrics.Record{Iteration: int64(r.Iteration), EnvSteps: r.EnvSteps, Seconds: r.Elapsed.Seconds(), Values: values}
	}
	return records
}
