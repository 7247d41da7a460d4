package engine

import (
	"context"
	"slices"
)

// Hyper are the hyperparameters that may differ between members, each a [P] tensor "hyper/<name>" on the device: read by kernels at
// every step, changed by PBT where they are, saved with everything else.
type Hyper struct {
	state *State
	p     Dim
	names []string
	all   map[string]*Tensor
	inits map[*Tensor]float64
}

// NewHyper makes hyperparameters of so many members, none yet.
func NewHyper(s *State, members int) *Hyper {
	return &Hyper{state: s.Sub("hyper"), p: Members(members), all: map[string]*Tensor{}, inits: map[*Tensor]float64{}}
}

// Add makes a hyperparameter that begins at one value for all members.
func (h *Hyper) Add(name string, initial float64) *Tensor {
	t := h.state.Tensor(name, Float32, h.p)
	h.names = append(h.names, name)
	h.all[name], h.inits[t] = t, initial
	return t
}

// Hide takes a hyperparameter that means nothing to a method off the list, so that none is varied.
func (h *Hyper) Hide(name string) {
	h.names = slices.DeleteFunc(h.names, func(n string) bool { return n == name })
	delete(h.all, name)
}

// Init sets the initial values.
func (h *Hyper) Init(ctx context.Context) error {
	for t, initial := range h.inits {
		if err := t.Fill(ctx, float32(initial)); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the hyperparameters in the order they were made.
func (h *Hyper) Names() []string { return append([]string(nil), h.names...) }

// Lookup is the [P] tensor of a hyperparameter, nil when there is none of the name.
func (h *Hyper) Lookup(name string) *Tensor { return h.all[name] }
