package records

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// hyperPrefix is the prefix of hyperparameters in lineage.jsonl.
const hyperPrefix = "hyper/"

// Generation is the members of a run of population based training from an exchange on, or as they were drawn.
type Generation struct {
	Iteration int                  // that begins with the exchange; 1: the members as drawn
	Parent    []int                // [M]: the member of the generation before that it became a copy of; itself if not replaced
	Fitness   []float64            // [M]: by which members were ranked before the copies; NaN in the first generation
	Hyper     map[string][]float64 // [M] each: hyperparameters from then on
}

// Lineage reads the generations of a run of population based training, oldest first; nil if the run has none. A last
// generation that is incomplete, since the run was killed or is writing it, is left out. damage describes damaged
// lines, which are skipped; it is an error if members are missing because of them.
func Lineage(path string) (of []Generation, damage *metrics.LineError, err error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	records, damage, err := metrics.ReadFile(dir.Lineage())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil {
		of, err = generations(records)
	}
	if err != nil {
		return nil, damage, fmt.Errorf("%s: %w", dir.Lineage(), err)
	}
	return of, damage, nil
}

// generations groups records by iteration; each has one record per member, in order.
func generations(records []metrics.Record) (of []Generation, err error) {
	for _, r := range records {
		if len(of) == 0 || of[len(of)-1].Iteration != int(r.Iteration) {
			of = append(of, Generation{Iteration: int(r.Iteration), Hyper: map[string][]float64{}})
		}
		g := &of[len(of)-1]
		if member := r.Values["member"]; member != float64(len(g.Parent)) {
			return nil, fmt.Errorf("iteration %d has a record of member %g: want member %d next", r.Iteration, member, len(g.Parent))
		}
		g.Parent, g.Fitness = append(g.Parent, int(r.Values["parent"])), append(g.Fitness, r.Values["fitness"])
		for name, value := range r.Values {
			if name, ok := strings.CutPrefix(name, hyperPrefix); ok {
				g.Hyper[name] = append(g.Hyper[name], value)
			}
		}
	}
	for i := range of {
		if members, want := len(of[i].Parent), len(of[0].Parent); i > 0 && i+1 == len(of) && members < want {
			of = of[:i]
		} else if members != want {
			return nil, fmt.Errorf("iteration %d has records of %d members: want %d", of[i].Iteration, members, want)
		}
	}
	for _, g := range of {
		for member, parent := range g.Parent {
			if parent < 0 || parent >= len(g.Parent) {
				return nil, fmt.Errorf("iteration %d: member %d has parent %d: want 0 to %d", g.Iteration, member, parent, len(g.Parent)-1)
			}
		}
	}
	return of, nil
}
