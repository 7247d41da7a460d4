package watch

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

const (
	// mostPoints is the maximum number of points of a curve, apart from its newest one. As many are kept for the curve of evaluations,
	// which are rarer. A metric of the page takes at most 2 × 600 × 8 bytes, and three times that as JSON.
	mostPoints = 600
	// maxMetricsLine is the length of the longest record of metrics that is read, in bytes. Records of every workflow take a few thousand.
	maxMetricsLine = 1 << 20
	// fresh is the age below which an answer is given again.
	fresh = time.Second
)

// metricsData is /metrics.json.
type metricsData struct {
	Iteration []int64            `json:"iteration"`
	EnvSteps  []int64            `json:"env_steps"`
	Seconds   []float64          `json:"seconds"`
	Values    map[string]numbers `json:"values"`
}

// numbers are null in JSON where they are not finite, and have the digits of a float32.
type numbers []float64

func (n numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, x, 'g', 9, 64)
		}
	}
	return append(b, ']'), nil
}

// curves holds the curves of a run for all readers of the page. They are thinned as they are read, so that most lines of a long file are
// counted and not parsed.
type curves struct {
	mu          sync.Mutex
	file        metrics.Follower
	lines       thinned
	evaluations thinned
	points      []point
	last        []byte // the newest line
	names       []string
	index       map[string]int // of names
	text        []byte         // the answer
	of          time.Time      // when it was made
}

// thinned counts what a curve is thinned of.
type thinned struct{ count, stride int }

// add counts one more and reports whether it is kept.
func (t *thinned) add() (at int, kept bool) {
	at = t.count
	t.count++
	return at, t.keeps(at)
}

func (t *thinned) keeps(at int) bool { return at >= 0 && at%t.stride == 0 }

// widen doubles the distance between what is kept, if that is too much.
func (t *thinned) widen() bool {
	if (t.count+t.stride-1)/t.stride <= mostPoints {
		return false
	}
	t.stride *= 2
	return true
}

// point is a record that is kept.
type point struct {
	line, evaluation   int // its numbers, from 0; -1: it has no evaluation
	iteration, envStep int64
	seconds            float64
	values             []float64 // by name; NaN, and what is missing at the end: none
}

func newCurves(path string) *curves {
	c := &curves{file: metrics.Follower{Path: filepath.Join(path, rundir.MetricsFile), MaxLine: maxMetricsLine}}
	c.restart()
	return c
}

func (c *curves) restart() {
	c.lines, c.evaluations, c.points, c.last, c.names, c.index = thinned{0, 1}, thinned{0, 1}, nil, nil, nil, map[string]int{}
}

func (c *curves) serve(w http.ResponseWriter, _ *http.Request) {
	text, err := c.newest()
	writeText(w, text, err)
}

// newest reads what is new, and returns the answer to all readers.
func (c *curves) newest() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text != nil && time.Since(c.of) < fresh {
		return c.text, nil
	}
	begun, changed := c.lines.count, c.text == nil
	err := c.file.Next(func() { changed = true; c.restart() }, c.line)
	if err == nil && (changed || c.lines.count != begun) {
		c.text, err = json.Marshal(c.data())
	}
	c.of = time.Now()
	return c.text, err
}

var evaluationKey = []byte(`"evaluation` + metrics.MeanSuffix + `":`)

// line keeps a line or counts it.
func (c *curves) line(text []byte) {
	c.last = append(c.last[:0], text...)
	p := point{evaluation: -1}
	var kept, evaluated bool
	p.line, kept = c.lines.add()
	if bytes.Contains(text, evaluationKey) {
		p.evaluation, evaluated = c.evaluations.add()
	}
	if !kept && !evaluated || !c.parse(text, &p) {
		return
	}
	c.points = append(c.points, p)
	if widerLines, widerEvaluations := c.lines.widen(), c.evaluations.widen(); widerLines || widerEvaluations {
		c.points = slices.DeleteFunc(c.points, func(p point) bool { return !c.lines.keeps(p.line) && !c.evaluations.keeps(p.evaluation) })
	}
}

// parse reads a record; false: it is none.
func (c *curves) parse(text []byte, p *point) bool {
	var r metrics.Record
	if err := r.UnmarshalJSON(text); err != nil {
		return false
	}
	p.iteration, p.envStep, p.seconds = r.Iteration, r.EnvSteps, r.Seconds
	for name := range r.Values {
		if _, known := c.index[name]; !known {
			c.index[name] = len(c.names)
			c.names = append(c.names, name)
		}
	}
	p.values = slices.Repeat([]float64{math.NaN()}, len(c.names))
	for name, x := range r.Values {
		p.values[c.index[name]] = x
	}
	return true
}

// data returns the curves with the newest record.
func (c *curves) data() metricsData {
	points := c.points
	newest := point{line: c.lines.count - 1, evaluation: -1}
	if n := len(points); len(c.last) > 0 && (n == 0 || points[n-1].line != newest.line) && c.parse(c.last, &newest) {
		points = append(slices.Clone(points), newest)
	}
	out := metricsData{Iteration: []int64{}, EnvSteps: []int64{}, Seconds: []float64{}, Values: map[string]numbers{}}
	for _, name := range c.names {
		out.Values[name] = slices.Repeat(numbers{math.NaN()}, len(points))
	}
	for i, p := range points {
		out.Iteration, out.EnvSteps, out.Seconds = append(out.Iteration, p.iteration), append(out.EnvSteps, p.envStep), append(out.Seconds, p.seconds)
		for k, x := range p.values {
			out.Values[c.names[k]][i] = x
		}
	}
	return out
}
