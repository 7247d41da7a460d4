package hybrid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
)

// sliceJob is what a worker elsewhere is told to do. The result of a job are those of the tasks' operations.
type sliceJob struct {
	Keep  []int // first members of the worker's slices; it forgets others
	Tasks []sliceTask
}

// sliceTask are operations of a slice.
type sliceTask struct {
	First int        // member
	Open  *sliceOpen // the slice begins anew; nil: the worker has it
	Ops   []sliceOp
}

// sliceOpen is what a slice is made with.
type sliceOpen struct {
	Members  int
	Varied   []string // hyperparameters that differ between members
	Episodes int      // of fitness; 0: it is not asked for
}

// BuildSlice makes the workflow of a slice of so many members.
type BuildSlice func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error)

// Assist computes slices of members for a run elsewhere (NewSlices with an engine.Crew), on the device of the engine, whose seed must be the run's: it joins
// under a name of its own once it has made a slice of the given members, the run's first, and compiled its kernels, also for evaluations of so many episodes.
// It does what it is told until the run ends, or ctx does, with the error of the connection.
//
// Errors: of build; of a slice, also of one that this program does not divide as the run does.
func Assist(ctx context.Context, eng *engine.Engine, jobs cluster.Jobs, name string, members, episodes int, build BuildSlice) (err error) {
	a := &assistant{eng: eng, build: build, where: eng.DeviceName(0), bench: bench{worker: name}}
	defer func() { err = errors.Join(err, a.keep(nil)) }()
	first, err := a.open(ctx, 0, members)
	if err != nil {
		return err
	}
	if err := first.of.Prepare(ctx, episodes); err != nil {
		return err
	}
	if _, _, err := jobs.Join(ctx, name); err != nil {
		return err
	}
	var result []byte
	for done := 0; ; {
		number, data, err := jobs.Next(ctx, name, done, result)
		if err != nil {
			return err
		}
		if number != done+1 {
			return fmt.Errorf("hybrid: job %d of members after job %d; want the next one", number, done)
		}
		if result, err = a.answer(ctx, data); err != nil {
			return fmt.Errorf("hybrid: members of a run elsewhere: %w", err)
		}
		done = number
	}
}

// assistant is the slices of a worker, or of a device beside the first one.
type assistant struct {
	eng   *engine.Engine
	build BuildSlice
	where string // see memberSlice
	all   []*memberSlice
	bench bench
}

// answer does a job that comes as a message, and returns the message of its results.
func (a *assistant) answer(ctx context.Context, data []byte) ([]byte, error) {
	var job sliceJob
	if err := decodeGob(data, &job); err != nil {
		return nil, err
	}
	results, err := a.do(ctx, job)
	if err != nil {
		return nil, err
	}
	return encodeGob(results)
}

// open makes the workflow of a slice.
func (a *assistant) open(ctx context.Context, first, members int) (*memberSlice, error) {
	m := &memberSlice{first: first, members: members, where: a.where}
	if err := m.open(ctx, a.eng.Slice(a.eng.Device(), first), a.build); err != nil {
		return nil, m.failed(err)
	}
	a.all = append(a.all, m)
	return m, nil
}

// find returns a slice; nil: there is none.
func (a *assistant) find(first int) *memberSlice {
	i := slices.IndexFunc(a.all, func(m *memberSlice) bool { return m.first == first })
	if i < 0 {
		return nil
	}
	return a.all[i]
}

// keep closes all slices but some.
func (a *assistant) keep(firsts []int) (err error) {
	a.all = slices.DeleteFunc(a.all, func(m *memberSlice) bool {
		if slices.Contains(firsts, m.first) {
			return false
		}
		err = errors.Join(err, m.close())
		return true
	})
	return err
}

// do does a job, and returns the results of its tasks' operations.
func (a *assistant) do(ctx context.Context, job sliceJob) ([][][]byte, error) {
	if err := a.keep(job.Keep); err != nil {
		return nil, err
	}
	results, ends := make([][][]byte, len(job.Tasks)), make([]ending, len(job.Tasks))
	for i, t := range job.Tasks {
		m, err := a.slice(ctx, t)
		if err != nil {
			return nil, err
		}
		for k, op := range t.Ops {
			end, err := a.bench.begin(ctx, m, op)
			if err != nil {
				return nil, m.failed(err)
			}
			if k == len(t.Ops)-1 { // the device goes on to the next slice meanwhile
				ends[i] = end
				break
			}
			result, err := end(ctx)
			if err != nil {
				return nil, m.failed(err)
			}
			results[i] = append(results[i], result)
		}
	}
	for i, end := range ends {
		if end == nil {
			continue
		}
		result, err := end(ctx)
		if err != nil {
			return nil, a.find(job.Tasks[i].First).failed(err)
		}
		results[i] = append(results[i], result)
	}
	return results, nil
}

// slice returns the slice of a task, which may begin anew.
func (a *assistant) slice(ctx context.Context, t sliceTask) (*memberSlice, error) {
	m := a.find(t.First)
	switch {
	case t.Open == nil && m == nil:
		return nil, fmt.Errorf("the slice of members from %d on is not here: want its state first", t.First)
	case t.Open == nil:
		return m, nil
	case t.First < 0 || t.Open.Members < 1 || t.Open.Episodes < 0:
		return nil, fmt.Errorf("a slice of %d members from %d on: want at least one", t.Open.Members, t.First)
	}
	if m == nil || m.members != t.Open.Members || !slices.Equal(varied(m.of.Hyper()), t.Open.Varied) { // programs depend on them
		if m != nil {
			if err := a.keep(slices.DeleteFunc(a.firsts(), func(first int) bool { return first == t.First })); err != nil {
				return nil, err
			}
		}
		var err error
		if m, err = a.open(ctx, t.First, t.Open.Members); err != nil {
			return nil, err
		}
	}
	if err := m.ready(ctx, t.Open); err != nil {
		return nil, m.failed(err)
	}
	return m, nil
}

func (a *assistant) firsts() (all []int) {
	for _, m := range a.all {
		all = append(all, m.first)
	}
	return all
}

// ready makes what evaluates the fitness of a slice, if that is asked for and not there yet, and clears its state.
func (m *memberSlice) ready(ctx context.Context, open *sliceOpen) error {
	m.of.Hyper().Vary(open.Varied...)
	if open.Episodes > 0 && m.evaluate == nil {
		if err := m.prepareFitness(ctx, open.Episodes); err != nil {
			return err
		}
	}
	return m.of.State().Zero(ctx)
}

// varied returns the hyperparameters that differ between members.
func varied(of *engine.Hyper) (names []string) {
	for _, name := range of.Names() {
		if of.Varied(name) {
			names = append(names, name)
		}
	}
	return names
}
