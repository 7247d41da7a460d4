// Package progress shows a run on one line of a terminal:
//
//	123/500 ━━━━━━━━━╸────────────────────────────  1.23M env steps/s  return 432.1  ETA 1m12s
package progress

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	redrawEvery = 100 * time.Millisecond // more often is only flicker
	widestBar   = 40
	clearLine   = "\r\x1b[K"
)

// Bar is a progress line. Where there is no terminal it draws nothing. It is also the [io.Writer] for everything else that goes to
// the same terminal while it is shown, such as a log, so that the two do not mix.
type Bar struct {
	mu      sync.Mutex
	out     io.Writer
	width   func() int // columns; 0: no terminal
	now     func() time.Time
	tracker // of the run
	line    string
	drawn   time.Time
	ended   bool
}

// New begins a line on f for a run that will have total iterations.
func New(f *os.File, total int64) *Bar {
	width := func() int {
		w, _, err := term.GetSize(int(f.Fd()))
		if err != nil || os.Getenv("TERM") == "dumb" {
			return 0
		}
		return w
	}
	return newBar(f, width, time.Now, total)
}

func newBar(out io.Writer, width func() int, now func() time.Time, total int64) *Bar {
	b := &Bar{out: out, width: width, now: now, tracker: tracker{total: total}}
	b.Begin(0, 0)
	return b
}

// Begin sets what is done already, where a run resumes.
func (b *Bar) Begin(iteration, envSteps int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.samples = []sample{{b.now(), iteration, envSteps}}
}

// Await shows what the run waits for until its first iteration is done. Speed and remaining time leave that iteration out.
func (b *Bar) Await(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaits = true
	if width := b.width(); width > 0 && !b.ended {
		b.line = b.render(width, what)
		b.draw(clearLine + b.line)
	}
}

// Share sets how many workers share the run, which Update shows.
func (b *Bar) Share(workers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Workers = workers
}

// Update shows the state after an iteration. score is the return to show; NaN for none yet.
func (b *Bar) Update(iteration, envSteps int64, score float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.ended || now.Sub(b.drawn) < redrawEvery && iteration < b.total {
		return
	}
	b.add(sample{now, iteration, envSteps})
	b.drawn = now
	if width := b.width(); width > 0 {
		b.line = b.render(width, b.facts(score)...)
		b.draw(clearLine + b.line)
	}
}

// Write writes p to the same place, above the line.
func (b *Bar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line == "" {
		return b.out.Write(p)
	}
	b.draw(clearLine)
	n, err := b.out.Write(p)
	if err == nil && strings.HasSuffix(string(p), "\n") {
		b.draw(b.line)
	}
	return n, err
}

// Clear takes the line away; what is written after it begins the line anew.
func (b *Bar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line != "" {
		b.draw(clearLine)
	}
	b.line, b.ended = "", true
}

// End leaves the line as it stands and goes on to the next; a second End does nothing.
func (b *Bar) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line != "" {
		b.draw("\n")
	}
	b.line, b.ended = "", true
}

// draw writes to the terminal. That it cannot be shown must not stop a run, so an error is dropped.
func (b *Bar) draw(text string) { _, _ = io.WriteString(b.out, text) }

// facts are what is known of the run: its speed, return and remaining time.
func (b *Bar) facts(score float64) (facts []string) {
	if rate, ok := b.speed(); ok {
		facts = append(facts, short(rate)+" env steps/s")
	}
	if !math.IsNaN(score) {
		_, measured := b.measure(score)
		facts = append(facts, measured)
	}
	if b.Workers > 0 {
		facts = append(facts, b.shared())
	}
	if left, ok := b.left(); ok {
		facts = append(facts, "ETA "+clock(left))
	}
	return facts
}

// render fits the line to the columns: the bar shrinks first, then facts go from the right.
func (b *Bar) render(columns int, facts ...string) string {
	last := b.samples[len(b.samples)-1]
	count := fmt.Sprintf("%*d/%d", len(strconv.FormatInt(b.total, 10)), last.iteration, b.total)
	for columns--; ; facts = facts[:len(facts)-1] { // the last column stays free: some terminals wrap when it is written
		tail := ""
		for _, f := range facts {
			tail += "  " + f
		}
		room := columns - len(count) - utf8.RuneCountInString(tail) - 1
		const narrowest = 5
		if room >= narrowest {
			return count + " " + bar(min(room, widestBar), float64(last.iteration)/float64(max(b.total, 1))) + tail
		}
		if len(facts) == 0 {
			return count[:max(0, min(len(count), columns))]
		}
	}
}

// bar draws a share of a width, to half a column.
func bar(width int, share float64) string {
	halves := int(min(max(share, 0), 1) * float64(2*width))
	text := strings.Repeat("━", halves/2)
	if halves%2 == 1 {
		text += "╸"
	}
	return text + strings.Repeat("─", width-(halves+1)/2)
}

// short writes a rate with three significant digits: 1.23M.
func short(x float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1000, u
	}
	digits := 0
	if unit != "" {
		digits = max(0, min(2, 2-int(math.Floor(math.Log10(x)))))
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + unit
}

// clock writes a duration in its two largest units: 45s, 1m05s, 2h03m.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
