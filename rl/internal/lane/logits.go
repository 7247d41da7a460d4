package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// logitIterations returns the loop iterations that an invocation takes for a row of a head's logits (logits_loss.comp).
func logitIterations(h nn.Head) int { return nn.LogitIterations*h.Outputs() + 2*h.Words() + 1 }

// logitSplits returns the fewest workgroups that can share a member's rows of logits, if the device has workgroups of the size that any has.
func logitSplits(rows int, h nn.Head) int {
	const size = 32 // of workgroups, fewer than Vulkan's least, 128: on software drivers large ones cost time
	each := size * max(1, maxIterations/logitIterations(h))
	return (rows + each - 1) / each
}

// recordLogits is record for actors with so many logits that they are read from memory.
func (l *Loss) recordLogits(r *engine.Recorder, m Minibatch, common weighted, of head) {
	splits := l.Sums.Size("split")
	k := logitsLossKernel{
		Output: l.Outputs.Range(), AtOutputs: l.atOutputs.Range(), Rows: uint32(m.Rows),
		Workgroup: r.WorkgroupForLoops((m.Rows+splits-1)/splits, logitIterations(l.of.Head)),
	}
	fill(r, &k, common, m.sampled(), of)
	r.Dispatch(k.call(uint32(m.Members), uint32(splits), 1))
}
