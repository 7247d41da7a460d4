package main

import "time"

// times divides the time of a comparison among its parts.
type times struct {
	tests, all time.Time // when tests and all parts are to have ended
	scale      float64   // of the other parts' limits
}

// usual is the time for which parts declare their limits.
const usual = 10 * time.Minute

// newTimes divides the time from now on. Beside other parts, tests get half of it.
func newTimes(parts []part, deadline time.Time) times {
	left := time.Until(deadline)
	t := times{tests: deadline, all: deadline, scale: max(1, float64(left)/float64(usual))}
	for _, p := range parts {
		if !p.tests {
			t.tests = deadline.Add(-left / 2)
		}
	}
	return t
}

// limit returns the time of the first of the parts that are left. A package's tests have one and a half times their equal share of what is
// left for tests, since most packages need less and some more, above all where a driver compiles slowly. Other parts' limits grow with
// the whole time.
func (t times) limit(parts []part, now time.Time) time.Duration {
	left := t.all.Sub(now) - time.Second
	if !parts[0].tests {
		return min(time.Duration(t.scale*float64(parts[0].limit)), left)
	}
	tests := 0
	for _, p := range parts {
		if p.tests {
			tests++
		}
	}
	share := t.tests.Sub(now) - time.Second
	return min(share, share*3/2/time.Duration(tests), left)
}
