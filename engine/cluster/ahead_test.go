package cluster

import (
	"testing"
	"time"
)

// A worker that holds a slice gets one more where that leaves others theirs, and does not wait otherwise. With results comes a slice of the next step, which
// others get if the worker does not come, and which does not count if that step has other slices.
func TestHeldAndEarly(t *testing.T) {
	c := coordinator(t, Config{Late: time.Minute}, "lead", "a", "b")
	ask := func(r Report) Order {
		t.Helper()
		o, err := c.Exchange(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	is := func(o Order, slice int) {
		t.Helper()
		if o.Slice != slice || o.Results != nil {
			t.Errorf("order %+v; want slice %d", o, slice)
		}
	}
	of := func(worker string, step, slices, done int, held ...int) Report {
		r := Report{Worker: worker, Step: step, Slices: slices, Held: held, Early: true}
		if done >= 0 {
			r.Done, r.Result = done, value(step, done)
		}
		return r
	}
	is(ask(of("a", 0, 4, -1)), 0)
	is(ask(of("a", 0, 4, -1, 0)), 1)          // two of four, of three workers
	is(ask(of("a", 0, 4, -1, 0)), 1)          // the order was lost
	is(ask(of("a", 0, 4, -1, 0, 1)), NoSlice) // its share
	is(ask(of("b", 0, 4, -1)), 2)
	is(ask(of("lead", 0, 4, -1)), 3)
	is(ask(of("a", 0, 4, 0, 1)), NoSlice)
	is(ask(of("b", 0, 4, 2, 1)), NoSlice) // others have the rest
	is(ask(of("lead", 0, 4, 3, 1)), NoSlice)
	o := ask(of("a", 0, 4, 1))
	if len(o.Results) != 4 || o.Next != 0 {
		t.Fatalf("%+v; want four results, and slice 0 of the next step", o)
	}
	if o := ask(of("a", 0, 4, -1)); o.Next != 0 {
		t.Errorf("asked again, it gets slice %d; want the same", o.Next)
	}
	if o := ask(of("lead", 0, 4, -1)); o.Next != NoSlice {
		t.Errorf("the first worker, which may have other things to do, gets slice %d", o.Next)
	}
	if o := ask(of("b", 0, 4, -1)); o.Next != 1 {
		t.Errorf("b gets slice %d; want 1", o.Next)
	}
	is(ask(of("lead", 1, 4, -1)), 2)
	is(ask(of("lead", 1, 4, 2)), 3)
	is(ask(of("a", 1, 4, -1, 0)), NoSlice) // it has come
	is(ask(of("lead", 1, 4, 3)), 1)        // b has not
	is(ask(of("lead", 1, 4, 1, 0)), NoSlice)
	if o = ask(of("a", 1, 4, 0)); len(o.Results) != 4 || o.Next != 0 {
		t.Fatalf("%+v; want four results", o)
	}
	is(ask(of("lead", 2, 7, -1)), 0) // more slices than were expected: the reservation is void
	is(ask(of("a", 2, 7, -1)), 1)
	if got := c.Totals(); got.Slices != 8 || got.Again != 0 {
		t.Errorf("%+v; want 8 slices, each once", got)
	}
}
