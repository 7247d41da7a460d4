package engine

import "fmt"

// LostError is the error of a device beside the first one, or of a worker, that takes no part in a run any more, while the run goes on.
type LostError struct {
	Device int    // of Engine.Devices; -1: a worker elsewhere
	Name   string // as Engine.DeviceName, or "worker NAME"
	What   string // what it does no more, and who does it
	Err    error
}

func (e *LostError) Error() string { return fmt.Sprintf("%s %s: %v", e.Name, e.What, e.Err) }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// DeviceName names one of Devices in errors and warnings.
func (e *Engine) DeviceName(device int) string {
	return fmt.Sprintf("device %d (%s)", device, e.Devices()[device].Info().Name)
}

// Lost logs a *LostError, and returns it.
func (e *Engine) Lost(lost *LostError) error {
	e.log.Warn("the run goes on without "+lost.Name, "lost", lost.What, "cause", lost.Err)
	return lost
}
