package cmd

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/scores"
)

// comparison holds the scores of methods on tasks.
type comparison struct {
	metric         string
	over           int // number of values at the end of each run
	methods, tasks []string
	scores         []scores.Scores // [method][task][run]
	normalized     []scores.Scores
	low, high      []float64 // of each task: the scores that are normalized to 0 and 1
	given          bool      // all of them are given by a flag
}

// comparisonFlags are the flags that select what is compared.
type comparisonFlags struct {
	known  *evorl.Catalog
	metric string
	over   int
	labels []string
	ranges []string
}

// readComparison reads the runs and their scores.
func (f *comparisonFlags) readComparison(paths []string, warn func(string, ...any)) (*comparison, error) {
	if f.over < 1 {
		return nil, usagef("--over %d: want at least 1", f.over)
	}
	groups, err := readGroups(f.known, paths, warn)
	if err != nil {
		return nil, err
	}
	if f.metric == "" {
		f.metric = "evaluation"
	}
	c := &comparison{metric: f.metric, over: f.over}
	for _, g := range labelGroups(groups) {
		runs, err := g.group.scores(f.metric, f.over, warn)
		if err != nil {
			return nil, err
		}
		method, task := indexOf(&c.methods, g.method), indexOf(&c.tasks, g.task)
		for len(c.scores) < len(c.methods) {
			c.scores = append(c.scores, nil)
		}
		for m := range c.scores {
			for len(c.scores[m]) < len(c.tasks) {
				c.scores[m] = append(c.scores[m], nil)
			}
		}
		c.scores[method][task] = append(c.scores[method][task], runs...)
	}
	if len(f.labels) > 0 {
		if len(f.labels) != len(c.methods) {
			return nil, usagef("--label: %d labels for %s: %s", len(f.labels), plural(len(c.methods), "method"), strings.Join(c.methods, "; "))
		}
		c.methods = f.labels
	}
	return c, c.normalize(f.ranges)
}

// indexOf returns the index of a name, which it adds if it is new.
func indexOf(names *[]string, name string) int {
	if at := slices.Index(*names, name); at >= 0 {
		return at
	}
	*names = append(*names, name)
	return len(*names) - 1
}

// normalize maps scores so that a task's range becomes 0 to 1. The range is the flag's, otherwise the runs'.
func (c *comparison) normalize(ranges []string) error {
	c.low, c.high = make([]float64, len(c.tasks)), make([]float64, len(c.tasks))
	for task := range c.tasks {
		c.low[task], c.high[task] = math.Inf(1), math.Inf(-1)
		for _, of := range c.scores {
			for _, x := range of[task] {
				c.low[task], c.high[task] = min(c.low[task], x), max(c.high[task], x)
			}
		}
	}
	given := map[string]bool{}
	for _, text := range ranges {
		name, low, high, err := parseRange(text)
		task := slices.IndexFunc(c.tasks, func(t string) bool { return t == name })
		switch {
		case err != nil:
			return err
		case task < 0:
			return usagef("--range %s: there are no runs of %s; there are those of: %s", text, name, strings.Join(c.tasks, "; "))
		}
		c.low[task], c.high[task], given[name] = low, high, true
	}
	c.given = len(given) == len(c.tasks)
	for _, of := range c.scores {
		c.normalized = append(c.normalized, scores.Normalize(of, c.low, c.high))
	}
	return nil
}

// parseRange reads ENV=LOW:HIGH.
func parseRange(text string) (name string, low, high float64, err error) {
	at := strings.LastIndexByte(text, '=')
	from, to, ok := strings.Cut(text[at+1:], ":")
	low, e1 := strconv.ParseFloat(from, 64)
	high, e2 := strconv.ParseFloat(to, 64)
	if at < 1 || !ok || e1 != nil || e2 != nil || !(low < high) || math.IsInf(high-low, 0) {
		return "", 0, 0, usagef("--range %s: want ENV=LOW:HIGH with finite LOW below HIGH, such as CartPole-v1=20:500", text)
	}
	return text[:at], low, high, nil
}

// normalizedBy describes the scores that become 0 and 1.
func (c *comparison) normalizedBy() string {
	if c.given {
		return "0 and 1 are the ends of --range"
	}
	return "0 is the lowest run of an environment and 1 the highest; see --range"
}

// missing returns, by method, the tasks without runs of a method that has some.
func (c *comparison) missing() map[int][]string {
	out := map[int][]string{}
	for m, of := range c.scores {
		for task, runs := range of {
			if len(runs) == 0 {
				out[m] = append(out[m], c.tasks[task])
			}
		}
	}
	return out
}

// pairs returns the probabilities of improvement of all pairs of methods, the likelier winner first.
func (c *comparison) pairs(b scores.Bootstrap) (out []improvement, err error) {
	for i, x := range c.scores {
		for j := range i {
			over, of := i, j
			if scores.Improvement(x, c.scores[j]) < 0.5 {
				over, of = j, i
			}
			p, err := b.Improvement(c.scores[over], c.scores[of])
			if err != nil {
				return nil, err
			}
			if !math.IsNaN(p.Value) {
				out = append(out, improvement{c.methods[over], c.methods[of], interval(p)})
			}
		}
	}
	return out, nil
}
