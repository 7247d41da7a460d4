package evorl

import (
	"errors"
	"io/fs"
	"math"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/records"
)

// Generation is the members of a run of population based training from an exchange on, or as they were drawn: Iteration, which begins with the exchange,
// and for each member its Parent, the Fitness by which it was ranked, and its Hyper, the hyperparameters.
type Generation = records.Generation

// Lineage reads the generations of a run of population based training, oldest first; nil if the run has none. A last
// generation that is incomplete, since the run was killed or is writing it, is left out. damage describes damaged
// lines, which are skipped; it is an error if members are missing because of them.
func Lineage(path string) (of []Generation, damage *metrics.LineError, err error) {
	return records.Lineage(path)
}

// Origin says where the policy of a member came from, in the files of its run up to a checkpoint.
type Origin struct {
	Copies   []Copy `json:"copies"`   // of PBT: the copies that led to the member, newest first
	Ancestor *int   `json:"ancestor"` // of PBT: the member of the first generation from which it descends; nil: no lineage

	// Hybrids of agents and a search: the policy's side, agents or population, and the best candidates of
	// all iterations, the first among equals, and of the newest. A candidate is nil if nothing is stored of it.
	Side *hybrid.Side   `json:"side"`
	Best *BestCandidate `json:"best"`
	Last *BestCandidate `json:"last"`
}

// Copy is an exchange of PBT in which a member became a copy of another one.
type Copy struct {
	Iteration int `json:"iteration"` // that began with the exchange
	Member    int `json:"member"`
	Of        int `json:"of"`
}

// BestCandidate is the best candidate of an iteration: its fitness, and whether it came from gradient descent or from evolution.
type BestCandidate struct {
	Iteration int    `json:"iteration"`
	Fitness   Number `json:"fitness"`
	Learned   bool   `json:"learned"` // it learned, or is an agent's actor
}

// Origin returns the origin of a member's policy; nil if the run stores none, since its members do not descend from
// each other and have one side alone. damage describes damaged lines of the run's files, which are skipped.
func (r *Restored) Origin(member int) (o *Origin, damage []*metrics.LineError, err error) {
	if err := r.check(member); err != nil {
		return nil, nil, err
	}
	lineage, bad, err := Lineage(r.path)
	if bad != nil {
		damage = append(damage, bad)
	}
	if err != nil {
		return nil, damage, err
	}
	o = &Origin{}
	line := o.follow(lineage, member, r.Iteration())
	all, bad, err := generationRecords(r.cfg, r.path)
	if bad != nil {
		damage = append(damage, bad)
	}
	if err != nil {
		return nil, damage, err
	}
	o.find(all, line, r.cfg.Members(), r.Iteration())
	if of, ok := hybrid.Innermost(r.workflow).(interface{ Side() hybrid.Side }); ok {
		side := of.Side()
		o.Side = &side
	}
	if o.Ancestor == nil && o.Side == nil {
		return nil, damage, nil
	}
	return o, damage, nil
}

// stretch is the member that a line of descent is from an iteration on.
type stretch struct{ from, member int }

// follow finds the copies that led to the member of an iteration, and returns its line of descent, newest first.
func (o *Origin) follow(lineage []Generation, member, iteration int) (line []stretch) {
	for i := len(lineage) - 1; i >= 0; i-- {
		g := lineage[i]
		if g.Iteration > iteration || member >= len(g.Parent) {
			continue
		}
		line = append(line, stretch{g.Iteration, member})
		if parent := g.Parent[member]; parent != member {
			o.Copies = append(o.Copies, Copy{Iteration: g.Iteration, Member: member, Of: parent})
			member = parent
		}
		o.Ancestor = &member
	}
	return append(line, stretch{math.MinInt, member})
}

// find finds the best candidates of the line's members up to an iteration, if the run stores from which side they came.
func (o *Origin) find(all []metrics.Record, line []stretch, members, iteration int) {
	sides := false
	for _, r := range all {
		at := int(r.Iteration)
		if at > iteration {
			break
		}
		member := 0
		for _, s := range line {
			if member = s.member; s.from <= at {
				break
			}
		}
		value := func(metric string) (float64, bool) {
			if members > 1 {
				metric = MemberMetric(metric, member)
			}
			x, ok := r.Values[metric]
			return x, ok
		}
		learned, known := value(records.LearnedMetric)
		sides = sides || known
		fitness, ok := value(records.FitnessMetric)
		if !ok || math.IsNaN(fitness) {
			continue
		}
		o.Last = &BestCandidate{Iteration: at, Fitness: Number(fitness), Learned: learned == 1}
		if o.Best == nil || fitness > float64(o.Best.Fitness) {
			o.Best = o.Last
		}
	}
	if !sides {
		o.Best, o.Last = nil, nil
	}
}

// generationRecords reads the records that have the values of generations: members.jsonl, of one member metrics.jsonl.
func generationRecords(cfg *Config, path string) ([]metrics.Record, *metrics.LineError, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	file := dir.Metrics()
	if cfg.Members() > 1 {
		file = dir.Members()
	}
	all, damage, err := metrics.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return all, damage, err
}
