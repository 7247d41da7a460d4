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
}

// Row returns the number of floats of a member's row.
func (w Weights) Row() int { return w.Params.Len() / w.Params.Size(engine.MemberAxis) }

// rowOf checks that weights hold the networks and returns the floats of a row.
func (n *Network) rowOf(w Weights) (int, error) {
	outer, members, inner, ok := w.Params.Split(engine.MemberAxis)
	row := inner / n.stack
	switch {
	case !ok || outer != 1 || members != n.members || inner%n.stack != 0:
		return 0, fmt.Errorf("nn: %v: parameters %v; want [member %d, network %d, row]", n, w.Params, n.members, n.stack)
	case w.Base < 0 || w.Base%4 != 0 || row%4 != 0:
		return 0, fmt.Errorf("nn: %v: parameters %v in rows of %d, beginning at %d; want multiples of 4", n, w.Params, row, w.Base)
	case w.Base+n.model.Size() > row:
		return 0, fmt.Errorf("nn: %v: parameters %v in rows of %d; want at least %d from %d on", n, w.Params, row, n.model.Size(), w.Base)
	}
	return row, nil
}
