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

// budget is the time that a suite may take. The zero end is any time.
type budget struct {
	end  time.Time
	time time.Duration // of a case at most
}

func (o Options) budget() budget {
	w := budget{time: o.Time}
	if o.Budget > 0 {
		w.end = time.Now().Add(o.Budget)
	}
	return w
}

// order sorts cases by importance where there may not be time for all.
func (w budget) order(cases []Case) {
	if !w.end.IsZero() {
		slices.SortStableFunc(cases, func(a, b Case) int { return cmp.Compare(a.Rank, b.Rank) })
	}
}

// run measures the next of so many cases, for at most half of its share of the time that is left: the other half is for what comes before and after.
func (w budget) run(ctx context.Context, b *bench, c Case, cases int) (figure, error) {
	if w.end.IsZero() {
		return c.run(ctx, b)
	}
	left := time.Until(w.end)
	if left <= c.Least {
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
