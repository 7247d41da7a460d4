package bench

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// A case that fails does not keep the others from being measured, unless the device is lost.
func TestFailingCase(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	wrong := errors.New("wrong")
	fails := func(context.Context, *bench) (figure, error) { return figure{}, wrong }
	lost := func(context.Context, *bench) (figure, error) { return figure{}, vk.ErrDeviceLost }
	works := func(context.Context, *bench) (figure, error) { return figure{value: 1}, nil }
	suite := Suite{cases: func() []Case {
		return []Case{{Name: "fails", run: fails}, {Name: "works", run: works}, {Name: "lost", run: lost}, {Name: "late", run: works}}
	}}
	var measured []string
	err := suite.Run(t.Context(), dev, Options{}, func(m Measurement) error { measured = append(measured, m.Case); return nil })
	both := errors.Is(err, wrong) && errors.Is(err, vk.ErrDeviceLost)
	if !both || !strings.Contains(err.Error(), "bench: fails: wrong") || !slices.Equal(measured, []string{"works"}) {
		t.Errorf("measured %q, error %v; want the case that works, and both errors", measured, err)
	}
}

// A software driver leaves out cases for GPUs, but those whose whole name was asked for.
func TestCasesForGPUs(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	works := func(context.Context, *bench) (figure, error) { return figure{value: 1}, nil }
	suite := Suite{cases: func() []Case {
		return []Case{{Name: "large", GPU: true, run: works}, {Name: "large/memory", GPU: true, run: works},
			{Name: "larger", run: works}, {Name: "small", run: works}}
	}}
	for only, want := range map[string][2][]string{
		"":            {{"larger", "small"}, {"large", "large/memory"}},
		"large":       {{"large", "larger"}, {"large/memory"}},
		"large*":      {{"larger"}, {"large"}},
		"small,large": {{"large", "larger", "small"}, {"large/memory"}},
	} {
		match, err := Matching(only)
		if err != nil {
			t.Fatal(err)
		}
		var measured, unfit []string
		o := Options{Match: match, Named: Named(only), Unfit: func(c Case) { unfit = append(unfit, c.Name) }}
		if err := suite.Run(t.Context(), dev, o, func(m Measurement) error { measured = append(measured, m.Case); return nil }); err != nil {
			t.Fatal(err)
		}
		if got := [2][]string{measured, unfit}; !slices.EqualFunc(got[:], want[:], slices.Equal) {
			t.Errorf("--only %q: measured and left out %q; want %q", only, got, want)
		}
	}
}

