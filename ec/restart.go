package ec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// RestartConfig are the settings of restarts.
type RestartConfig struct {
	StopConfig
	// Bipop alternates between ever larger populations and small ones; otherwise populations only grow.
	Bipop    bool    `doc:"Alternate between ever larger and small populations (BIPOP); otherwise populations only grow (IPOP)."`
	Increase float64 `above:"1" doc:"Growth factor of the population."`
	Budget   int     `min:"1" doc:"Evaluations per member, over all its runs."`
	// Target is the fitness at which a member is solved; math.MaxFloat64: it continues until its budget is spent.
	Target float64 `doc:"Fitness at which a member is solved."`
}

// DefaultRestart has the settings of IPOP with a budget of 100,000 evaluations: A. Auger, N. Hansen, "A Restart CMA
// Evolution Strategy With Increasing Population Size", 2005.
func DefaultRestart() RestartConfig {
	return RestartConfig{StopConfig: DefaultStop(), Increase: 2, Budget: 100000, Target: math.MaxFloat64}
}

// Outcome is the result of a member's runs.
type Outcome struct {
	Fitness     float64   // the best of all runs; NaN where none was finite
	Solution    []float32 // [dim]: its candidate
	Evaluations int
	Solved      bool // the target was reached
	Runs        []Run
}

// Run is one of a member's runs.
type Run struct {
	Population  int
	Deviation   float64 // the initial one, relative to the first run's
	Evaluations int
	Fitness     float64 // its best; NaN where none was finite
	// Reason for the end: "target", "budget", or a criterion of StopConfig: "tolfun", "tolfunhist", "tolx", "no
	// effect" (candidates are equal within the precision), "flat fitness", "stagnation", "not finite" (no finite
	// fitness in a generation); or "population": the algorithm cannot run with this population, and the member ends.
	End string
}

// MemberProblem is a Problem that differs between members.
type MemberProblem interface {
	Problem
	// Only returns the problem restricted to some members.
	Only(members []int) Problem
}

// maxRestarting bounds the members that restart.
const maxRestarting = 1 << 20

// Restart searches with the given number of members until each has reached the target or spent its budget. After a
// run ends, the member begins another at a different start with a larger population (A. Auger, N. Hansen, 2005); with
// Bipop, runs with a small population and deviation alternate with these (N. Hansen, "Benchmarking a BI-Population
// CMA-ES on the BBOB-2009 Function Testbed", 2009). Members are independent; if their next runs have the same
// population and deviation, they run together on the device. Evaluations are counted in whole generations. A population
// that the algorithm refuses, or that does not fit the device, no longer grows. With an error of later runs the outcomes
// of the runs before it are returned.
//
// algorithm returns the algorithm for a population (0: its default) and an initial deviation relative to its default.
func Restart(ctx context.Context, eng *engine.Engine, cfg RestartConfig, algorithm func(population int, deviation float64) Algorithm,
	problem Problem, members int) ([]Outcome, error) {
	if err := engine.Require(map[string]any{"engine": eng, "algorithm": algorithm, "problem": problem}); err != nil {
		return nil, fmt.Errorf("ec: restarts: %w", err)
	}
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	if members < 1 || members > maxRestarting {
		return nil, fmt.Errorf("ec: restarts of %d members; want 1 to %d", members, maxRestarting)
	}
	if problem.Objectives() != 1 {
		return nil, fmt.Errorf("ec: restarts on %s, which has %d objectives; want 1", problem.Name(), problem.Objectives())
	}
	rs := &restarts{eng: eng, cfg: cfg, algorithm: algorithm, problem: problem, members: make([]restarting, members)}
	for m := range rs.members {
		rs.members[m] = restarting{Outcome: Outcome{Fitness: math.NaN()}, next: Run{Deviation: 1}, rng: engine.NewRng(eng.Seed(),
			engine.Stream("ec/restart"), uint32(m), 0, 0)}
	}
	for round := uint32(0); ; round++ {
		group := rs.group()
		if len(group) == 0 {
			break
		}
		if err := rs.run(ctx, group, round); err != nil {
			return rs.outcomes(), err
		}
	}
	return rs.outcomes(), nil
}

// restarts holds the members in progress.
type restarts struct {
	eng       *engine.Engine
	cfg       RestartConfig
	algorithm func(population int, deviation float64) Algorithm
	problem   Problem
	members   []restarting
}

func (rs *restarts) outcomes() (out []Outcome) {
	for _, m := range rs.members {
		out = append(out, m.Outcome)
	}
	return out
}

// restarting is a member in progress.
type restarting struct {
	Outcome
	rng   *engine.Rng
	next  Run
	small bool // the next run has a small population
	most  int  // evaluations of the next run; 0: the rest of the budget
	// Evaluations with large and with small populations, without the first run, and how many times the population has
	// grown.
	large, smalls, grown int
	full                 bool // the population cannot grow further
	ended                bool // no population is left
	last                 int  // evaluations of the last run with a large population
}

// left returns how many evaluations a member's next run may take.
func (m *restarting) left(budget int) int {
	left := budget - m.Evaluations
	if m.most > 0 {
		left = min(left, m.most)
	}
	return left
}

// group returns the unfinished members that next run with the same population and deviation as the first one.
func (rs *restarts) group() (of []int) {
	for i, m := range rs.members {
		if m.Solved || m.ended || m.Evaluations >= rs.cfg.Budget {
			continue
		}
		if len(of) > 0 && (m.next.Population != rs.members[of[0]].next.Population || m.next.Deviation != rs.members[of[0]].next.Deviation) {
			continue
		}
		of = append(of, i)
	}
	return of
}

