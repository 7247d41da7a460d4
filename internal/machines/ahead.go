package machines

import (
	"context"

	"github.com/evorl/evorl/engine/cluster"
)

// ahead is what a worker has asked for before it needs it, so that it does not wait for messages: while it does a slice, it reports the one before, and
// asks for the one after. With a step's results comes its first slice of the next step. One goroutine uses it at a time.
type ahead struct {
	step, slices int
	first        int    // slice of the step after, if it has as many; NoSlice: none
	asked        *asked // nil: nothing is on its way
}

// asked is an exchange on its way.
type asked struct {
	cancel context.CancelFunc
	done   chan struct{}
	order  cluster.Order
	err    error
}

// end forgets what was asked for.
func (a *ahead) end() {
	if a.asked != nil {
		a.asked.cancel()
		<-a.asked.done
	}
	*a = ahead{step: -1}
}

// begin makes an exchange while the worker does a slice.
func (l *Link) begin(ctx context.Context, of cluster.Report, held int) {
	ctx, cancel := context.WithCancel(ctx)
	a := &asked{cancel: cancel, done: make(chan struct{})}
	l.next.asked = a
	of.Held = []int{held}
	go func() {
		defer close(a.done)
		defer cancel()
		a.order, a.err = l.exchange(ctx, of)
	}()
}

// Exchange implements cluster.Link.
func (l *Link) Exchange(ctx context.Context, of cluster.Report) (cluster.Order, error) {
	of.Early = true
	if n := &l.next; n.step != of.Step || n.slices != of.Slices {
		first := cluster.NoSlice
		if n.step == of.Step-1 && n.slices == of.Slices && of.Result == nil {
			first = n.first
		}
		n.end()
		n.step, n.slices, n.first = of.Step, of.Slices, cluster.NoSlice
		if first != cluster.NoSlice {
			l.begin(ctx, of, first)
			return cluster.Order{Slice: first}, nil
		}
	}
	if a := l.next.asked; a != nil {
		<-a.done // ctx ends it too
		l.next.asked = nil
		switch {
		case a.err != nil:
			return cluster.Order{}, a.err
		case a.order.Results != nil: // others have done the slice too
			l.next.first = a.order.Next
			return a.order, nil
		case a.order.Slice != cluster.NoSlice:
			l.begin(ctx, of, a.order.Slice)
			return cluster.Order{Slice: a.order.Slice}, nil
		}
	}
	o, err := l.exchange(ctx, of)
	switch {
	case err != nil:
		return cluster.Order{}, err
	case o.Results != nil:
		l.next.first = o.Next
		return o, nil
	}
	of.Result = nil // it was taken
	l.begin(ctx, of, o.Slice)
	return o, nil
}
