package engine

import (
	"context"
	"slices"
	"strings"
)

// Hyper are the hyperparameters that may differ between members, each a [P] tensor "hyper/<name>" on the device: read by kernels at
// every step, changed by PBT where they are, saved with everything else.
type Hyper struct {
	prefix string // of the names within all
	all    *hypers
}

// hypers are all hyperparameters of a workflow, by full names.
type hypers struct {
	state    *State
	members  Dim
	names    []string
	tensors  map[string]*Tensor
	initials map[*Tensor]float64
}

// NewHyper makes hyperparameters of so many members, none yet.
func NewHyper(s *State, members int) *Hyper {
	return &Hyper{all: &hypers{state: s.Sub("hyper"), members: Members(members), tensors: map[string]*Tensor{}, initials: map[*Tensor]float64{}}}
}

// Sub is the same hyperparameters seen by a part: the names of those made through it begin with "scope/", and it lists only those.
func (h *Hyper) Sub(scope string) *Hyper { return &Hyper{prefix: h.prefix + scope + "/", all: h.all} }

// Add makes a hyperparameter that begins at one value for all members.
func (h *Hyper) Add(name string, initial float64) *Tensor {
	a, full := h.all, h.prefix+name
	t := a.state.Tensor(full, Float32, a.members)
	a.names = append(a.names, full)
	a.tensors[full], a.initials[t] = t, initial
	return t
}

// Hide takes a hyperparameter that means nothing to a method off the list, so that none is varied.
func (h *Hyper) Hide(name string) {
	full := h.prefix + name
	h.all.names = slices.DeleteFunc(h.all.names, func(n string) bool { return n == full })
	delete(h.all.tensors, full)
}

// Init sets the initial values of all of the workflow's hyperparameters.
func (h *Hyper) Init(ctx context.Context) error {
	for t, initial := range h.all.initials {
		if err := t.Fill(ctx, float32(initial)); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the hyperparameters of this scope in the order they were made; for the root all of the workflow's.
func (h *Hyper) Names() []string {
	var names []string
	for _, full := range h.all.names {
		if name, within := strings.CutPrefix(full, h.prefix); within {
			names = append(names, name)
		}
	}
	return names
}

// Lookup is the [P] tensor of a hyperparameter of this scope, nil when there is none of the name.
func (h *Hyper) Lookup(name string) *Tensor { return h.all.tensors[h.prefix+name] }
