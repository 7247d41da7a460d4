// Package bench measures the speed of evorl's parts on a device. It compares each figure with the limit of the device, which it measures
// too. The command evorl bench uses it.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Cases lists the cases of the suite. It looks up environments, which takes a while.
func (s Suite) Cases() []Case { return s.cases() }

// Case is one thing to measure.
type Case struct {
	Name    string
	Summary string
	Unit    string
	// GPU excludes the case on software drivers, where it would take minutes, unless Options.Named selects it.
	GPU bool
	// Rank orders the cases of a suite by importance, the most important at 0, for Options.Budget. Cases of a rank are in the suite's order.
	Rank int
	// Least is the time that must remain of Options.Budget for the case to start on a software driver, because its compilation there is long
	// and cannot be stopped.
	Least time.Duration

	run func(context.Context, *bench) (figure, error)
}

// errSkip is the error of a case that does not fit this device.
var errSkip = errors.New("left out")

// figure is the result of a case. limit 0: the device has no known limit.
type figure struct {
	value, limit float64
	kernels      []Kernel
	low, high    float64 // of the stretches of its time; 0: unknown
}

// Measurement is one case on one device.
type Measurement struct {
	Suite    string    `json:"suite"`
	Case     string    `json:"case"`
	Summary  string    `json:"summary"` // of the case
	Device   string    `json:"device"`
	Value    float64   `json:"value"`             // the median of the repetitions, the lower of two
	Samples  []float64 `json:"samples,omitempty"` // of several repetitions, in the order of measurement
	Min      float64   `json:"min"`               // of the repetitions; of one repetition, of the tenths of its time where they are known
	Max      float64   `json:"max"`
	Spread   float64   `json:"spread"` // (max - min) / value of the repetitions
	Unit     string    `json:"unit"`
	Limit    *float64  `json:"limit"`             // the limit of the device, in the same unit; null: unknown
	Fraction *float64  `json:"fraction_of_limit"` // value / limit, or limit / value if less is better
	Kernels  []Kernel  `json:"kernels,omitempty"` // of one run, longest first; see Options.Profile
}

// Options configure Run.
type Options struct {
	// Time is how long each case is measured, after one warm-up run. The default is 2 s.
	Time time.Duration
	// Profile reports each kernel's share of the device time of a rollout, a PPO iteration and a generation.
	Profile bool
	// Match selects the cases to measure; nil selects all.
	Match func(Case) bool
	// Named selects the cases for GPUs that a software driver measures as well; nil selects none.
	Named func(Case) bool
	// Budget is the time for the whole suite; 0: unlimited. Cases are measured in order of importance, for less than
	// Time if necessary; those that do not fit are left out.
	Budget time.Duration
	// Repetitions is how often the suite is measured. Repetitions follow each other, so that a change of the machine's
	// load affects all cases alike. The default is 1. With more, cases are reported in the last one, and a budget is
	// an error.
	Repetitions int
	// Began is called with each case of each repetition before it is measured; nil: none.
	Began func(c Case, repetition int)
	// Left is called with each case that Budget left out; nil: none.
	Left func(Case)
	// Unfit is called with each case that is left out since it is for GPUs; nil: none.
	Unfit func(Case)
}

// Suites lists all suites.
func Suites() []Suite {
	return []Suite{
		{"core", "the device's limits, matrix products, CartPole rollouts, PPO and PBT", core},
		{"physics", "rollouts of MuJoCo's locomotion suite with random actions, and compiling them", physics},
		{"placement", "a [64, 64] network acting in CartPole-v1 and HalfCheetah-v5, fused with the environment and stepped before it", acting},
		{"rl", "updates of populations of TD3, SAC and DQN agents, one and 50 a submission; PPO that sees or remembers",
			func() []Case { return append(imagesAndMemory(), offPolicy()...) }},
		{"agents", "worlds of several agents and games, alone and learning: SimpleSpread, WaterWorld, Pong", agents},
		{"hybrid", "iterations of ERL, CEM-RL and PBT over SAC and PPO on the swimmer, against the population", hybrids},
		{"score", "five cases of the others in two minutes, and one figure of all: the geometric mean", score},
		{"ec", "generations of OpenES on swing-up and their memory; placements of networks; CMA-ES with a large matrix", evolution},
	}
}

// Lookup returns the suite with the given name.
func Lookup(name string) (Suite, bool) {
	for _, s := range Suites() {
		if s.Name == name {
			return s, true
		}
	}
	return Suite{}, false
}

// bench is the state shared by the cases on one device.
type bench struct {
	eng     *engine.Engine
	time    time.Duration
	profile bool
	gpu     bool

	limit func(context.Context) (float64, error) // measures the peak; nil: as flops
	peak  float64                                // of a GPU, once it has been measured
	now   func() time.Time                       // nil: time.Now

	slowest, fastest float64 // rates of the stretches of the last measurement, as fractions of the rate; 0: none yet

	placed map[int]map[envs.Placement]float64 // environment steps per second, by the number of environments
}

func (o Options) withDefaults() Options {
	if o.Time <= 0 {
		o.Time = 2 * time.Second
	}
	o.Repetitions = max(o.Repetitions, 1)
	return o
}

