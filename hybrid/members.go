package hybrid

import (
	"context"
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine/config"
)

// Member describes one member of a population.
type Member struct {
	Index    int
	Fitness  float64            // mean return before the last exchange, by which it was ranked; NaN before the first
	Parent   int                // the member copied in the last exchange; itself if not replaced
	Ancestor int                // the member of the first generation that it descends from
	Hyper    map[string]float64 // values of the searched hyperparameters
}

// Members reads the members' fitness, descent and hyperparameters.
func (p *PBT) Members(ctx context.Context) ([]Member, error) {
	fitness, err := p.fitness.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	parent, err := p.parent.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	ancestor, err := p.ancestor.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(fitness))
	for i := range members {
		members[i] = Member{Index: i, Fitness: float64(fitness[i]), Parent: int(parent[i]), Ancestor: int(ancestor[i]), Hyper: map[string]float64{}}
	}
	for _, name := range p.names {
		values, err := p.inner.Hyper().Lookup(name).ReadFloat32(ctx)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			members[i].Hyper[name] = float64(v)
		}
	}
	return members, nil
}

// HyperError is the error of searching a hyperparameter that the workflow does not have.
type HyperError struct {
	Name  string
	Known []string
}

func (e *HyperError) Error() string {
	hint := "there are: " + strings.Join(e.Known, ", ")
	if near := config.Nearest(e.Name, e.Known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Sprintf("there is no hyperparameter %q to search; %s", e.Name, hint)
}
