package envs

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// OutsideError is the error of one environment of a Stepper.
type OutsideError struct {
	Environment int // its number in the Stepper
	Err         error
}

func (e *OutsideError) Error() string { return fmt.Sprintf("environment %d: %v", e.Environment, e.Err) }

// Unwrap returns the cause.
func (e *OutsideError) Unwrap() error { return e.Err }

// PanicError is a panic in a Stepper, or in an environment that it steps.
type PanicError struct {
	Value any    // of the panic
	Where string // file and line
	Stack []byte // of its goroutine
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v (%s)", e.Value, e.Where) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded calls f; a panic is its error, a *PanicError.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Where: panicked(), Stack: debug.Stack()}
		}
	}()
	return f()
}

// panicked returns file and line of the panic that is being recovered.
func panicked() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	in := false // the runtime's frames of the panic
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if in && !inRuntime {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if in = in || f.Function == "runtime.gopanic"; !more {
			return "unknown place"
		}
	}
}