// A GPU's peak is measured once for all cases, a software driver's around each.
func TestPeakOnce(t *testing.T) {
	for _, gpu := range []bool{true, false} {
		measured := 0
		b := &bench{gpu: gpu, limit: func(context.Context) (float64, error) { measured++; return float64(measured), nil }}
		var peaks []float64
		for range 2 {
			peak, err := b.around(t.Context(), func() error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			peaks = append(peaks, peak)
		}
		want, times := []float64{1, 1}, 1
		if !gpu {
			want, times = []float64{2, 4}, 4
		}
		if !slices.Equal(peaks, want) || measured != times {
			t.Errorf("GPU %v: peaks %v in %d measurements; want %v in %d", gpu, peaks, measured, want, times)
		}
	}
}

// imitated is a device whose clock goes on by what its work and waiting for it take.
type imitated struct {
	now, busy       time.Time // the host's time, and until when the device works
	work, roundTrip time.Duration
}

func (d *imitated) submit() (waiter, error) {
	if d.busy.Before(d.now) {
		d.busy = d.now
	}
	d.busy = d.busy.Add(d.work)
	return d, nil
}

func (d *imitated) Wait(context.Context) error {
	if d.now.Before(d.busy) {
		d.now = d.busy
	}
	d.now = d.now.Add(d.roundTrip)
	return nil
}

// On a GPU the rate is that of the device, however long the host waits for short work.
func TestRateOfShortWork(t *testing.T) {
	for _, gpu := range []bool{true, false} {
		d := &imitated{now: time.Unix(1, 0), work: 50 * time.Microsecond, roundTrip: 50 * time.Microsecond}
		b := &bench{gpu: gpu, time: time.Second, now: func() time.Time { return d.now }}
		rate, err := b.rate(t.Context(), 1, d.submit)
		want := 20_000.0
		if !gpu {
			want = 10_000
		}
		if err != nil || rate < 0.95*want || rate > want {
			t.Errorf("GPU %v: %v runs a second, %v; want %v, or at most 5%% less", gpu, rate, err, want)
		}
	}
}

// A measurement of one repetition tells how its tenths differ, whichever way its unit counts.
func TestSpreadWithin(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	d := &imitated{now: time.Unix(1, 0), work: time.Millisecond}
	slower := func() (waiter, error) {
		if d.now.After(time.Unix(1, 0).Add(500 * time.Millisecond)) {
			d.work = 2 * time.Millisecond
		}
		return d.submit()
	}
	suite := Suite{cases: func() []Case {
		of := func(less bool) func(context.Context, *bench) (figure, error) {
			return func(ctx context.Context, b *bench) (figure, error) {
				d.now, d.busy, d.work = time.Unix(1, 0), time.Time{}, time.Millisecond
				b.now = func() time.Time { return d.now }
				rate, err := b.rate(ctx, 1, slower)
				if less {
					rate = 1 / rate
				}
				return figure{value: rate}, err
			}
		}
		return []Case{{Name: "rate", Unit: "env steps/s", run: of(false)}, {Name: "time", Unit: "s", run: of(true)}}
	}}
	near := func(got, want float64) bool { return got > 0.98*want && got < 1.02*want }
	if err := suite.Run(t.Context(), dev, Options{Time: time.Second}, func(m Measurement) error {
		low, high := 500.0, 1000.0
		if m.Unit == "s" {
			low, high = 1/high, 1/low
		}
		if !near(m.Min, low) || !near(m.Max, high) || !(m.Min < m.Value && m.Value < m.Max) || m.Spread != 0 {
			t.Errorf("%+v; want from %g to %g", m, low, high)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Of a robot, the forms that take the longest to compile come last, and few steps are for software drivers alone.
func TestPhysicsOrder(t *testing.T) {
	most, forms := 0, 0
	for _, c := range physics() {
		if c.GPU {
			forms++
			if c.Rank != 4 {
				t.Errorf("%s has rank %d; want the last, 4", c.Name, c.Rank)
			}
			continue
		}
		most = max(most, c.Rank)
	}
	if forms == 0 || most >= 4 {
		t.Errorf("%d forms; the other cases have ranks up to %d; want less than 4", forms, most)
	}
	for _, c := range []struct {
		gpu                 bool
		environments, steps int
	}{{true, 4096, 16}, {true, 65536, 16}, {false, 4096, 16}, {false, 65536, 2}} {
		if got := (&bench{gpu: c.gpu}).physicsSteps(c.environments); got != c.steps {
			t.Errorf("GPU %v, %d environments: %d steps; want %d", c.gpu, c.environments, got, c.steps)
		}
	}
}

// On a GPU a case starts as long as there is time: what its compilation takes on a software driver says nothing.
func TestLeastTime(t *testing.T) {
	works := func(context.Context, *bench) (figure, error) { return figure{value: 1}, nil }
	w := Options{Budget: time.Minute, Time: time.Second}.budget()
	for _, gpu := range []bool{true, false} {
		_, err := w.run(t.Context(), &bench{gpu: gpu}, Case{Least: time.Hour, run: works}, 1)
		if gpu != (err == nil) || !gpu && !errors.Is(err, errBudget) {
			t.Errorf("GPU %v: error %v", gpu, err)
		}
	}
}

// A device without pipeline caches is opened with none of the drivers' either; afterwards the environment is as before.
func TestUncachedEnvironment(t *testing.T) {
	const kept, other = "MESA_SHADER_CACHE_DISABLE", "__GL_SHADER_DISK_CACHE"
	t.Setenv(kept, "max")
	t.Setenv(other, "")
	if err := os.Unsetenv(other); err != nil {
		t.Fatal(err)
	}
	if err := withoutDriverCaches(func() error {
		if a, b := os.Getenv(kept), os.Getenv(other); a != "max" || b != "0" {
			t.Errorf("%s=%q, %s=%q; want what was set, and 0", kept, a, other, b)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if value, set := os.LookupEnv(other); set {
		t.Errorf("%s=%q stays", other, value)
	}
}

// Iterations that are submitted before the one before them has ended are measured too, as on a GPU.
func TestIterationsAhead(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	b := &bench{eng: engine.New(dev, engine.Seed(1)), time: time.Millisecond, gpu: true}
	for _, c := range []Case{
		{Name: "ppo/p1", run: ppo(1)},
		{Name: "openes/16x16/p8", run: generationTime([]int{16, 16}, 8, 0)},
		{Name: "gemm", run: gemm(nn.Gemm{Members: 2, M: 16, N: 16, K: 16})},
	} {
		f, err := c.run(t.Context(), b)
		if err != nil || !(f.value > 0) {
			t.Errorf("%s: %+v, %v", c.Name, f, err)
		}
		t.Logf("%s: %.4g", c.Name, f.value)
	}
}
