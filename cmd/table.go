package cmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evorl/evorl"
)

// shownMembers is the number of members in the final table.
const shownMembers = 10

// writeResult shows the best members with their hyperparameters.
func writeResult(w io.Writer, r evorl.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s", r.Workflow, r.Env, plural(r.Iterations, "iteration"))
	switch {
	case r.EnvSteps > 0:
		fmt.Fprintf(&b, ", %s env steps", thousands(r.EnvSteps))
	case r.Evaluated > 0:
		fmt.Fprintf(&b, ", %s evaluations", thousands(r.Evaluated))
	}
	fmt.Fprintf(&b, " in %s", clock(r.Seconds))
	if r.EnvSteps > 0 && r.Seconds > 0 && r.From == 0 {
		fmt.Fprintf(&b, " (%s/s)", thousands(int64(float64(r.EnvSteps)/r.Seconds)))
	}
	b.WriteString("\n\n")
	if len(r.Members) > 0 {
		writeMembers(&b, r.Measure, r.Members)
		fmt.Fprintf(&b, "\n%-7s best %s%s, mean of all %s", r.Measure, short(float64(r.BestReturn)), againText(r.BestAgain), short(float64(r.MeanReturn)))
		if r.EvaluatedAt != r.Iterations {
			fmt.Fprintf(&b, ", at iteration %d", r.EvaluatedAt)
		}
		b.WriteByte('\n')
	}
	if best := r.Best; best != nil && best.Iteration != r.EvaluatedAt {
		fmt.Fprintf(&b, "kept    the best evaluated: %s%s, member %d at iteration %d (evorl eval --best)\n", short(float64(best.Return)), againText(best.Again),
			best.Member, best.Iteration)
	}
	fmt.Fprintf(&b, "run     %s\ndigest  %s\n", r.RunDir, r.Digest)
	_, err := io.WriteString(w, b.String())
	return err
}

// againText tells what the best did in new episodes; "" where it was not evaluated again.
func againText(a *evorl.Again) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf(" (%s ± %s in %s)", short(float64(a.Return)), short(float64(a.Deviation)), plural(a.Episodes, "new episode"))
}

// choiceText tells by what a member was chosen, and what it did in new episodes.
func choiceText(c evorl.Choice) string {
	return fmt.Sprintf("best: %s over %s%s", short(float64(c.Return)), plural(c.Episodes, "episode"), againText(c.Again))
}

// plural formats a count, such as 1 iteration or 2 iterations.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// writeMembers writes the table of the best members; measure names the score.
func writeMembers(b *strings.Builder, measure string, members []evorl.Member) {
	names := slices.Sorted(maps.Keys(members[0].Hyper))
	// Names of two words take two lines, so that the table fits a terminal.
	upper, lower := []string{"", "", "", ""}, []string{"", "member", measure, "±"}
	if len(names) > 0 {
		upper, lower = append(upper, ""), append(lower, "ancestor")
	}
	for _, name := range names {
		first, rest, ok := strings.Cut(name, "_")
		if !ok {
			first, rest = "", name
		}
		upper, lower = append(upper, first), append(lower, rest)
	}
	rows := [][]string{lower}
	if strings.Join(upper, "") != "" {
		rows = [][]string{upper, lower}
	}
	for i, m := range members[:min(len(members), shownMembers)] {
		row := []string{strconv.Itoa(i + 1), strconv.Itoa(m.Index), short(m.Return), short(m.Deviation)}
		if len(names) > 0 {
			row = append(row, strconv.Itoa(m.Ancestor))
		}
		for _, name := range names {
			row = append(row, hyper(m.Hyper[name]))
		}
		rows = append(rows, row)
	}
	writeColumns(b, rows)
	if more := len(members) - shownMembers; more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

// hyper formats a hyperparameter with three or four digits; values just below 1, such as discounts, with two
// significant digits of the difference from 1.
func hyper(x float64) string {
	switch {
	case x > 0.9 && x < 1:
		return strconv.FormatFloat(x, 'f', int(1-math.Floor(math.Log10(1-x))), 64)
	case math.Abs(x) >= 0.1:
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// writeColumns writes rows with right-aligned columns, two spaces apart.
func writeColumns(b *strings.Builder, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+cmp.Compare(i, 0)*2))
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
}

// short formats a return.
func short(x float64) string {
	if math.IsNaN(x) {
		return "none"
	}
	switch {
	case x != 0 && math.Abs(x) < 0.05: // such as the distance from an optimum
		return strconv.FormatFloat(x, 'g', 2, 64)
	case x > 0.9 && x < 1: // such as the score of a picture
		return strconv.FormatFloat(x, 'f', 4, 64)
	case x != 0 && math.Abs(x) < 1: // such as an accuracy
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// thousands formats a count with separators: 1,966,080.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// clock formats seconds: 12.3s, 2m41s.
func clock(seconds float64) string {
	if seconds < 60 {
		return strconv.FormatFloat(seconds, 'f', 1, 64) + "s"
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