// Run measures a suite on a device and reports each measurement as it is made. A case that fails does not keep it from measuring the others,
// unless the context has ended or the device is lost.
//
// Errors: a budget for several repetitions, all cases that fail, and report's.
func (s Suite) Run(ctx context.Context, dev *vk.Device, o Options, report func(Measurement) error) error {
	o = o.withDefaults()
	if o.Budget > 0 && o.Repetitions > 1 {
		return fmt.Errorf("bench: a budget of %v for %d repetitions; want one repetition, or no budget", o.Budget, o.Repetitions)
	}
	b := &bench{eng: engine.New(dev, engine.Seed(1)), time: o.Time, profile: o.Profile, gpu: dev.Info().Type.GPU(), placed: map[int]map[envs.Placement]float64{}}
	cases := slices.DeleteFunc(s.Cases(), func(c Case) bool {
		if o.Match != nil && !o.Match(c) {
			return true
		}
		unfit := c.GPU && !b.gpu && (o.Named == nil || !o.Named(c))
		if unfit && o.Unfit != nil {
			o.Unfit(c)
		}
		return unfit
	})
	within := o.budget()
	within.order(cases)
	figures := map[string][]figure{}
	var failed error
	for repetition := range o.Repetitions {
		clear(b.placed)
		for i, c := range cases {
			if o.Began != nil {
				o.Began(c, repetition)
			}
			b.slowest, b.fastest = 0, 0
			f, err := within.run(ctx, b, c, len(cases)-i)
			switch {
			case errors.Is(err, errSkip):
				continue
			case errors.Is(err, errBudget):
				if o.Left != nil {
					o.Left(c)
				}
				continue
			case err != nil:
				failed = errors.Join(failed, fmt.Errorf("bench: %s: %w", c.Name, err))
				if ctx.Err() != nil || errors.Is(err, vk.ErrDeviceLost) {
					return failed
				}
				continue
			}
			if f.low, f.high = f.value*b.slowest, f.value*b.fastest; b.slowest > 0 && lessIsBetter(c.Unit) {
				f.low, f.high = f.value/b.fastest, f.value/b.slowest
			}
			figures[c.Name] = append(figures[c.Name], f)
			if repetition < o.Repetitions-1 {
				continue
			}
			if err := report(s.measurement(dev.Info().Name, c, figures[c.Name])); err != nil {
				return errors.Join(failed, err)
			}
		}
	}
	return failed
}

// measurement combines the figures of a case.
func (s Suite) measurement(device string, c Case, figures []figure) Measurement {
	m := Measurement{Suite: s.Name, Case: c.Name, Summary: c.Summary, Device: device, Unit: c.Unit}
	if len(figures) > 1 {
		for _, f := range figures {
			m.Samples = append(m.Samples, f.value)
		}
	}
	figures = slices.SortedFunc(slices.Values(figures), func(a, b figure) int { return cmp.Compare(a.value, b.value) })
	f := figures[(len(figures)-1)/2]
	m.Value, m.Min, m.Max, m.Kernels = f.value, figures[0].value, figures[len(figures)-1].value, f.kernels
	if f.value > 0 {
		m.Spread = (m.Max - m.Min) / m.Value
	}
	if len(figures) == 1 && f.low > 0 {
		m.Min, m.Max = f.low, f.high
	}
	if f.limit > 0 {
		fraction := f.value / f.limit
		if lessIsBetter(c.Unit) {
			fraction = f.limit / f.value
		}
		m.Limit, m.Fraction = &f.limit, &fraction
	}
	return m
}

func lessIsBetter(unit string) bool {
	return unit == "s" || unit == "ms" || unit == "µs" || unit == "MB"
}

// waiter is work that was submitted.
type waiter interface{ Wait(context.Context) error }

// rate calls submit repeatedly for the time of a case and returns the work per second. Each call submits the given work. On a GPU several calls
// follow each other before the last one is waited for, so many that they take at least roundTrips: otherwise the host would be measured, not the
// device. The preceding calls are warm-up.
func (b *bench) rate(ctx context.Context, work float64, submit func() (waiter, error)) (float64, error) {
	now := b.now
	if now == nil {
		now = time.Now
	}
	several := func(n int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var last waiter
		for range n {
			var err error
			if last, err = submit(); err != nil {
				return err
			}
		}
		return last.Wait(ctx)
	}
	for range 2 { // compiles, and lets vk measure the program's time
		if err := several(1); err != nil {
			return 0, err
		}
	}
	each := 1
	for b.gpu && each < mostSubmitted {
		begin := now()
		if err := several(each); err != nil {
			return 0, err
		}
		if now().Sub(begin) >= roundTrips {
			break
		}
		each *= 2
	}
	begin, runs := now(), 0
	stretch, before := begin, 0
	slowest, fastest := math.Inf(1), 0.0
	for runs == 0 || now().Sub(begin) < b.time {
		if err := several(each); err != nil {
			return 0, err
		}
		runs += each
		if took := now().Sub(stretch); took >= b.time/10 {
			rate := float64(runs-before) / took.Seconds()
			slowest, fastest = min(slowest, rate), max(fastest, rate)
			stretch, before = now(), runs
		}
	}
	rate := float64(runs) / now().Sub(begin).Seconds()
	b.slowest, b.fastest = min(slowest/rate, 1), max(fastest/rate, 1)
	return work * rate, nil
}

const (
	roundTrips    = 10 * time.Millisecond // a hundred times what a submission and waiting for it take
	mostSubmitted = 1 << 12
)

// waited is work that is done when it has been submitted.
type waited struct{}

func (waited) Wait(context.Context) error { return nil }

// eachWaited returns what calls f, which waits for its work itself.
func eachWaited(f func() error) func() (waiter, error) {
	return func() (waiter, error) { return waited{}, f() }
}

// submitted returns what submits a program.
func submitted(ctx context.Context, p interface {
	Submit(context.Context) (*vk.Ticket, error)
}) func() (waiter, error) {
	return func() (waiter, error) { return p.Submit(ctx) }
}
