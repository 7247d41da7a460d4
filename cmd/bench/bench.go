// Package bench measures how fast a device runs what evorl is made of, each figure beside the limit that the device sets to it, measured
// too. The command evorl bench is one user of it.
package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// Suite is a list of cases that are measured together.
type Suite struct {
	Name    string
	Summary string

	cases func() []Case
}

// Cases lists what the suite measures. It looks environments up, which takes a while.
func (s Suite) Cases() []Case { return s.cases() }

// Case is one thing to measure.
type Case struct {
	Name    string
	Summary string
	Unit    string
	// GPU leaves the case out on software drivers, which would take minutes.
	GPU bool

	run func(context.Context, *bench) (figure, error)
}

// errSkip is the error of a case that this device has no room for.
var errSkip = errors.New("left out")

// figure is an outcome of a case; limit 0: the device sets none that is known.
type figure struct {
	value, limit float64
	kernels      []Kernel
}

// Measurement is one case on one device.
type Measurement struct {
	Suite    string   `json:"suite"`
	Case     string   `json:"case"`
	Summary  string   `json:"summary"` // of the case
	Device   string   `json:"device"`
	Value    float64  `json:"value"`
	Unit     string   `json:"unit"`
	Limit    *float64 `json:"limit"`             // what the device could do at most, in the same unit; null: not known
	Fraction *float64 `json:"fraction_of_limit"` // value / limit, or limit / value where less is better
	Kernels  []Kernel `json:"kernels,omitempty"` // of one run, the longest first; see Options.Profile
}

// Options are the settings of Run.
type Options struct {
	// Time is how long each case is measured, after it has run once. Default 2 s.
	Time time.Duration
	// Profile tells what each kernel of a rollout, of an iteration of PPO and of a generation takes of the device's time.
	Profile bool
	// Match leaves out the cases for which it is false; nil: none.
	Match func(Case) bool
}

// Suites lists what there is.
func Suites() []Suite {
	return []Suite{
		{"core", "the device's limits, matrix products, CartPole rollouts, PPO and PBT", core},
		{"physics", "rollouts of MuJoCo's locomotion suite with random actions, and compiling them", physics},
		{"ec", "generations of OpenES on swing-up and their memory; placements of networks; CMA-ES with a large matrix", evolution},
	}
}

// Lookup is the suite of a name.
func Lookup(name string) (Suite, bool) {
	for _, s := range Suites() {
		if s.Name == name {
			return s, true
		}
	}
	return Suite{}, false
}

// bench is what the cases of one device share.
type bench struct {
	eng     *engine.Engine
	time    time.Duration
	profile bool

	placed map[int]map[envs.Placement]float64 // environment steps a second, by the number of environments
}

// Run measures a suite on a device and reports each measurement as it is made.
func (s Suite) Run(ctx context.Context, dev *vk.Device, o Options, report func(Measurement) error) error {
	b := &bench{eng: engine.New(dev, engine.Seed(1)), time: o.Time, profile: o.Profile, placed: map[int]map[envs.Placement]float64{}}
	if b.time <= 0 {
		b.time = 2 * time.Second
	}
	for _, c := range s.Cases() {
		if c.GPU && !dev.Info().Type.GPU() || o.Match != nil && !o.Match(c) {
			continue
		}
		f, err := c.run(ctx, b)
		if errors.Is(err, errSkip) {
			continue
		}
		if err != nil {
			return fmt.Errorf("bench: %s: %w", c.Name, err)
		}
		m := Measurement{Suite: s.Name, Case: c.Name, Summary: c.Summary, Device: dev.Info().Name, Value: f.value, Unit: c.Unit, Kernels: f.kernels}
		if f.limit > 0 {
			fraction := f.value / f.limit
			if lessIsBetter(c.Unit) {
				fraction = f.limit / f.value
			}
			m.Limit, m.Fraction = &f.limit, &fraction
		}
		if err := report(m); err != nil {
			return err
		}
	}
	return nil
}

func lessIsBetter(unit string) bool { return unit == "s" || unit == "µs" || unit == "MB" }

// rate runs f, which does so much work and waits for it, again and again for the time of a case, and returns the work a second. What
// ran before it is warm-up.
func (b *bench) rate(ctx context.Context, work float64, f func() error) (float64, error) {
	for range 2 { // compiles, and lets the device learn how long the program takes
		if err := f(); err != nil {
			return 0, err
		}
	}
	runs, begin := 0, time.Now()
	for runs == 0 || time.Since(begin) < b.time {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := f(); err != nil {
			return 0, err
		}
		runs++
	}
	return work * float64(runs) / time.Since(begin).Seconds(), nil
}