// run runs a group's next run.
func (rs *restarts) run(ctx context.Context, group []int, round uint32) error {
	problem := rs.problem
	if of, ok := problem.(MemberProblem); ok {
		problem = of.Only(group)
	}
	next := rs.members[group[0]].next
	// Each run has its own seed; otherwise all would draw the same numbers.
	seed := engine.Philox([2]uint32{rs.eng.Seed(), engine.Stream("ec/restart/run")}, [4]uint32{round})[0]
	s, err := NewSearch(ctx, engine.New(rs.eng.Device(), engine.Seed(seed)), rs.algorithm(next.Population, next.Deviation), problem, len(group))
	if err != nil {
		return rs.refused(ctx, group, err)
	}
	s.addStopMetrics()
	err = rs.learn(ctx, s, group)
	return errors.Join(err, s.Close())
}

// refused handles the error of making a group's next run: instead of a larger population than before, members take the last one
// again; for any other population they end. It returns the error if it is of a first run, or not of the population.
func (rs *restarts) refused(ctx context.Context, group []int, err error) error {
	of := func(target error) bool { return errors.Is(err, target) }
	if len(rs.members[group[0]].Runs) == 0 || ctx.Err() != nil || slices.ContainsFunc([]error{vk.ErrDeviceLost, vk.ErrTimeout, vk.ErrClosed}, of) {
		return err
	}
	for _, i := range group {
		m := &rs.members[i]
		if before := m.population(rs.cfg, m.grown-1); !m.small && m.next.Population > before {
			m.grown, m.full = m.grown-1, true
			m.next.Population = before
			continue
		}
		m.next.Fitness, m.next.End = math.NaN(), "population"
		m.Runs, m.ended = append(m.Runs, m.next), true
	}
	return nil
}

func (rs *restarts) learn(ctx context.Context, s *Search, group []int) error {
	population := s.generation.Population()
	runs, stoppers := make([]Run, len(group)), make([]*stopper, len(group))
	going := len(group)
	for i, m := range group {
		runs[i] = rs.members[m].next
		runs[i].Population, runs[i].Fitness = population, math.NaN()
		stoppers[i] = newStopper(rs.cfg.StopConfig, s.space.Dim, population, s.fitnessLow != nil)
	}
	if err := s.Init(ctx); err != nil {
		return err
	}
	_, fittest := s.generation.Best()
	for iteration := 0; going > 0; iteration++ {
		ticket, err := s.Step(ctx, iteration)
		if err == nil {
			err = ticket.Wait(ctx)
		}
		if err != nil {
			return err
		}
		metrics, err := s.Metrics().Read(iteration)
		if err != nil {
			return err
		}
		var rows []float32 // the best candidates, read when the first run ends
		for i, m := range group {
			run, member := &runs[i], &rs.members[m]
			if run.End != "" {
				continue
			}
			run.Evaluations, run.Fitness = (iteration+1)*population, float64(metrics["fitness/best_ever"][i])
			run.End = stoppers[i].add(s.stopMetrics(metrics, i))
			switch {
			case run.Fitness >= rs.cfg.Target:
				run.End = "target"
			case run.Evaluations >= member.left(rs.cfg.Budget):
				run.End = "budget"
			}
			if run.End == "" {
				continue
			}
			if rows == nil {
				if rows, err = fittest.ReadFloat32(ctx); err != nil {
					return err
				}
			}
			member.after(rs.cfg, *run, rows[i*s.space.Row():][:s.space.Dim])
			going--
		}
	}
	return nil
}

// after adds a finished run with the best candidate x, and chooses the next one.
func (m *restarting) after(cfg RestartConfig, run Run, x []float32) {
	m.Runs = append(m.Runs, run)
	m.Evaluations += run.Evaluations
	m.Solved = run.End == "target"
	if m.Solution == nil || run.Fitness > m.Fitness || math.IsNaN(m.Fitness) {
		m.Fitness, m.Solution = run.Fitness, append([]float32(nil), x...)
	}
	switch {
	case m.small:
		m.smalls += run.Evaluations
	case len(m.Runs) > 1:
		m.large += run.Evaluations
		m.last = run.Evaluations
	}
	m.small, m.most = cfg.Bipop && m.large > 0 && m.smalls < m.large, 0
	if m.small {
		// At most half the evaluations of the last large run. The population is between the usual one and half the
		// large one, mostly small.
		u, v := float64(m.rng.Uniform()), float64(m.rng.Uniform())
		larger := math.Pow(cfg.Increase, float64(m.grown)) / 2
		m.next = Run{Population: max(2, int(float64(m.Runs[0].Population)*math.Pow(max(larger, 1), u*u))), Deviation: math.Pow(10, -2*v)}
		m.most = max(1, m.last/2)
		return
	}
	if !m.full {
		m.grown++
	}
	// At most the remaining budget: a last generation.
	m.next = Run{Population: max(2, min(m.population(cfg, m.grown), cfg.Budget-m.Evaluations)), Deviation: 1}
}

// population returns the large population that has grown some times.
func (m *restarting) population(cfg RestartConfig, grown int) int {
	return int(math.Round(float64(m.Runs[0].Population) * math.Pow(cfg.Increase, float64(grown))))
}
