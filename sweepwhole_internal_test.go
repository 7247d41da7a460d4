package evorl

import "time"

// SendOften makes workers that do whole runs send all that they have done; the returned function undoes it.
func SendOften() (back func()) {
	was := partEvery
	partEvery = time.Nanosecond
	return func() { partEvery = was }
}
