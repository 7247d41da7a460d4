package engine

import (
	"context"
	"slices"
	"strings"
)

// Hyper holds the hyperparameters that may differ between members. Each is a [M] tensor "hyper/<name>" on the device. Kernels read them at
// every step, PBT changes them on the device, and checkpoints save them.
type Hyper struct {
	prefix string // of the names in this scope
	all    *hypers
}

// hypers are all hyperparameters of a workflow, by full name.
type hypers struct {
	state    *State
	members  Dim
	names    []string
	tensors  map[string]*Tensor
	initials map[*Tensor]float64
	varied   map[string]bool
}

// NewHyper makes an empty set of hyperparameters for the given number of members.
func NewHyper(s *State, members int) *Hyper {
	return &Hyper{all: &hypers{
		state: s.Sub("hyper"), members: Members(members), tensors: map[string]*Tensor{}, initials: map[*Tensor]float64{}, varied: map[string]bool{},
	}}
}

// Sub returns the same hyperparameters within a scope: names made through it begin with "scope/", and it lists only those.
func (h *Hyper) Sub(scope string) *Hyper { return &Hyper{prefix: h.prefix + scope + "/", all: h.all} }

// Add makes a hyperparameter with one initial value for all members.
func (h *Hyper) Add(name string, initial float64) *Tensor {
	a, full := h.all, h.prefix+name
	t := a.state.Tensor(full, Float32, a.members)
	a.names = append(a.names, full)
	a.tensors[full], a.initials[t] = t, initial
	return t
}

// Hide removes a hyperparameter that a method does not use from the list, so that it is not varied.
func (h *Hyper) Hide(name string) {
	full := h.prefix + name
	h.all.names = slices.DeleteFunc(h.all.names, func(n string) bool { return n == full })
	delete(h.all.tensors, full)
}

// Vary declares that a method will give the members values of their own. Call it before the workflow is recorded.
func (h *Hyper) Vary(names ...string) {
	for _, name := range names {
		h.all.varied[h.prefix+name] = true
	}
}

// Varied reports whether members may have values of their own. If not, all have the initial one.
func (h *Hyper) Varied(name string) bool { return h.all.varied[h.prefix+name] }

// Init sets the initial values of all hyperparameters of the workflow.
func (h *Hyper) Init(ctx context.Context) error {
	for t, initial := range h.all.initials {
		if err := t.Fill(ctx, float32(initial)); err != nil {
			return err
		}
	}
	return nil
}

// Renew sets hyperparameters to their initial values again, but for those of which the members may have values of their own (Varied).
func (h *Hyper) Renew(ctx context.Context) error {
	for full, t := range h.all.tensors {
		if h.all.varied[full] {
			continue
		}
		if err := t.Fill(ctx, float32(h.all.initials[t])); err != nil {
			return err
		}
	}
	return nil
}

// Initial returns the initial value of a hyperparameter of this scope.
func (h *Hyper) Initial(name string) float64 { return h.all.initials[h.Lookup(name)] }

// Names lists the hyperparameters of this scope in creation order; at the root, all of the workflow.
func (h *Hyper) Names() []string {
	var names []string
	for _, full := range h.all.names {
		if name, within := strings.CutPrefix(full, h.prefix); within {
			names = append(names, name)
		}
	}
	return names
}

// Lookup returns the [M] tensor of a hyperparameter of this scope, or nil if it does not exist.
func (h *Hyper) Lookup(name string) *Tensor { return h.all.tensors[h.prefix+name] }
