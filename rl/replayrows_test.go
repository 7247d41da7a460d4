package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// readRows records reading rows that somebody has chosen: rows is u32 of the shape of b.Index, the rows of each member's
// ring; the ring holds all of them. b is made by newBatch. Its contents are as Sample gives them for the same rows: the
// reward and the next observation span ReplayConfig.Steps steps from the row on. discount is [M].
func (y *Replay) readRows(r *engine.Recorder, rows, discount *engine.Tensor, b ReplayBatch) {
	if rows.Len() != b.Index.Len() || rows.Type() != engine.Uint32 {
		r.Fail(fmt.Errorf("rl: reading rows %v of a replay into a batch of %v; want a row (u32) for each transition", rows, b.Index))
		return
	}
	k := y.reader(b, discount)
	k.Drawn, k.Clock, k.Update = rows.Range(), y.head.Range(), y.head.Range() // which are not read
	y.gather(r, k, b)
}
