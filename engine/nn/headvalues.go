package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Expected returns the head of the values that Expect computes from a network's outputs: with one output for each action, instead of atoms. Heads without
// atoms are their own.
func (h Head) Expected() Head {
	if h.Atoms > 1 {
		h.Atoms, h.Dueling = 0, false
	}
	return h
}

// Expect records the values of the actions [rows, Size] from a network's outputs [rows, Outputs], of an EpsilonGreedy head with atoms: what acts by them
// need not hold all outputs, of which Rainbow on an Atari game has 969. They are mean indices of atoms, which order the actions as their expected
// returns do, and NaN where an output is not finite.
func (h Head) Expect(r *engine.Recorder, outputs, values *engine.Tensor) {
	rows := outputs.Len() / max(h.Outputs(), 1)
	if err := h.Check(); err != nil {
		r.Fail(err)
		return
	}
	if h.Atoms < 2 || outputs.Len() != rows*h.Outputs() || values.Len() != rows*h.Size {
		r.Fail(fmt.Errorf("nn: values %v of %v head with %d atoms, by outputs %v; want an epsilon_greedy head with at least 2 atoms, rows of %d outputs and "+
			"as many of %d values", values, h.Kind, h.Atoms, outputs, h.Outputs(), h.Size))
		return
	}
	k := headValuesKernel{
		Outputs: outputs.Range(), Values: values.Range(), Rows: uint32(rows), Actions: uint32(h.Size), Atoms: uint32(h.Atoms), Dueling: h.Dueling,
	}
	var groups uint32
	k.LocalSizeX, groups = r.Invocations(rows * h.Size)
	r.Dispatch(k.call(groups, 1, 1))
}
