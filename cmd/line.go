package cmd

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/progress"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/vk"
)

// lineFlags select how progress is shown.
type lineFlags struct {
	quiet  bool
	format string
	every  time.Duration
}

// formats are the values of --log-format; true: JSON.
var formats = map[string]bool{"text": false, "json": true}

func (f *lineFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	cmd.Flags().StringVar(&f.format, "log-format", "text", "progress as `FORMAT` on standard error: text (one line that changes on a terminal, elsewhere a "+
		"line every few seconds) or json (an object a line)")
	cmd.Flags().DurationVar(&f.every, "log-every", 5*time.Second, "`TIME` between lines of progress")
	complete(cmd, "log-format", "text", "json")
}

// check checks the flags.
func (f *lineFlags) check() error {
	if _, err := choose("--log-format", f.format, formats); err != nil {
		return err
	}
	if f.every < 0 {
		return usagef("--log-every %v: want at least 0s", f.every)
	}
	return nil
}

// line shows progress, on a terminal in one line that is overwritten, elsewhere in one line each. It also passes on
// other output.
type line struct {
	io.Writer
	bar    *progress.Bar
	log    *progress.Log
	asJSON bool
	metric string // that is shown
	score  float64
	run    *evorl.Run // nil: it has not begun
}

// shownMeasures are the measures of problems that the line shows, with the metrics that have them during learning.
var shownMeasures = map[string]string{evorl.Accuracy: "accuracy", evorl.Score: "fitness/best"}

// deviceNames names the devices of a run, equal ones once.
func deviceNames(devices []*vk.Device) string {
	counts, names := map[string]int{}, []string{}
	for _, dev := range devices {
		name := dev.Info().Name
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := counts[name]; n > 1 {
			names[i] = fmt.Sprintf("%d × %s", n, name)
		}
	}
	return strings.Join(names, " and ")
}

// newLine starts to show a run of a configuration in a directory. name tells it from others that are shown; "": there are none.
func (f *lineFlags) newLine(w io.Writer, name string, cfg *evorl.Config, devices []*vk.Device, path string) *line {
	total, device := int64(cfg.Run.Iterations), deviceNames(devices)
	l := &line{Writer: w, metric: engine.ReturnMetric, score: math.NaN(), asJSON: formats[f.format]}
	if f.quiet {
		return l
	}
	l.log = progress.NewLog(w, total, f.every, l.asJSON)
	l.log.Name = name
	measure := ""
	if metric, ok := shownMeasures[cfg.Measure()]; ok {
		l.metric, measure = metric, cfg.Measure()
	}
	if cfg.Run.Workflow == "self-play" { // whose returns are against opponents that grow with it
		l.metric, measure = hybrid.WinRateMetric, "win rate"
	}
	l.log.Measure, l.log.Divides = measure, cfg.Divides()
	text := fmt.Sprintf("%s on %s, seed %d, on %s\nin %s", cfg.Run.Workflow, cfg.Run.Env, cfg.Run.Seed, device, path)
	facts := []progress.Fact{{Name: "run_dir", Value: path}, {Name: "workflow", Value: cfg.Run.Workflow}, {Name: "env", Value: cfg.Run.Env},
		{Name: "seed", Value: cfg.Run.Seed}, {Name: "device", Value: device}}
	if varies := cfg.Varies(); varies != "" {
		text, facts = text+"\n"+varies, append(facts, progress.Fact{Name: "varies", Value: varies})
	}
	l.log.Event("run", text, facts...)
	if file, ok := w.(*os.File); ok && onTerminal(w) && !l.asJSON {
		l.log = nil
		l.bar = progress.New(file, total)
		l.bar.Measure, l.bar.Divides = measure, cfg.Divides()
		l.bar.Await("compiling kernels")
		l.Writer = l.bar
	}
	return l
}

// workers returns how many devices share the run; 0: it is not shared.
func (l *line) workers() int {
	if l.run == nil || l.run.Workers() == nil {
		return 0
	}
	return l.run.Taking()
}

// begin shows the state of the run and that its first iteration has begun.
func (l *line) begin(s *evorl.Run) {
	l.run = s
	switch {
	case l.bar != nil:
		l.bar.Begin(int64(s.From()), s.EnvSteps())
		l.bar.Await("first iteration")
	case l.log != nil:
		l.log.Begin(int64(s.From()), s.EnvSteps())
	}
}

// show is an engine.Hook.
func (l *line) show(_ context.Context, r engine.Report) error {
	if x := meanOf(r.Metrics[l.metric]); !math.IsNaN(x) {
		l.score = x // the last value remains until an episode ends
	}
	switch workers := l.workers(); {
	case l.bar != nil:
		l.bar.Share(workers)
		l.bar.Update(int64(r.Iteration), r.EnvSteps, l.score)
	case l.log != nil:
		l.log.Workers = workers
		l.log.Update(int64(r.Iteration), r.EnvSteps, l.score)
	}
	return nil
}

// tell writes a line that is not progress, even with --quiet.
func (l *line) tell(name, text string, facts ...progress.Fact) {
	if l.log != nil {
		l.log.Event(name, text, facts...)
		return
	}
	fmt.Fprintln(l, text)
}

// newTeller returns a line of no run, to tell what concerns several.
func (f *lineFlags) newTeller(w io.Writer) *line {
	l := &line{Writer: w, asJSON: formats[f.format]}
	if !f.quiet {
		l.log = progress.NewLog(w, 0, f.every, l.asJSON)
	}
	return l
}

// tellWorkers writes how workers join the run, whose key has what they execute signed; "": nothing is.
func (l *line) tellWorkers(cmd *cobra.Command, address, key string) {
	command, facts := cmd.Root().Name()+" worker ", []progress.Fact{{Name: "address", Value: address}}
	if key != "" {
		command += "--trust " + key + " "
		facts = append(facts, progress.Fact{Name: "key", Value: key})
	}
	l.tell("workers", "workers join by: "+command+address, facts...)
}

// warn shows a warning: something that does not end the run.
func (l *line) warn(text string) {
	if l.log != nil && l.asJSON {
		l.log.Event("warning", "", progress.Fact{Name: "text", Value: text})
		return
	}
	warn(l, "%s", text)
}

// meanOf returns the mean of a metric over the members that have it, such as the return of those of which training episodes ended; NaN if none has.
func meanOf(members []float32) float64 {
	sum, n := 0.0, 0
	for _, x := range members {
		if !math.IsNaN(float64(x)) {
			sum, n = sum+float64(x), n+1
		}
	}
	return sum / float64(n)
}

// clear removes the line if no iteration has been shown.
func (l *line) clear() {
	if l.bar != nil {
		l.bar.Clear()
	}
}

func (l *line) end() {
	if l.bar != nil {
		l.bar.End()
	}
}

func onTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
