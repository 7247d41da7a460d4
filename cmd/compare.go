package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/scores"
)

// compared is the output of evorl compare --json.
type compared struct {
	Metric      string        `json:"metric"`
	Tasks       []taskScores  `json:"tasks"`
	All         []summary     `json:"all"` // of each method with runs on all tasks, normalized; empty with one task
	Improvement []improvement `json:"probability_of_improvement"`
}

// taskScores holds the methods' scores on a task.
type taskScores struct {
	Task    string    `json:"task"`
	Methods []summary `json:"methods"`
}

// summary summarizes a method's runs; on one task in the metric's own unit.
type summary struct {
	Method string    `json:"method"`
	Scores []float64 `json:"scores,omitempty"` // of each run, on a task
	Runs   int       `json:"runs"`
	Mean   interval  `json:"mean"`
	Median *interval `json:"median,omitempty"` // of the tasks' means
	IQM    interval  `json:"iqm"`              // inter-quartile mean
	Gap    *interval `json:"optimality_gap,omitempty"`
}

// improvement is the probability that a run of a method scores higher than one of another method.
type improvement struct {
	Method string   `json:"method"`
	Over   string   `json:"over"`
	P      interval `json:"p"`
}

// interval is an estimate with its 95% bootstrap interval; JSON has null for a missing bound.
type interval scores.Interval

func (i interval) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]evorl.Number{"value": evorl.Number(i.Value), "low": evorl.Number(i.Low), "high": evorl.Number(i.High)})
}

func newCompare(known *evorl.Catalog) *cobra.Command {
	f := &comparisonFlags{known: known}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare [flags] RUN_DIR...",
		Short: "Compare methods by the scores of their runs, with intervals",
		Long: paragraphs(
			"Compare methods by the last evaluation of their runs: mean, inter-quartile mean and the probability that a run of one scores higher "+
				"than a run of another, each with a 95% interval by the stratified bootstrap over the runs (Agarwal et al., \"Deep Reinforcement "+
				"Learning at the Edge of the Statistical Precipice\", 2021).",
			"Runs that differ in their seed, environment and number of iterations are runs of one method; others are told apart by the settings in which "+
				"they differ. Every member of an agent or a search counts as a run; a run of PBT counts as its best member.",
			"The repetitions of run --seeds are runs. A sweep is left out, with a word, unless it is all that is named: then its trials are compared.",
			"Several environments are summed up by normalized scores: 0 is the lowest run of an environment and 1 the highest, or the ends of its --range. "+
				"The optimality gap is what is missing to 1, on average.",
		),
		Example: "  evorl compare runs/ppo-Hopper-v5-* runs/td3-Hopper-v5-*\n" +
			"  evorl compare --range CartPole-v1=20:500 --range Pendulum-v1=-1200:-150 runs/*\n" +
			"  evorl compare --metric return --over 10 runs/*",
		Args: between(1, math.MaxInt, "want at least one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			warning := func(format string, args ...any) { warn(cmd.ErrOrStderr(), format, args...) }
			c, err := f.readComparison(args, warning)
			if err != nil {
				return err
			}
			for m, missing := range c.missing() {
				warning("%s has no runs on %s: it is left out of what sums up all environments", c.methods[m], strings.Join(missing, ", "))
			}
			all, err := c.compare(scores.Bootstrap{})
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), c.text(all))
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringArrayVar(&f.labels, "label", nil, "`LABEL` of a method, once for each (default the workflow and the settings that differ)")
	cmd.Flags().StringVar(&f.metric, "metric", "evaluation", "compare by `NAME`: evaluation, return or any other in metrics.jsonl that is better when higher")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON: an object")
	return cmd
}

// add adds the flags that evorl plot also has.
func (f *comparisonFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.over, "over", 1, "a run's score is the mean of the last `N` values")
	cmd.Flags().StringArrayVar(&f.ranges, "range", nil, "`ENV=LOW:HIGH` scores that become 0 and 1 when environments are summed up (repeatable)")
}

