package hybrid

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
)

// send moves a slice, whose state here is settled, to a worker.
func (s *Slices) send(ctx context.Context, by *cluster.Hand, m *memberSlice) error {
	open := &sliceOpen{Members: m.members, Varied: m.varied(), Episodes: m.episodes}
	if m.fitness != nil {
		open.Results = m.results.Len() / m.members
	}
	job := sliceTask{First: m.first, Open: open}
	for _, t := range m.of.State().Moving() {
		for _, op := range reads(t) {
			data, err := m.run(ctx, op)
			if err != nil {
				return m.failed(err)
			}
			if job.Ops = append(job.Ops, sliceOp{Kind: opWrite, Name: op.Name, At: op.At, Data: data}); size(job.Ops) < jobSize {
				continue
			}
			if _, err := s.order(ctx, by, []sliceTask{job}); err != nil {
				return err
			}
			job = sliceTask{First: m.first}
		}
	}
	next, resumed := m.of.State().Position()
	job.Ops = append(job.Ops, sliceOp{Kind: opMoveTo, Data: encodePosition(next, resumed)})
	if _, err := s.order(ctx, by, []sliceTask{job}); err != nil {
		return err
	}
	m.moved, m.behind = true, len(m.done)
	return nil
}

const (
	pieceLen = 4 << 20  // elements of a tensor that an operation moves at most
	jobSize  = 16 << 20 // bytes, beyond which the operations of a job are divided
)

// reads returns the operations that read a tensor, in pieces.
func reads(t *engine.Tensor) (ops []sliceOp) {
	for at := 0; at < t.Len(); at += pieceLen {
		ops = append(ops, sliceOp{Kind: opRead, Name: t.Name(), At: at, N: min(pieceLen, t.Len()-at)})
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

// order gives a worker operations of its slices, in jobs of a bounded size, and returns their results.
func (s *Slices) order(ctx context.Context, by *cluster.Hand, tasks []sliceTask) (results [][][]byte, err error) {
	results = make([][][]byte, len(tasks))
	job := sliceJob{Keep: s.of(by)}
	var whose []int // tasks, by the job's
	flush := func() error {
		data, err := encodeGob(job)
		if err != nil {
			return err
		}
		if data, err = by.Do(ctx, data); err != nil {
			return err
		}
		var got [][][]byte
		if err := decodeGob(data, &got); err != nil {
			return fmt.Errorf("hybrid: what worker %s has done: %w", by.Name(), err)
		}
		if len(got) != len(job.Tasks) {
			return fmt.Errorf("hybrid: worker %s has done %d tasks of %d", by.Name(), len(got), len(job.Tasks))
		}
		for k, of := range got {
			if len(of) != len(job.Tasks[k].Ops) {
				return fmt.Errorf("hybrid: worker %s has done %d operations of %d", by.Name(), len(of), len(job.Tasks[k].Ops))
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

// of returns the first members of the slices that a worker has.
func (s *Slices) of(by *cluster.Hand) (firsts []int) {
	for _, m := range s.all {
		if m.by == by {
			firsts = append(firsts, m.first)
		}
	}
	return firsts
}
