package vk

import "slices"

// hazards tracks what the commands since the last barrier read and wrote, and detects commands that need a barrier.
type hazards struct {
	reads, writes map[*Buffer]intervals
}

func newHazards() *hazards {
	return &hazards{reads: map[*Buffer]intervals{}, writes: map[*Buffer]intervals{}}
}

// access is a read, a write or both of a range by a command.
type access struct {
	r    Range
	kind Access
}

// add records the accesses of a command. It reports whether the command needs a barrier before it: because it reads what was
// written (read after write), or writes what was read or written (write after read, write after write) since the last barrier.
func (h *hazards) add(accesses []access) (barrier bool) {
	for _, a := range accesses {
		if h.writes[a.r.Buffer].overlaps(a.r) || a.kind&Write != 0 && h.reads[a.r.Buffer].overlaps(a.r) {
			barrier = true
			break
		}
	}
	if barrier {
		clear(h.reads)
		clear(h.writes)
	}
	for _, a := range accesses {
		if a.kind&Read != 0 {
			h.reads[a.r.Buffer] = h.reads[a.r.Buffer].insert(a.r)
		}
		if a.kind&Write != 0 {
			h.writes[a.r.Buffer] = h.writes[a.r.Buffer].insert(a.r)
		}
	}
	return barrier
}

// intervals are byte intervals of one buffer, sorted and not adjacent.
type intervals []interval

type interval struct{ from, to int64 } // bytes [from, to)

// after returns the index of the first interval that ends after from.
func (s intervals) after(from int64) int {
	i, _ := slices.BinarySearchFunc(s, from, func(a interval, from int64) int {
		if a.to <= from {
			return -1
		}
		return 1
	})
	return i
}

func (s intervals) overlaps(r Range) bool {
	i := s.after(r.Offset)
	return i < len(s) && s[i].from < r.Offset+r.Size
}

// insert adds a range and merges it with the intervals that it touches.
func (s intervals) insert(r Range) intervals {
	n := interval{r.Offset, r.Offset + r.Size}
	i := s.after(n.from - 1) // includes an interval that ends where the range begins
	j := i
	for j < len(s) && s[j].from <= n.to {
		n.from, n.to = min(n.from, s[j].from), max(n.to, s[j].to)
		j++
	}
	return slices.Replace(s, i, j, n)
}