// compare makes all estimates.
func (c *comparison) compare(b scores.Bootstrap) (out compared, err error) {
	out.Metric = c.metric
	for task, name := range c.tasks {
		of := taskScores{Task: name}
		for m, method := range c.methods {
			runs := c.scores[m][task]
			if len(runs) == 0 {
				continue
			}
			s := summary{Method: method, Scores: runs, Runs: len(runs)}
			if err := estimate(b, scores.Scores{runs}, map[*interval]scores.Statistic{&s.Mean: scores.Mean, &s.IQM: scores.IQM}); err != nil {
				return out, err
			}
			of.Methods = append(of.Methods, s)
		}
		out.Tasks = append(out.Tasks, of)
	}
	if len(c.tasks) > 1 {
		missing := c.missing()
		for m, method := range c.methods {
			if missing[m] != nil {
				continue
			}
			s := summary{Method: method, Runs: len(slices.Concat(c.scores[m]...)), Median: new(interval), Gap: new(interval)}
			err := estimate(b, c.normalized[m], map[*interval]scores.Statistic{
				&s.Mean: scores.Mean, s.Median: scores.Median, &s.IQM: scores.IQM, s.Gap: scores.OptimalityGap(1),
			})
			if err != nil {
				return out, err
			}
			out.All = append(out.All, s)
		}
	}
	out.Improvement, err = c.pairs(b)
	return out, err
}

func estimate(b scores.Bootstrap, of scores.Scores, statistics map[*interval]scores.Statistic) error {
	for to, statistic := range statistics {
		got, err := b.Of(of, statistic)
		if err != nil {
			return err
		}
		*to = interval(got)
	}
	return nil
}

// text formats the tables.
func (c *comparison) text(of compared) string {
	var b strings.Builder
	what := "the last " + c.metric
	if c.over > 1 {
		what = fmt.Sprintf("the mean of the last %d values of %s", c.over, c.metric)
	}
	for _, t := range of.Tasks {
		fmt.Fprintf(&b, "%s, by %s of each run\n\n", t.Task, what)
		rows := [][]string{{"method", "runs", "mean", "95%", "IQM", "95%", "lowest", "highest"}}
		for _, s := range t.Methods {
			rows = append(rows, slices.Concat([]string{s.Method, strconv.Itoa(s.Runs)}, s.Mean.cells(short), s.IQM.cells(short),
				[]string{short(slices.Min(s.Scores)), short(slices.Max(s.Scores))}))
		}
		writeLeft(&b, rows)
		b.WriteByte('\n')
	}
	if len(of.All) > 0 {
		fmt.Fprintf(&b, "all %d environments; %s\n\n", len(of.Tasks), c.normalizedBy())
		rows := [][]string{{"method", "runs", "mean", "95%", "median", "95%", "IQM", "95%", "optimality gap", "95%"}}
		for _, s := range of.All {
			rows = append(rows, slices.Concat([]string{s.Method, strconv.Itoa(s.Runs)}, s.Mean.cells(share), s.Median.cells(share), s.IQM.cells(share),
				s.Gap.cells(share)))
		}
		writeLeft(&b, rows)
		b.WriteByte('\n')
	}
	if len(of.Improvement) > 0 {
		b.WriteString("probability that a run scores higher\n\n")
		rows := [][]string{{"method", "P", "95%"}}
		for _, p := range of.Improvement {
			rows = append(rows, append([]string{p.Method + " over " + p.Over}, p.P.cells(share)...))
		}
		writeLeft(&b, rows)
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// cells formats value and interval.
func (i interval) cells(number func(float64) string) []string {
	if math.IsNaN(i.Low) {
		return []string{number(i.Value), "-"}
	}
	return []string{number(i.Value), "[" + number(i.Low) + ", " + number(i.High) + "]"}
}

// share formats a normalized score or a probability.
func share(x float64) string {
	if math.IsNaN(x) {
		return "none"
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// writeLeft writes rows, the first column left-aligned and the others right-aligned.
func writeLeft(b *strings.Builder, rows [][]string) {
	width := 0
	for _, row := range rows {
		width = max(width, len([]rune(row[0])))
	}
	for _, row := range rows {
		row[0] += strings.Repeat(" ", width-len([]rune(row[0])))
	}
	writeColumns(b, rows)
}
