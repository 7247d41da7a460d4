package rl

import (
	"context"

	"github.com/evorl/evorl/engine"
)

// Hyper are the hyperparameters that may differ between members, each a [P] tensor "hyper/<name>" on the device: read by kernels at
// every step, changed by PBT where they are, saved with everything else.
type Hyper struct {
	state *engine.State
	p     engine.Dim
	names []string
	inits []float64
	all   map[string]*engine.Tensor
}

func newHyper(s *engine.State, members int) *Hyper {
	return &Hyper{state: s.Sub("hyper"), p: engine.Population(members), all: map[string]*engine.Tensor{}}
}

// add makes a hyperparameter that begins at one value for all members.
func (h *Hyper) add(name string, initial float64) *engine.Tensor {
	t := h.state.Tensor(name, engine.Float32, h.p)
	h.names, h.inits = append(h.names, name), append(h.inits, initial)
	h.all[name] = t
	return t
}

func (h *Hyper) init(ctx context.Context) error {
	for i, name := range h.names {
		if err := h.all[name].Fill(ctx, float32(h.inits[i])); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the hyperparameters in the order they were made.
func (h *Hyper) Names() []string { return append([]string(nil), h.names...) }

// Lookup is the [P] tensor of a hyperparameter, nil when there is none of the name.
func (h *Hyper) Lookup(name string) *engine.Tensor { return h.all[name] }
