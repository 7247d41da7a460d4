package evorl

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/records"
)

// Result is the summary of a run.
type Result struct {
	Workflow   string  `json:"workflow"`
	Env        string  `json:"env"`
	Seed       uint32  `json:"seed"`
	Device     string  `json:"device"`
	Iterations int     `json:"iterations"`  // completed
	EnvSteps   int64   `json:"env_steps"`   // over all members; 0 for problems
	Evaluated  int64   `json:"evaluations"` // candidates evaluated by a search, over all members; 0 for agents
	Measure    string  `json:"measure"`     // the meaning of the returns below; see Config.Measure
	Seconds    float64 `json:"seconds"`     // wall time, including start-up and compilation
	BestReturn Number  `json:"best_return"` // of the best member: the mean over its evaluation episodes
	BestAgain  *Again  `json:"best_again"`  // the best member in other episodes; null: not evaluated again
	MeanReturn Number  `json:"mean_return"` // over the members
	RunDir     string  `json:"run_dir"`
	Digest     string  `json:"digest"`                // over all checkpointed tensors
	From       int     `json:"resumed_from"`          // iterations completed by earlier sessions
	Stopped    bool    `json:"interrupted,omitempty"` // stopped before the last iteration

	Best *Best `json:"best"` // over all evaluations; null: none is kept

	EvaluatedAt int      `json:"evaluated_at"` // iteration after which the returns were measured; 0: none
	Members     []Member `json:"-"`            // best first; those without a return last
}

// Number is a float64 that is null in JSON if it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Member is one member at the end of a run.
type Member struct {
	Index     int
	Return    float64            // mean over its evaluation episodes
	Deviation float64            // standard deviation over its evaluation episodes
	Ancestor  int                // with PBT the member of the first generation from which it descends, else itself
	Hyper     map[string]float64 // values of the searched hyperparameters; empty if none
}

// Result returns the summary of the run. Unless the run was interrupted, it evaluates the members if the last iteration
// did not, and the best ones again, in [evaluation] best_episodes new episodes.
func (r *Run) Result(ctx context.Context) (Result, error) {
	if err := r.usable(); err != nil {
		return Result{}, err
	}
	out := Result{
		Workflow: r.cfg.Run.Workflow, Env: r.cfg.Run.Env, Seed: r.cfg.Run.Seed, Device: r.eng.Device().Info().Name,
		Iterations: r.done, EnvSteps: r.steps, Evaluated: records.Evaluations(r.workflow, r.done), Measure: r.cfg.Measure(), RunDir: r.dir.Path(), From: r.from,
		Stopped:    r.outcomeText() == interrupted,
		BestReturn: Number(math.NaN()), MeanReturn: Number(math.NaN()), Best: r.best,
	}
	if !out.Stopped && (r.evaluation == nil || r.evaluatedAt != r.done) {
		e, err := r.workflow.Evaluate(ctx, r.cfg.Evaluation.Episodes)
		if err != nil {
			return Result{}, err
		}
		r.evaluation, r.evaluatedAt = &e, r.done
	}
	var err error
	out.EvaluatedAt = r.evaluatedAt
	if r.evaluation != nil {
		if out.Members, err = rankMembers(ctx, r.workflow, *r.evaluation); err != nil {
			return Result{}, err
		}
		if x := slices.DeleteFunc(r.evaluation.Means(), math.IsNaN); len(x) > 0 {
			out.BestReturn, out.MeanReturn = Number(slices.Max(x)), Number(metrics.Mean(x))
		}
	}
	if out.Digest, err = r.workflow.State().Digest(ctx); err != nil {
		return Result{}, err
	}
	err = r.evaluateBest(ctx, &out)
	out.Seconds = r.Seconds()
	return out, err
}

// population is a workflow that describes its members.
type population interface {
	Members(ctx context.Context) ([]hybrid.Member, error)
}

// rankMembers lists the members of a workflow by an evaluation, best first and those without a return last.
func rankMembers(ctx context.Context, w engine.Workflow, e engine.Evaluation) ([]Member, error) {
	members := make([]Member, len(e.Returns))
	for i, episodes := range e.Returns {
		x := records.Widen(episodes)
		members[i] = Member{Index: i, Return: metrics.Mean(x), Deviation: records.Deviation(x), Ancestor: i}
	}
	if p, ok := w.(population); ok {
		known, err := p.Members(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range known {
			members[m.Index].Ancestor, members[m.Index].Hyper = m.Ancestor, m.Hyper
		}
	}
	// cmp.Compare orders NaN below every number.
	slices.SortStableFunc(members, func(a, b Member) int { return cmp.Compare(b.Return, a.Return) })
	return members, nil
}

// Measures of evaluations. All are maximised.
const (
	Return      = "return"      // undiscounted, per episode
	Fitness     = "fitness"     // of a problem's solution
	Accuracy    = "accuracy"    // the share of test images that a problem's solution tells apart
	Score       = "score"       // of a problem's picture: one minus its mean squared error from the target
	Hypervolume = "hypervolume" // of a set of solutions, where the true front is unknown; see indicator.Hypervolume
	NegativeIGD = "-IGD+"       // the negative distance of a set of solutions from the true front; see indicator.IGDPlus
)

// Measure returns what evaluations of the workflow measure: Return, Fitness, Accuracy, Score, Hypervolume or NegativeIGD.
func (c *Config) Measure() string {
	solves, several := c.setup.Solves()
	switch {
	case !solves:
		return Return
	case several:
		return cmp.Or(c.setup.Measure(), NegativeIGD)
	}
	return cmp.Or(c.setup.Measure(), Fitness)
}

// StepsPerSecond is the metric of the speed of a session: environment steps of all members per second since its first iteration, in which kernels are
// compiled.
const StepsPerSecond = records.StepsPerSecond

// MemberMetric returns the name under which members.jsonl stores a metric of a member, such as return/3.
func MemberMetric(metric string, member int) string { return records.MemberMetric(metric, member) }

// Repetitions returns the records of a metric for each repetition of a run's experiment. If members are independent
// and members.jsonl has the metric of each, these are the members' records, under the metric's own name; otherwise
// the run's. cfg is the run's configuration; nil: unknown. damage describes damaged lines, which are skipped.
func Repetitions(cfg *Config, path, metric string) (of [][]metrics.Record, damage *metrics.LineError, err error) {
	return recordsOf(cfg, path).Repetitions(metric)
}

// Scores returns the final values of a metric for each repetition of a run, see Repetitions: the mean of the last
// over values. For a metric that metrics.jsonl stores as statistics it is the mean over the members, for a population
// under selection the best member's. Repetitions without a finite value are omitted; it is an error if none is left.
func Scores(cfg *Config, path, metric string, over int) (of []float64, damage *metrics.LineError, err error) {
	return recordsOf(cfg, path).Scores(metric, over)
}

// recordsOf returns the records of a run. cfg may be nil.
func recordsOf(cfg *Config, path string) records.Run {
	if cfg == nil {
		return records.Run{Path: path}
	}
	return records.Run{Path: path, Members: cfg.Members(), Independent: cfg.Independent(), Selects: cfg.Selects()}
}
