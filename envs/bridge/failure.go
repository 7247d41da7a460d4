package bridge

import (
	"fmt"
	"sync"
)

// Failure is a failure of an environment, or of a process that has several, after which it was restarted.
type Failure struct {
	Environment int // its number among those that are stepped together; of a process its first one that failed
	Err         error
}

func (f Failure) Error() string { return fmt.Sprintf("environment %d: %v", f.Environment, f.Err) }

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

// Failures counts failures. The zero value is ready, and safe for concurrent use.
type Failures struct {
	// Notify is called with every failure; nil: nobody is told. It is set before the first one.
	Notify func(Failure)

	mu   sync.Mutex
	n    int
	last Failure
}

// Count returns the number of failures, and the last one.
func (f *Failures) Count() (n int, last Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n, f.last
}

// Add counts a failure and returns their number.
func (f *Failures) Add(of Failure) int {
	f.mu.Lock()
	f.n++
	f.last = of
	n := f.n
	f.mu.Unlock()
	if f.Notify != nil {
		f.Notify(of)
	}
	return n
}
