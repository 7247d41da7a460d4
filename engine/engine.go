// Package engine is the foundation of every algorithm of evorl: tensors with named axes, programs recorded once and replayed, random
// numbers computed from counters, metrics that are read one step late, checkpoints, and the learn loop.
//
// An algorithm is a value that describes a computation. Its state is held in named tensors on the device (State), so a
// checkpoint consists of those tensors, and resuming is exact.
package engine

import (
	"fmt"
	"log/slog"

	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/vk"
)

// Engine is a device with the seed of all random numbers of a run and a logger. Several workflows may share
// one.
type Engine struct {
	dev  *vk.Device
	seed uint32
	log  *slog.Logger

	worker    *cluster.Worker // nil: the engine has its run for itself
	beside    []*vk.Device    // see Beside
	crew      *cluster.Crew   // see Assisted; nil: no others
	first     int             // see Slice
	nilOption bool            // New was given one; what takes the engine refuses it
}

// Option configures New.
type Option func(*Engine)

// Seed sets the seed of all random numbers of the engine's workflows. The default is 0.
func Seed(seed uint32) Option { return func(e *Engine) { e.seed = seed } }

// Logger sets the logger for the messages of Learn. The default, and nil, discard them.
func Logger(log *slog.Logger) Option {
	return func(e *Engine) {
		if log != nil {
			e.log = log
		}
	}
}

// Shared makes the engine one of those that share a run: its workflow is a replica, and does the slices of the evaluation that the worker is given. The
// default, and nil, is a run of one engine. Searches in slices can be shared (ec.Slice).
func Shared(w *cluster.Worker) Option { return func(e *Engine) { e.worker = w } }

// Beside gives the engine other devices, on which workflows of members in slices compute too (hybrid.Slices), and agents act or compute parts of gradients
// (rl.Shared). The caller closes them.
func Beside(devices ...*vk.Device) Option {
	return func(e *Engine) { e.beside = append(e.beside, devices...) }
}

// Assisted lets workers elsewhere compute members in slices too (hybrid.Slices): those of the crew, which may come and go. The default, and nil, is none.
func Assisted(by *cluster.Crew) Option { return func(e *Engine) { e.crew = by } }

// New makes an engine on an open device. What is made with the engine of a nil device or option fails with a *NilError.
// The caller closes the device after all workflows of the engine are closed.
func New(dev *vk.Device, opts ...Option) *Engine {
	e := &Engine{dev: dev, log: slog.New(slog.DiscardHandler)}
	for _, o := range opts {
		if o == nil {
			e.nilOption = true
			continue
		}
		o(e)
	}
	return e
}

// Device returns the device given to New.
func (e *Engine) Device() *vk.Device { return e.dev }

// Devices returns the device given to New, and those of Beside.
func (e *Engine) Devices() []*vk.Device { return append([]*vk.Device{e.dev}, e.beside...) }

// Crew returns the crew given to Assisted; nil: no workers elsewhere take part.
func (e *Engine) Crew() *cluster.Crew { return e.crew }

// Slice returns the engine of a part of a run's members on one of the engine's devices: of those from the index first on. It has the run's seed and
// streams of its own, except for evaluations: their episodes are those of the members' indices in the run (First).
func (e *Engine) Slice(dev *vk.Device, first int) *Engine {
	return &Engine{dev: dev, seed: e.seed, log: e.log, first: e.first + first}
}

// First returns the index in the run of the workflow's first member; 0 unless the engine is one of Slice.
func (e *Engine) First() int { return e.first }

// stream returns the number of a stream. The slice that begins with member 0 has the same as a run without slices.
func (e *Engine) stream(name string) uint32 {
	if e == nil || e.first == 0 {
		return Stream(name)
	}
	return Stream(fmt.Sprintf("members from %d/%s", e.first, name))
}

// Seed returns the seed of the engine's random numbers.
func (e *Engine) Seed() uint32 { return e.seed }

// Worker returns the worker given to Shared; nil: the engine has its run for itself.
func (e *Engine) Worker() *cluster.Worker { return e.worker }

// Logger returns the engine's logger.
func (e *Engine) Logger() *slog.Logger { return e.log }
