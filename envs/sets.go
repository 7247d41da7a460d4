package envs

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// Set is a set of things that an environment may meet, such as the cells of a maze, of which its state records those that it has met.
type Set struct {
	Name string // in metrics and settings
	// First is the element of the state that has the first 24 things as bits of a whole number, from the lowest bit on; the next elements have the
	// others.
	First string
	Size  int // things
	// Visited tells that the things are states that an agent visits: how many it visits in an episode is its coverage (Evaluator.Coverage).
	Visited bool
}

// setBits is how many things an element of the state records: a float32 has all whole numbers below 2²⁴.
const setBits = 24

// words returns how many elements of the state record the set.
func (s Set) words() int { return (s.Size + setBits - 1) / setBits }

// checkSets checks the sets of a Spec.
func (s Spec) checkSets() error {
	for i, of := range s.Sets {
		first := slices.Index(s.State, of.First)
		switch {
		case of.Name == "" || slices.ContainsFunc(s.Sets[:i], func(other Set) bool { return other.Name == of.Name }):
			return fmt.Errorf("the set %d is named %q; want a name of its own", i, of.Name)
		case of.Size < 1:
			return fmt.Errorf("the set %q has %d things; want at least 1", of.Name, of.Size)
		case first < 0 || first+of.words() > len(s.State):
			return fmt.Errorf("the set %q of %d things begins with the state's element %q; want one of %v, followed by as many as have %d bits each",
				of.Name, of.Size, of.First, s.State, setBits)
		case s.Agents > 1 || s.outside:
			return fmt.Errorf("the set %q in an environment of several agents, or outside the device; want neither", of.Name)
		}
	}
	return nil
}

// Found gathers the sets of environments (Spec.Sets): which things any environment of a group of members has met since the run began. An environment that
// begins new episodes by itself keeps its record from one to the next.
type Found struct {
	env     *Environment
	element *engine.Tensor // [words] u32: of the state
	begin   *engine.Tensor // [sets + 1] u32: first word of each set, and the end
	bits    *engine.Tensor // [G, words] u32
	counts  *engine.Tensor // [sets, G]
	all     *engine.Tensor // [sets, G]: of all groups together; nil: there is one
	rows    []*engine.Tensor
	allRows []*engine.Tensor
}

// NewFound makes the record of a number of groups, in s; nil if the environment has no sets.
func NewFound(s *engine.State, env *Environment, groups int) *Found {
	if len(env.Sets) == 0 {
		return nil
	}
	var element []uint32
	begin := []uint32{0}
	for _, of := range env.Sets {
		first := slices.Index(env.State, of.First)
		for w := range of.words() {
			element = append(element, uint32(first+w))
		}
		begin = append(begin, uint32(len(element)))
	}
	constant := func(name string, values []uint32) *engine.Tensor {
		return engine.Constant(s, name, func() []uint32 { return values }, engine.Axis(name, len(values)))
	}
	f := &Found{
		env: env, element: constant("element", element), begin: constant("begin", begin),
		bits:   s.Tensor("found", engine.Uint32, engine.Members(groups), engine.Axis("word", len(element))).Own(),
		counts: s.Scratch("found_counts", engine.Float32, engine.Axis("set", len(env.Sets)), engine.Members(groups)),
	}
	if groups > 1 {
		f.all = s.Scratch("found_by_any", engine.Float32, f.counts.Dims()...)
	}
	return f
}

// Rows adds metrics for each set: the number of things that a group has met, such as faults/found, and that any group has, faults/found_by_any.
func (f *Found) Rows(m *engine.Metrics) {
	if f == nil {
		return
	}
	for _, of := range f.env.Sets {
		f.rows = append(f.rows, m.Row(of.Name+"/found"))
		if f.all != nil {
			f.allRows = append(f.allRows, m.Row(of.Name+"/found_by_any"))
		}
	}
}

// Counts returns the number of things of each set that groups have met, [sets, G].
func (f *Found) Counts() *engine.Tensor { return f.counts }

