package bench

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// errBudget is the error of a case that the budget left out.
var errBudget = errors.New("no time left")

// budget is the time limit of a suite; a zero end is no limit.
type budget struct {
	end  time.Time
	time time.Duration // longest, per case
}

func (o Options) budget() budget {
	w := budget{time: o.Time}
	if o.Budget > 0 {
		w.end = time.Now().Add(o.Budget)
	}
	return w
}

// order sorts cases by importance if time is limited.
func (w budget) order(cases []Case) {
	if !w.end.IsZero() {
		slices.SortStableFunc(cases, func(a, b Case) int { return cmp.Compare(a.Rank, b.Rank) })
	}
}

// run measures the next of the remaining cases, for at most half of its part of the remaining time; the other half is
// for preparation.
func (w budget) run(ctx context.Context, b *bench, c Case, cases int) (figure, error) {
	if w.end.IsZero() {
		return c.run(ctx, b)
	}
	left := time.Until(w.end)
	if left <= 0 || !b.gpu && left <= c.Least {
		return figure{}, errBudget
	}
	b.time = min(w.time, left/time.Duration(2*cases))
	limited, cancel := context.WithDeadline(ctx, w.end)
	defer cancel()
	f, err := c.run(limited, b)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = errBudget
	}
	return f, err
}
