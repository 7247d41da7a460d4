package progress

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// rateWindow is the time over which rates are measured.
const rateWindow = 15 * time.Second

// tracker knows how fast a run goes.
type tracker struct {
	Measure string // what the score is; "": return
	Workers int    // that share the run; 0: it is not shared
	Divides string // what they share; "": it is not said
	total   int64  // iterations
	samples []sample
	awaits  bool // the first iteration, which compiles kernels and says nothing of the speed
}

type sample struct {
	at                  time.Time
	iteration, envSteps int64
}

// add adds the end of an iteration.
func (t *tracker) add(s sample) {
	if t.awaits {
		t.samples, t.awaits = nil, false
	}
	t.samples = append(t.samples, s)
	for len(t.samples) > 2 && s.at.Sub(t.samples[1].at) > rateWindow {
		t.samples = t.samples[1:]
	}
}

// speed is the environment steps for each second; ok is false where it is not known.
func (t *tracker) speed() (rate float64, ok bool) {
	first, last := t.samples[0], t.samples[len(t.samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 || last.envSteps <= first.envSteps {
		return 0, false
	}
	return float64(last.envSteps-first.envSteps) / seconds, true
}

// left is the time to the last iteration.
func (t *tracker) left() (d time.Duration, ok bool) {
	first, last := t.samples[0], t.samples[len(t.samples)-1]
	left := t.total - last.iteration
	if left <= 0 || last.iteration <= first.iteration {
		return 0, false
	}
	return time.Duration(float64(left) / float64(last.iteration-first.iteration) * float64(last.at.Sub(first.at))), true
}

// shared returns the number of workers, and what they share, as text.
func (t *tracker) shared() string {
	text := fmt.Sprintf("%d workers", t.Workers)
	if t.Workers == 1 {
		text = "1 worker"
	}
	if t.Divides != "" {
		text += " for the " + t.Divides
	}
	return text
}

// measure returns the name of the score, and it as text.
func (t *tracker) measure(score float64) (name, text string) {
	name, decimals := cmp.Or(t.Measure, "return"), 1
	if t.Measure != "" {
		decimals = 4
	}
	return name, name + " " + strconv.FormatFloat(score, 'f', decimals, 64)
}
