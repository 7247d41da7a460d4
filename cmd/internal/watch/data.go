package watch

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// runData is /run.json.
type runData struct {
	Title      string `json:"title"`
	Path       string `json:"run_dir"`
	Iterations int    `json:"iterations"`
	Priority   string `json:"metric"`
	Lineage    bool   `json:"lineage"`
	Episodes   bool   `json:"episodes"`
	Checkpoint int64  `json:"checkpoint"` // the newest; 0: none yet
}

func (s Source) serveRun(w http.ResponseWriter, _ *http.Request) {
	newest, err := newestCheckpoint(s.Path)
	writeJSON(w, runData{s.Title, s.Path, s.Total, s.Priority, s.Lineage != nil, s.Episode != nil, newest}, err)
}

// newestCheckpoint is the iteration of the newest checkpoint; 0: there is none yet.
func newestCheckpoint(path string) (int64, error) {
	steps, err := checkpoint.Steps(filepath.Join(path, rundir.CheckpointsDir))
	if err != nil || len(steps) == 0 {
		return 0, err
	}
	return slices.Max(steps), nil
}

// mostPoints is the maximum number of points of a curve, except for those that are kept for the curve of evaluations,
// which is thinned to as many.
const mostPoints = 600

// metricsData is /metrics.json: numbers that are not finite are null.
type metricsData struct {
	Iteration []int64               `json:"iteration"`
	EnvSteps  []int64               `json:"env_steps"`
	Seconds   []float64             `json:"seconds"`
	Values    map[string][]*float64 `json:"values"`
}

func (s Source) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	records, err := readRecords(filepath.Join(s.Path, rundir.MetricsFile))
	out := metricsData{Iteration: []int64{}, EnvSteps: []int64{}, Seconds: []float64{}, Values: map[string][]*float64{}}
	isEvaluated := func(r metrics.Record) bool { _, ok := r.Values["evaluation"+metrics.MeanSuffix]; return ok }
	evaluations := 0
	for _, r := range records {
		if isEvaluated(r) {
			evaluations++
		}
	}
	stride, each := strideOf(len(records)), strideOf(evaluations)
	evaluations = 0
	for i, r := range records {
		kept := i%stride == 0 || i == len(records)-1
		if isEvaluated(r) {
			kept = kept || evaluations%each == 0
			evaluations++
		}
		if !kept {
			continue
		}
		at := len(out.Iteration)
		out.Iteration, out.EnvSteps, out.Seconds = append(out.Iteration, r.Iteration), append(out.EnvSteps, r.EnvSteps), append(out.Seconds, r.Seconds)
		for name, x := range r.Values {
			values := out.Values[name]
			for len(values) < at {
				values = append(values, nil)
			}
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				values = append(values, &x)
			}
			out.Values[name] = values
		}
	}
	for name, values := range out.Values {
		for len(values) < len(out.Iteration) {
			values = append(values, nil)
		}
		out.Values[name] = values
	}
	writeJSON(w, out, err)
}

// strideOf returns the distance between the points that are kept of n.
func strideOf(n int) int { return max(1, (n+mostPoints-1)/mostPoints) }

// readRecords reads records of a run at work. A file that is not there yet has none, and lines that are no records are left out.
func readRecords(path string) ([]metrics.Record, error) {
	records, _, err := metrics.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return records, err
}

// membersData is /members.json: a row of each member, in their order.
type membersData struct {
	Columns []string     `json:"columns"`
	Rows    [][]*float64 `json:"rows"` // null: none
}

func (s Source) serveMembers(w http.ResponseWriter, _ *http.Request) {
	records, err := readRecords(filepath.Join(s.Path, rundir.MembersFile))
	if err != nil {
		writeError(w, err)
		return
	}
	lineage, err := readRecords(filepath.Join(s.Path, rundir.LineageFile))
	writeJSON(w, membersOf(records, lineage), err)
}

// membersOf is the newest value of each member: its returns, and what the newest exchange says of it.
func membersOf(records, lineage []metrics.Record) membersData {
	rows := map[int]map[string]float64{}
	set := func(member int, name string, x float64) {
		if rows[member] == nil {
			rows[member] = map[string]float64{}
		}
		if _, known := rows[member][name]; !known {
			rows[member][name] = x
		}
	}
	for _, r := range slices.Backward(records) {
		for name, x := range r.Values {
			at := strings.LastIndexByte(name, '/')
			if member, err := strconv.Atoi(name[at+1:]); err == nil && at > 0 {
				set(member, name[:at], x)
			}
		}
	}
	names := []string{}
	for _, r := range slices.Backward(lineage) {
		if r.Iteration != lineage[len(lineage)-1].Iteration {
			break
		}
		for name, x := range r.Values {
			if name != "member" {
				set(int(r.Values["member"]), name, x)
			}
		}
	}
	for _, row := range rows {
		for name := range row {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return order(a, b) })
	out := membersData{Columns: append([]string{"member"}, names...), Rows: [][]*float64{}}
	for _, member := range slices.Sorted(maps.Keys(rows)) {
		row := []*float64{number(float64(member))}
		for _, name := range names {
			if x, ok := rows[member][name]; ok {
				row = append(row, number(x))
			} else {
				row = append(row, nil)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// order puts scores before what they come from.
func order(a, b string) int {
	first := []string{"evaluation", "return", "fitness", "parent"}
	rank := func(name string) int {
		if at := slices.Index(first, name); at >= 0 {
			return at
		}
		return len(first)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// number is nil where x is not finite.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (s Source) serveLineage(w http.ResponseWriter, r *http.Request) {
	if s.Lineage == nil {
		http.NotFound(w, r)
		return
	}
	var b bytes.Buffer
	if err := s.Lineage(&b); err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(b.Bytes()) // the browser is gone
}
