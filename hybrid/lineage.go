package hybrid

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
)

// FitnessMetric is the metric by which PBT ranked the members in the last exchange.
const FitnessMetric = "pbt/fitness"

// MovesMetric is the mean share of steps with motion in the episodes of the last evaluation, if styles are the objectives.
const MovesMetric = "pbt/moves"

// Names of the other metrics that PBT adds to its workflow's.
const (
	steadinessRow = "pbt/steadiness" // minus the deviation of the episodes' returns, if that is an objective
	coverageRow   = "pbt/coverage"   // mean number of states that the episodes visited, if that is an objective
	parentRow     = "pbt/parent"     // the member copied in the last exchange; itself if not replaced
	hyperRow      = "hyper/"         // prefix of a searched hyperparameter
)

// Lineage has one record per member if the reported iteration began with an exchange, or is the first; otherwise none.
// The values are "member"; "parent", the member that it became a copy of, itself if it was not replaced; "fitness",
// by which it was ranked before the copy (NaN in the first iteration); and "hyper/<name>", its hyperparameters from
// then on. EMOGI has none: its children take the places of parents that they do not descend from.
func (p *PBT) Lineage(r engine.Report) []metrics.Record {
	if p.emogi != nil || r.Iteration > 1 && !p.exchanges(r.Iteration-1) {
		return nil
	}
	fitness, parent := r.Metrics[FitnessMetric], r.Metrics[parentRow]
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
