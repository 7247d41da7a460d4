package engine

import (
	"slices"
	"strings"
	"testing"
)

// TestRepeat: the counter numbers the iterations, from 0 at every run, and the body is called once.
func TestRepeat(t *testing.T) {
	for _, iterations := range []int{1, 2, 1000} {
		eng := New(testDevice(t))
		s := eng.NewState()
		defer s.Close()
		sum, last := s.Tensor("sum", Uint32, Members(1), Axis("count", 2)), s.Tensor("last", Uint32, Axis("count", 1))
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		bodies := 0
		p, err := eng.Record("sum", func(r *Recorder) {
			r.Repeat(iterations, func(r *Recorder, i Counter) {
				bodies++
				r.Copy(last, i.Tensor())
				Clock{sum}.Tick(r, 1, 2)
			})
			r.Repeat(3, func(r *Recorder, i Counter) { Clock{sum}.Tick(r, 0, 1) })
		})
		if err != nil {
			t.Fatal(err)
		}
		for run := 1; run <= 3; run++ {
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, want := read32(t, sum), []uint32{uint32(run * iterations), uint32(run * (2*iterations + 3))}
			if at := read32(t, last); !slices.Equal(got, want) || at[0] != uint32(iterations-1) || bodies != 1 {
				t.Errorf("%d iterations, run %d: sums %v, want %v; the last iteration has number %d; the body was called %d times", iterations, run, got, want, at, bodies)
			}
		}
		p.Free()
		p.Free()
	}
}

// TestRepeatParts: the parts of iterations are numbered consecutively, in unrolled blocks and in those recorded once.
func TestRepeatParts(t *testing.T) {
	for _, iterations := range []int{1, 2, 300} {
		eng := New(testDevice(t))
		s := eng.NewState()
		defer s.Close()
		seen := s.Tensor("seen", Uint32, Axis("part", 3))
		p, err := eng.Record("parts", func(r *Recorder) {
			r.Repeat(iterations, func(r *Recorder, i Counter) {
				for part := range 3 {
					if part > 0 {
						i.Next(r)
					}
					r.Copy(seen.Index(part), i.Tensor())
				}
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		for range 2 {
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			last := uint32(3 * (iterations - 1))
			if got, want := read32(t, seen), []uint32{last, last + 1, last + 2}; !slices.Equal(got, want) {
				t.Errorf("%d iterations: the last one's parts have the numbers %v; want %v", iterations, got, want)
			}
		}
	}
}

// TestRepeatNested: a block within another begins anew in every iteration, and both counters can be read in it.
func TestRepeatNested(t *testing.T) {
	for _, c := range []struct{ outer, inner int }{{3, 4}, {3, 300}, {300, 3}, {20, 90}} {
		eng := New(testDevice(t))
		s := eng.NewState()
		defer s.Close()
		sum := s.Tensor("sum", Uint32, Members(1), Axis("count", 2))
		seen := s.Tensor("seen", Uint32, Axis("counter", 3))
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		bodies := 0
		p, err := eng.Record("nested", func(r *Recorder) {
			r.Repeat(c.outer, func(r *Recorder, i Counter) {
				r.Repeat(c.inner, func(r *Recorder, j Counter) {
					bodies++
					r.Copy(seen.Index(0), i.Tensor())
					r.Copy(seen.Index(1), j.Tensor())
					Clock{sum}.Tick(r, 1, 2)
				})
				i.Next(r)
				r.Copy(seen.Index(2), i.Tensor())
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
		for run := 1; run <= 2; run++ {
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := run * c.outer * c.inner
			got, want := read32(t, sum), []uint32{uint32(all), uint32(2 * all)}
			last := []uint32{uint32(2 * (c.outer - 1)), uint32(c.inner - 1), uint32(2*c.outer - 1)}
			if at := read32(t, seen); !slices.Equal(got, want) || !slices.Equal(at, last) || bodies != 1 {
				t.Errorf("%d × %d, run %d: sums %v, want %v; counters %v, want %v; the body was called %d times",
					c.outer, c.inner, run, got, want, at, last, bodies)
			}
		}
	}
}

func TestRepeatErrors(t *testing.T) {
	eng := New(testDevice(t))
	for want, record := range map[string]func(r *Recorder){
		"0 iterations; want at least 1": func(r *Recorder) { r.Repeat(0, func(*Recorder, Counter) {}) },
		"want its end outside of that block": func(r *Recorder) {
			r.Repeat(1, func(r *Recorder, i Counter) { r.Repeat(2, func(r *Recorder, _ Counter) { i.Next(r) }) })
		},
	} {
		if _, err := eng.Record("wrong", record); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
