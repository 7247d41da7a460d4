package vk

import (
	"math"
	"time"
)

// plan defines how a program is submitted. Its ops are divided into pieces, each with its own command buffer. Submissions list pieces;
// repeated blocks are listed many times.
type plan struct {
	pieces []piece
	groups []group
}

// piece is a range of ops within one block.
type piece struct{ from, to int }

// group is a sequence of submissions, or of other groups, that is sent one or more times.
type group struct {
	submissions []submission
	inner       []group // instead of submissions
	copies      int
}

// submission lists pieces in order.
type submission struct {
	entries []entry
	buffers []vkCommandBuffer // of the entries; set by record
}

// entry is a piece and the number of times that a submission lists it.
type entry struct{ piece, iterations int }

// maxListed is the most command buffers per submission. More gain nothing.
const maxListed = 64

// newPlan groups ops into submissions within the budget, as far as single ops and iterations allow. times holds the
// time of each op. If they are assumed, not measured, every iteration of a repeated block is a submission, since
// iterations may be long.
func newPlan(blocks []block, times []time.Duration, budget time.Duration, measured bool) plan {
	b := planner{budget: budget, measured: measured}
	for _, x := range blocks {
		b.block(x, times)
	}
	if len(b.pieces) == 0 { // a program without ops is still a submission
		b.pieces = []piece{{}}
		b.list(0, 1, 0)
	}
	b.flush()
	return b.plan
}

// planner builds a plan.
type planner struct {
	plan
	budget   time.Duration
	measured bool
	open     []entry // of the submission being filled
	listed   int
	spent    time.Duration
}

// block adds a block. If there are blocks in it, every iteration takes submissions of its own.
func (b *planner) block(x block, times []time.Duration) {
	if len(x.inner) > 0 {
		b.flush()
		before := b.groups
		b.groups = nil
		for _, y := range x.inner {
			b.block(y, times)
		}
		b.flush()
		b.groups = append(before, group{inner: b.groups, copies: x.iterations})
		return
	}
	first := len(b.pieces)
	from := x.from
	for _, to := range append(cut(times[x.from:x.to], b.budget), x.to-x.from) {
		b.pieces = append(b.pieces, piece{from, x.from + to})
		from = x.from + to
	}
	b.add(first, x.iterations, times)
}

// add adds the iterations of a block without others in it. first is the index of its first piece.
func (b *planner) add(first, iterations int, times []time.Duration) {
	pieces := b.pieces[first:]
	if iterations > 1 && (len(pieces) > 1 || !b.measured) { // an iteration takes a submission or several
		b.flush()
		each := make([]submission, len(pieces))
		for i := range pieces {
			each[i].entries = []entry{{first + i, 1}}
		}
		b.groups = append(b.groups, group{submissions: each, copies: iterations})
		return
	}
	for i, p := range pieces {
		b.addIterations(first+i, iterations, duration(times[p.from:p.to]))
	}
}

// addIterations adds iterations of one piece, each of the given time. It fills the current submission, then further ones.
func (b *planner) addIterations(piece, iterations int, each time.Duration) {
	if n := min(iterations, b.room(each)); n > 0 {
		b.list(piece, n, each)
		iterations -= n
	}
	if iterations == 0 {
		return
	}
	b.flush()
	full := b.room(each)
	if copies := iterations / full; copies > 0 {
		b.groups = append(b.groups, group{submissions: []submission{{entries: []entry{{piece, full}}}}, copies: copies})
	}
	if rest := iterations % full; rest > 0 {
		b.list(piece, rest, each)
	}
}

// room returns how many iterations of the given time fit into the current submission: at least one if it is empty.
func (b *planner) room(each time.Duration) int {
	n := math.MaxInt
	if each > 0 {
		n = int(max(0, b.budget-b.spent) / each)
	} else if b.spent > b.budget {
		n = 0
	}
	if b.listed == 0 {
		n = max(n, 1)
	}
	return min(n, maxListed-b.listed)
}

func (b *planner) list(piece, iterations int, each time.Duration) {
	b.open = append(b.open, entry{piece, iterations})
	b.listed += iterations
	b.spent += each * time.Duration(iterations)
}

// flush ends the current submission.
func (b *planner) flush() {
	if b.listed > 0 {
		b.groups = append(b.groups, group{submissions: []submission{{entries: b.open}}, copies: 1})
	}
	b.open, b.listed, b.spent = nil, 0, 0
}

// use sets the command buffers of the pieces.
func (p *plan) use(buffers []vkCommandBuffer) { use(p.groups, buffers) }

func use(groups []group, buffers []vkCommandBuffer) {
	for _, g := range groups {
		use(g.inner, buffers)
		for i := range g.submissions {
			s := &g.submissions[i]
			s.buffers = s.buffers[:0]
			for _, e := range s.entries {
				for range e.iterations {
					s.buffers = append(s.buffers, buffers[e.piece])
				}
			}
		}
	}
}

// count returns the number of submissions per run.
func (p *plan) count() int { return count(p.groups) }

func count(groups []group) (n int) {
	for _, g := range groups {
		n += (len(g.submissions) + count(g.inner)) * g.copies
	}
	return n
}

// each calls f for the submissions of groups in the order in which they are sent, until it returns an error.
func each(groups []group, f func(*submission) error) error {
	for _, g := range groups {
		for range g.copies {
			if err := each(g.inner, f); err != nil {
				return err
			}
			for i := range g.submissions {
				if err := f(&g.submissions[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cut groups ops into slices within the budget, as far as single ops allow. It returns the first op of every slice but the first.
func cut(times []time.Duration, budget time.Duration) []int {
	var cuts []int
	var slice time.Duration
	for i, t := range times {
		if slice > 0 && slice+t > budget {
			cuts = append(cuts, i)
			slice = 0
		}
		slice += t
	}
	return cuts
}

func duration(times []time.Duration) (sum time.Duration) {
	for _, t := range times {
		sum += t
	}
	return sum
}
