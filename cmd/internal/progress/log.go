package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Log shows a run where there is no terminal: a line every few seconds, as text or as JSON.
type Log struct {
	Name    string // of the run, in every line, where several are shown; "": one is
	out     io.Writer
	now     func() time.Time
	every   time.Duration
	asJSON  bool
	written time.Time
	tracker
}

// NewLog begins a log of a run that will have total iterations.
func NewLog(out io.Writer, total int64, every time.Duration, asJSON bool) *Log {
	return &Log{out: out, now: time.Now, every: every, asJSON: asJSON, tracker: tracker{total: total}}
}

// Fact is a name and a value of a line.
type Fact struct {
	Name  string
	Value any
}

// Event writes a line of its own: text, or an object with the event's name and the facts.
func (l *Log) Event(name, text string, facts ...Fact) {
	if !l.asJSON {
		if l.Name != "" {
			text = l.Name + ": " + strings.ReplaceAll(text, "\n", "\n"+l.Name+": ")
		}
		_, _ = io.WriteString(l.out, text+"\n") // a run does not stop because its log cannot be written
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"time":%q,"event":%q`, l.now().UTC().Format(time.RFC3339), name)
	if l.Name != "" {
		facts = append([]Fact{{"run", l.Name}}, facts...)
	}
	for _, f := range facts {
		if x, ok := f.Value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			f.Value = nil
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			value = []byte("null")
		}
		fmt.Fprintf(&b, ",%q:%s", f.Name, value)
	}
	_, _ = io.WriteString(l.out, b.String()+"}\n")
}

// Begin sets what is done already, where a run resumes.
func (l *Log) Begin(iteration, envSteps int64) {
	l.samples, l.awaits = []sample{{l.now(), iteration, envSteps}}, true
	l.written = l.now()
}

// Update writes the state after an iteration, if it is time for it or the last one. score is the return to show; NaN for none yet.
func (l *Log) Update(iteration, envSteps int64, score float64) {
	now := l.now()
	l.add(sample{now, iteration, envSteps})
	if now.Sub(l.written) < l.every && iteration < l.total {
		return
	}
	l.written = now
	name, measured := l.measure(score)
	facts := []Fact{{"iteration", iteration}, {"iterations", l.total}, {"env_steps", envSteps}, {name, score}}
	text := fmt.Sprintf("iteration %d/%d", iteration, l.total)
	if envSteps > 0 {
		text += "  steps " + short(float64(envSteps))
	}
	if !math.IsNaN(score) {
		text += "  " + measured
	}
	if rate, ok := l.speed(); ok {
		text += "  " + short(rate) + " steps/s"
		facts = append(facts, Fact{"steps_per_second", math.Round(rate)})
	}
	if l.Workers > 0 {
		text += "  " + l.shared()
		facts = append(facts, Fact{"workers", l.Workers})
		if l.Divides != "" {
			facts = append(facts, Fact{"divides", l.Divides})
		}
	}
	if left, ok := l.left(); ok {
		text += "  " + clock(left) + " left"
		facts = append(facts, Fact{"seconds_left", math.Round(left.Seconds())})
	}
	l.Event("progress", text, facts...)
}