// Record records adding what the environments of a rollout have met, after its last step, and the metrics. Consecutive members are a group.
func (f *Found) Record(r *engine.Recorder, ro *Rollout) {
	if f == nil {
		return
	}
	sets, groups := len(f.env.Sets), f.bits.Size(engine.MemberAxis)
	all := ro.state.Len() / f.env.StateSize()
	if ro.env.Name != f.env.Name || all%groups != 0 {
		r.Fail(fmt.Errorf("envs: what %d environments of %q have found, for %d groups in %q; want whole groups in the same", all, ro.env.Name, groups, f.env.Name))
		return
	}
	r.Dispatch(foundKernel{
		EnvState: ro.state.Range(), Element: f.element.Range(), Found: f.bits.Range(),
		All: uint32(all), Each: uint32(all / groups), Workgroup: r.WorkgroupFor(all / groups),
	}.call(uint32(f.element.Len()), uint32(groups), 1))
	size, n := r.Invocations(sets * groups)
	r.Dispatch(foundCountKernel{
		Found: f.bits.Range(), Begin: f.begin.Range(), Counts: f.counts.Range(), Sets: uint32(sets), Groups: uint32(groups), LocalSizeX: size,
	}.call(n, 1, 1))
	for i, row := range f.rows {
		r.Copy(row, f.counts.Index(i))
	}
	if f.all == nil {
		return
	}
	r.Dispatch(foundUnionKernel{
		Found: f.bits.Range(), Begin: f.begin.Range(), Counts: f.all.Range(), Sets: uint32(sets), Groups: uint32(groups),
		Workgroup: r.WorkgroupFor(groups * f.element.Len()),
	}.call(uint32(sets), 1, 1))
	for i, row := range f.allRows {
		r.Copy(row, f.all.Index(i))
	}
}

// visited returns the set of states that agents visit; ok is false if the environment records none.
func (s Spec) visited() (of Set, ok bool) {
	at := slices.IndexFunc(s.Sets, func(of Set) bool { return of.Visited })
	if at < 0 {
		return Set{}, false
	}
	return s.Sets[at], true
}

// Covers reports whether episodes have a coverage: the environment records the states that an agent visits.
func (s Spec) Covers() bool {
	_, ok := s.visited()
	return ok
}

// Coverage is Fitness that also measures how many of the states that the environment records an episode visits: it returns what records the returns and
// the coverages [M, episodes] of new episodes, in which actions are sampled, as those of agents that learn are: the most likely ones often go in circles.
// Its tensors are made in the workflow's state s.
//
// Errors: an environment that records no visited states.
func (ev *Evaluator) Coverage(
	ctx context.Context, s *engine.State, clock engine.Clock, episodes int,
) (record func(r *engine.Recorder, returns, coverage *engine.Tensor), err error) {
	of, ok := ev.env.visited()
	if !ok {
		return nil, fmt.Errorf("envs: coverage in %q, which records no visited states; want an environment that does, such as \"FaultMaze-v0\"", ev.env.Name)
	}
	rollout, acts, err := ev.newRollout(ctx, s, episodes, nil, false)
	if err != nil {
		return nil, err
	}
	return func(r *engine.Recorder, returns, coverage *engine.Tensor) {
		if returns.Len() != rollout.ret.Len() || coverage.Len() != rollout.ret.Len() {
			r.Fail(fmt.Errorf("envs: returns %v and coverages %v; want those of %d episodes of %d members", returns, coverage, episodes, ev.members))
			return
		}
		rollout.Record(r, clock, acts)
		r.Copy(returns, rollout.ret)
		size, groups := r.Invocations(rollout.ret.Len())
		r.Dispatch(metKernel{
			EnvState: rollout.state.Range(), Counts: coverage.Range(), All: uint32(rollout.ret.Len()),
			First: uint32(slices.Index(ev.env.State, of.First)), Words: uint32(of.words()), LocalSizeX: size,
		}.call(groups, 1, 1))
	}, s.Err()
}
