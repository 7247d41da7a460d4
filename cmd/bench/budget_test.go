package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// Within a budget the cases are measured in order of importance, each for its share of the time at most; those that are not done by its end, and
// those that take longer than what is left, are left out.
func TestBudget(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	var measured, left []string
	var times []time.Duration
	quick := func(_ context.Context, b *bench) (figure, error) {
		times = append(times, b.time)
		return figure{value: 1}, nil
	}
	endless := func(ctx context.Context, _ *bench) (figure, error) {
		<-ctx.Done()
		return figure{}, ctx.Err()
	}
	suite := Suite{cases: func() []Case {
		return []Case{
			{Name: "endless", Rank: 2, run: endless}, {Name: "late", Rank: 2, run: quick}, {Name: "second", Rank: 1, run: quick},
			{Name: "long", Least: time.Hour, run: quick}, {Name: "first", run: quick},
		}
	}}
	run := func(o Options) {
		t.Helper()
		measured, left, times = nil, nil, nil
		o.Left = func(c Case) { left = append(left, c.Name) }
		report := func(m Measurement) error { measured = append(measured, m.Case); return nil }
		if err := suite.Run(t.Context(), dev, o, report); err != nil {
			t.Fatal(err)
		}
	}
	const most = 2 * time.Second
	run(Options{Budget: most, Time: time.Minute})
	if !slices.Equal(measured, []string{"first", "second"}) || !slices.Equal(left, []string{"long", "endless", "late"}) {
		t.Errorf("measured %v, left out %v", measured, left)
	}
	for i, cases := range []time.Duration{4, 3} { // that were left to measure
		if most := most / (2 * cases); !(times[i] > 0 && times[i] <= most) {
			t.Errorf("case %d was measured for %v; want at most %v", i, times[i], most)
		}
	}
	run(Options{Budget: 24 * time.Hour, Time: time.Second, Match: func(c Case) bool { return c.Name != "endless" }})
	if !slices.Equal(measured, []string{"long", "first", "second", "late"}) || left != nil || slices.Max(times) != time.Second {
		t.Errorf("measured %v for %v, left out %v", measured, times, left)
	}
	run(Options{Match: func(c Case) bool { return c.Name != "endless" }}) // in the suite's order
	if !slices.Equal(measured, []string{"late", "second", "long", "first"}) || times[0] != 2*time.Second {
		t.Errorf("measured %v for %v", measured, times)
	}
}
