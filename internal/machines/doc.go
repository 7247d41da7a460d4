// Package machines connects the workers of a run on other machines with its coordinator, over NATS: a Host serves the coordinator's link, and a Link is a
// worker's end of it. The link is one of slices of a search, or of a crew's jobs.
//
// It uses core NATS alone: every message is a request with one reply, which may be repeated, and nothing is kept by the server. The checkpoint of the
// coordinator is the truth. A run's subjects are evorl.NAME.CALL.
//
// A request that must wait is answered after a while all the same, and is then asked again: so a lost message costs seconds. Messages that are larger than
// the server's limit are fetched in parts, each by a request of its own, so that no more than one part is on its way to a worker.
package machines

import "time"

// Timing is how long the two sides wait for each other. The zero value has the defaults. Both sides of a run need the same.
type Timing struct {
	Poll time.Duration // most that the host keeps a request waiting; 0: 5 s
	Beat time.Duration // between signs of life of a worker; 0: 2 s
	Lost time.Duration // without a sign, after which a worker is given up; 0: 15 s
}

func (t Timing) complete() Timing {
	if t.Poll == 0 {
		t.Poll = 5 * time.Second
	}
	if t.Beat == 0 {
		t.Beat = 2 * time.Second
	}
	if t.Lost == 0 {
		t.Lost = 15 * time.Second
	}
	return t
}

// answer is how long a worker waits for a reply before it asks again.
func (t Timing) answer() time.Duration { return t.Poll + t.Lost }
