package hybrid

import (
	"slices"
	"testing"
)

// ways are the ways to exploit and to explore beside the default.
var ways = map[string]func(*PBTConfig){
	"tournament": func(c *PBTConfig) { c.Exploit = Tournament },
	"t-test":     func(c *PBTConfig) { c.Exploit = TTest },
	"steadiness": func(c *PBTConfig) { c.Objective = Steadiness },
	"pb2":        func(c *PBTConfig) { c.Explore = PB2 },
}

// TestWaysResume: in every way a run that is resumed between two exchanges ends with the same digest, an iteration is one submission, two with an
// exchange, and nothing crosses the bus.
func TestWaysResume(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			fresh := func() *PBT {
				cfg := early()
				way(&cfg)
				return kinds[0].over(t, newPPO(t, 4, "CartPole-v1", small(4)), cfg)
			}
			through := fresh()
			initialized(t, through)
			steps(t, through, 0, 3)
			dir := t.TempDir()
			if _, err := through.State().Save(t.Context(), dir, 3); err != nil {
				t.Fatal(err)
			}
			before := open(t).Counters()
			steps(t, through, 3, 9)
			after := open(t).Counters()
			if n := after.Submissions - before.Submissions; n != 8 {
				t.Errorf("6 iterations with 2 exchanges take %d submissions; want 8", n)
			}
			if after.BytesUp != before.BytesUp || after.BytesDown != before.BytesDown {
				t.Errorf("counters went from %+v to %+v; want no transfer", before, after)
			}
			want := digest(t, through)
			resumed := fresh()
			if err := resumed.State().Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			load(t, resumed, dir, 3)
			steps(t, resumed, 3, 9)
			if got := digest(t, resumed); got != want {
				t.Errorf("resumed: digest %s; want %s", got, want)
			}
		})
	}
}

// TestWaysLearn: in every way a population gets better than it began, and its best member good. That of two objectives keeps steady members that are not
// good.
func TestWaysLearn(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			cfg := overPPO()
			way(&cfg)
			first, last := learnedBy(t, kinds[0].over, cfg)
			if m := mean(last); m < 1.5*mean(first) || slices.Max(last) < 400 || name != "steadiness" && m < 300 {
				t.Errorf("mean fitness went from %.0f to %.0f, the best is %.0f; want half as much again, and the best at least 400", mean(first), m, slices.Max(last))
			}
		})
	}
}
