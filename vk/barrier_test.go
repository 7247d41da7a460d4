package vk

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The intervals agree with a set of bytes.
func TestIntervals(t *testing.T) {
	for range 200 {
		var s intervals
		var set [64]bool
		for range 12 {
			r := Range{Offset: rand.Int64N(60), Size: 1 + rand.Int64N(4)}
			if got, want := s.overlaps(r), slices.Contains(set[r.Offset:r.Offset+r.Size], true); got != want {
				t.Fatalf("%v overlaps %+v: %v, want %v", s, r, got, want)
			}
			s = s.insert(r)
			for i := r.Offset; i < r.Offset+r.Size; i++ {
				set[i] = true
			}
			var covered int64
			for i, x := range s {
				covered += x.to - x.from
				if i > 0 && s[i-1].to >= x.from {
					t.Fatalf("not apart: %v", s)
				}
			}
			count := int64(0)
			for _, b := range set {
				if b {
					count++
				}
			}
			if covered != count {
				t.Fatalf("%v covers %d bytes, want %d", s, covered, count)
			}
		}
	}
}

func TestBarriers(t *testing.T) {
	d := openTest(t)
	const n = 64
	x := newTestBuffer(t, d, 8*n, Local)
	part := func(i int) Range { return x.Range(int64(i*4*n), 4*n) }
	y := newTestBuffer(t, d, n, Local)
	for _, c := range []struct {
		name   string
		want   int
		record func(*Program)
	}{
		{"independent", 0, func(p *Program) {
			for i := range 8 {
				p.Dispatch(spinCall(part(i), 1))
			}
		}},
		{"shared reads", 0, func(p *Program) {
			for i := range 6 {
				p.Dispatch(addCall(part(0), part(1), part(i+2), n))
			}
		}},
		{"read after write", 1, func(p *Program) {
			p.Dispatch(addCall(part(0), part(1), part(2), n))
			p.Dispatch(addCall(part(2), part(1), part(3), n))
		}},
		{"write after read", 1, func(p *Program) {
			p.Dispatch(addCall(part(0), part(1), part(2), n))
			p.Dispatch(addCall(part(3), part(4), part(1), n))
		}},
		{"write after write", 1, func(p *Program) {
			p.Fill(part(0), 1)
			p.Fill(part(0), 2)
		}},
		{"one barrier serves all", 1, func(p *Program) {
			for i := range 4 {
				p.Fill(part(i), 1)
			}
			for i := range 4 {
				p.Dispatch(spinCall(part(i), 1))
			}
		}},
		{"chain", 9, func(p *Program) {
			for range 10 {
				p.Dispatch(spinCall(part(0), 1))
			}
		}},
		{"neighbours", 0, func(p *Program) {
			p.Fill(x.Range(0, 4*n), 1)
			p.Fill(x.Range(4*n, 4*n), 1)
		}},
		{"one word shared", 1, func(p *Program) {
			p.Fill(x.Range(0, 4*n), 1)
			p.Fill(x.Range(4*n-4, 4*n), 1)
		}},
		{"two buffers", 0, func(p *Program) {
			p.Fill(x.Range(0, 4*n), 1)
			p.Fill(y.Range(0, 4*n), 1)
		}},
		{"copies", 2, func(p *Program) {
			p.Copy(part(1), part(0))
			p.Copy(part(2), part(1))
			p.Copy(part(0), part(3))
			p.Copy(part(0), part(4))
		}},
	} {
		before := d.Counters()
		p := d.NewProgram(c.name)
		c.record(p)
		build(t, p)
		run(t, p)
		run(t, p)
		if got := p.Stats().Barriers; got != c.want {
			t.Errorf("%s: %d barriers, want %d", c.name, got, c.want)
		}
		if got := d.Counters().Barriers - before.Barriers; got != 2*uint64(c.want) {
			t.Errorf("%s: %d barriers counted in two runs, want %d", c.name, got, 2*c.want)
		}
		p.Free()
	}
}
