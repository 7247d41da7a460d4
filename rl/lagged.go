package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// lagged makes the weights that act older than those that learn, by a number of iterations that is a constant of the run: as those of actors elsewhere are,
// which act while the learner learns. The weights of the last iterations are part of the state, so that a run resumes exactly. Until there are as many, the
// first ones act.
type lagged struct {
	clock  engine.Clock
	learns []*engine.Tensor // what acts without a lag (actingTensors)
	past   []*engine.Tensor // [lag, M, …] each: the oldest first
	clocks *engine.Tensor   // [lag, 2] u32: when they were those that learn
	row    *engine.Tensor   // [M], metric
	acts   *envs.Policy     // the oldest
}

// actingTensors returns the tensors by which a policy acts, and their names: its parameters, the normalization of observations, and the noise of exploration,
// where it has them.
func actingTensors(p *envs.Policy) (all []*engine.Tensor, names []string) {
	for i, t := range []*engine.Tensor{p.Params, p.Normalizer, p.Head.Noise} {
		if t != nil {
			all, names = append(all, t), append(names, []string{"params", "normalizer", "noise"}[i])
		}
	}
	return all, names
}

// actingBy returns a policy that acts by other tensors, in the order of actingTensors.
func actingBy(of *envs.Policy, all []*engine.Tensor) *envs.Policy {
	p := *of
	for _, t := range []**engine.Tensor{&p.Params, &p.Normalizer, &p.Head.Noise} {
		if *t != nil {
			*t, all = all[0], all[1:]
		}
	}
	return &p
}

// newLagged makes the weights of the last iterations of a policy of so many members in s; nil without a lag.
func newLagged(s *engine.State, clock engine.Clock, m *engine.Metrics, of *envs.Policy, members, lag int) *lagged {
	if lag == 0 {
		return nil
	}
	learns, names := actingTensors(of)
	l := &lagged{clock: clock, learns: learns, row: m.Row("policy/lag")}
	var oldest []*engine.Tensor
	for i, t := range l.learns {
		_, rows, inner, _ := t.Split(engine.MemberAxis)
		past := s.Tensor(names[i], t.Type(), engine.Axis("lag", lag), engine.Members(members), engine.Axis("element", rows/members*inner))
		l.past, oldest = append(l.past, past), append(oldest, past.Index(0).View(t.Dims()...))
	}
	l.clocks = s.Tensor("clock", engine.Uint32, engine.Axis("lag", lag), engine.Axis("count", 2))
	l.acts = actingBy(of, oldest)
	return l
}

// of returns the weights of lag - k iterations ago.
func (l *lagged) of(k int) (all []*engine.Tensor) {
	for _, t := range l.past {
		all = append(all, t.Index(k))
	}
	return all
}

// lag returns the number of iterations.
func (l *lagged) lag() int { return l.clocks.Size("lag") }

// keep records keeping the present weights as those of lag - k iterations ago.
func (l *lagged) keep(r *engine.Recorder, k int) {
	for i, t := range l.learns {
		past := l.past[i].Index(k)
		r.Copy(past, t.View(past.Dims()...))
	}
	r.Copy(l.clocks.Index(k), l.clock.Tensor())
}

// begin records that the first weights act first.
func (l *lagged) begin(r *engine.Recorder) {
	for k := range l.lag() {
		l.keep(r, k)
	}
}

// record records, after the weights have acted and before the updates, the metric and that the next oldest ones are next.
func (l *lagged) record(r *engine.Recorder) {
	n := uint32(l.row.Len())
	r.Dispatch(behindKernel{Clock: l.clock.Tensor().Range(), Acts: l.clocks.Index(0).Range(), Row: l.row.Range(), Members: n}.call((n+7)/8, 1, 1))
	for k := 1; k < l.lag(); k++ {
		for _, t := range append([]*engine.Tensor{l.clocks}, l.past...) {
			r.Copy(t.Index(k-1), t.Index(k))
		}
	}
	l.keep(r, l.lag()-1)
}
