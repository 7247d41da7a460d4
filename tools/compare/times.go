package main

import "time"

// times divides the time of a comparison among its parts.
type times struct {
	tests, all time.Time // when tests and all parts are to have ended
	scale      float64   // of the parts' limits
}

// usual is the time for which parts declare their limits.
const usual = 10 * time.Minute

// newTimes divides the time from now on. Beside other parts, tests get 30% of it.
func newTimes(parts []part, deadline time.Time) times {
	left := time.Until(deadline)
	t := times{tests: deadline, all: deadline, scale: max(1, float64(left)/float64(usual))}
	for _, p := range parts {
		if !p.shares() && p.name != importPart {
			t.tests = deadline.Add(-left * 7 / 10)
		}
	}
	return t
}

// shares tells whether the part shares the time of the tests.
func (p part) shares() bool { return p.kind == testKind && p.limit == 0 }

// limit returns the time of the first of the parts that are left. A package's tests have one and a half times their equal share of what is
// left for tests, since most packages need less and some more, above all where a driver compiles slowly. Other parts take up to twice their limits, which
// grow with the whole time; those that are first leave the other first ones their shares of what is left, so that all of them start.
func (t times) limit(parts []part, now time.Time) time.Duration {
	left := t.all.Sub(now) - time.Second
	p := parts[0]
	tests, first := 0, time.Duration(0)
	for _, q := range parts {
		if q.shares() {
			tests++
		}
		if q.first {
			first += q.limit
		}
	}
	if p.shares() {
		share := t.tests.Sub(now) - time.Second
		return min(share, share*3/2/time.Duration(tests), left)
	}
	most := min(time.Duration(2*t.scale*float64(p.limit)), left)
	if p.first {
		most = min(most, time.Duration(float64(left)*float64(p.limit)/float64(first)))
	}
	return most
}
