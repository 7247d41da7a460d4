// Package engine is what every algorithm of evorl stands on: tensors with named axes, programs recorded once and replayed, random
// numbers that are counters, metrics that arrive a step late, checkpoints, and the loop that learns.
//
// An algorithm is a value that describes a computation. What changes lives in named tensors on the device (State), so that a
// checkpoint is those tensors, and resuming is exact.
package engine

import (
	"log/slog"

	"github.com/evorl/evorl/vk"
)

// Engine is a device with what a run needs beside it: the seed of all its random numbers and a logger. Several workflows may share
// one.
type Engine struct {
	dev  *vk.Device
	seed uint32
	log  *slog.Logger
}

// Option is a setting of New.
type Option func(*Engine)

// Seed sets the seed of every random number of the engine's workflows. Default 0.
func Seed(seed uint32) Option { return func(e *Engine) { e.seed = seed } }

// Logger takes the engine's messages, those of Learn. Default: none are kept.
func Logger(log *slog.Logger) Option { return func(e *Engine) { e.log = log } }

// New makes an engine on an open device. The device stays the caller's to close, after every workflow of the engine is closed.
func New(dev *vk.Device, opts ...Option) *Engine {
	e := &Engine{dev: dev, log: slog.New(slog.DiscardHandler)}
	for _, o := range opts {
		o(e)
	}
	return e
}

// Device is the device given to New.
func (e *Engine) Device() *vk.Device { return e.dev }

// Seed is the seed of the engine's random numbers.
func (e *Engine) Seed() uint32 { return e.seed }

// Logger is where the engine's messages go.
func (e *Engine) Logger() *slog.Logger { return e.log }
