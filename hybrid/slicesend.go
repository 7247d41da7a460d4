package hybrid

import (
	"context"
	"fmt"
)

// send gives a slice to a hand, of which the host has a copy (release).
func (s *Slices) send(ctx context.Context, by hand, m *memberSlice) error {
	if _, err := s.order(ctx, by, []sliceTask{{First: m.first, Open: s.opening(m), Ops: m.kept.writes()}}); err != nil {
		return err
	}
	m.moved, m.behind = true, len(m.done)
	return nil
}

// opening is what a slice is made with.
func (s *Slices) opening(m *memberSlice) *sliceOpen {
	return &sliceOpen{Members: m.members, Varied: varied(s.Hyper()), Episodes: s.episodes}
}

const (
	pieceLen = 4 << 20  // elements of a tensor that an operation moves at most
	jobSize  = 16 << 20 // bytes, beyond which the operations of a job are divided
)

// reads returns the operations that read a tensor of so many elements, in pieces.
func reads(name string, n int) (ops []sliceOp) {
	for at := 0; at < n; at += pieceLen {
		ops = append(ops, sliceOp{Kind: opRead, Name: name, At: at, N: min(pieceLen, n-at)})
	}
	return ops
}

// size returns the bytes of operations.
func size(ops []sliceOp) (n int) {
	for _, op := range ops {
		n += op.size()
	}
	return n
}

// order gives a hand operations of its slices, in jobs of a bounded size, and returns their results.
func (s *Slices) order(ctx context.Context, by hand, tasks []sliceTask) (results [][][]byte, err error) {
	results = make([][][]byte, len(tasks))
	job := sliceJob{Keep: s.of(by)}
	var whose []int // tasks, by the job's
	flush := func() error {
		got, err := by.do(ctx, job)
		if err != nil {
			return err
		}
		if len(got) != len(job.Tasks) {
			return fmt.Errorf("hybrid: %v has done %d tasks of %d", by, len(got), len(job.Tasks))
		}
		for k, of := range got {
			if len(of) != len(job.Tasks[k].Ops) {
				return fmt.Errorf("hybrid: %v has done %d operations of %d", by, len(of), len(job.Tasks[k].Ops))
			}
			results[whose[k]] = append(results[whose[k]], of...)
		}
		job.Tasks, whose = nil, nil
		return nil
	}
	bytes := 0
	for i, t := range tasks {
		part := sliceTask{First: t.First, Open: t.Open}
		for _, op := range t.Ops {
			if bytes > 0 && bytes+op.size() > jobSize {
				job.Tasks, whose = append(job.Tasks, part), append(whose, i)
				if err := flush(); err != nil {
					return nil, err
				}
				part, bytes = sliceTask{First: t.First}, 0
			}
			part.Ops, bytes = append(part.Ops, op), bytes+op.size()
		}
		job.Tasks, whose = append(job.Tasks, part), append(whose, i)
	}
	return results, flush()
}

// of returns the first members of the slices that a hand has.
func (s *Slices) of(by hand) (firsts []int) {
	for _, m := range s.all {
		if m.by == by {
			firsts = append(firsts, m.first)
		}
	}
	return firsts
}
