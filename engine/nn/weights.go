package nn

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// Weights locates the parameters of networks: rows of a [M, row] tensor, or of [M, network, row] for a stack. Each
// network begins at float Base of its row.
type Weights struct {
	Params *engine.Tensor // [M, row] or [M, network, row]; row a multiple of four
	Base   int            // a multiple of four
	// Perturbation makes several networks from a member's row, for networks of NewPerturbed; nil: the rows are the networks.
	Perturbation *Perturbation
}

// Row returns the number of floats of a member's row.
func (w Weights) Row() int { return w.Params.Len() / w.Params.Size(engine.MemberAxis) }

// rowOf checks that weights hold the networks and returns the floats of a row.
func (n *Network) rowOf(w Weights) (int, error) { return w.row(n, n.members, n.stack, n.size()) }

// row checks that weights hold so many networks of a size for every member, and returns the floats of a network's row. Errors name the network.
func (w Weights) row(network fmt.Stringer, members, networks, size int) (int, error) {
	outer, rows, inner, ok := w.Params.Split(engine.MemberAxis)
	row := inner / networks
	switch {
	case !ok || outer != 1 || rows != members || inner%networks != 0:
		return 0, fmt.Errorf("nn: %v: parameters %v; want [member %d, network %d, row]", network, w.Params, members, networks)
	case w.Base < 0 || w.Base%4 != 0 || row%4 != 0:
		return 0, fmt.Errorf("nn: %v: parameters %v in rows of %d, beginning at %d; want multiples of 4", network, w.Params, row, w.Base)
	case w.Base+size > row:
		return 0, fmt.Errorf("nn: %v: parameters %v in rows of %d; want at least %d from %d on", network, w.Params, row, size, w.Base)
	}
	return row, nil
}
