package rl

import (
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Limits of the kernels that make many updates of off-policy agents in one dispatch (shaders/rl/lane_update.glsl).
const (
	maxFusedUpdates = 64        // updates per dispatch
	maxFusedBytes   = 128 << 20 // of the batches of a dispatch
)

// laneUpdate describes the updates of an agent in such a kernel.
type laneUpdate struct {
	lanes              uint32   // of the kernel's subgroups; 0: networks do not fit
	largest            nn.Model // of its networks, by inputs and by outputs
	bindings           int      // storage buffers of the kernel
	evaluated, learned int      // passes over the batch per update, of networks that are only evaluated and of those that learn
	noises             int      // normal random numbers per transition
	networks           int      // that the optimizers update
	shared             int      // floats of shared memory per transition
}

// inLanes is the layout of the networks if lanes hold them whole.
func (l laneUpdate) inLanes(o *OffPolicy) laneUpdate {
	lanes, err := nn.LanesOf(l.largest, o.State().Engine().Device().Info())
	if err == nil {
		l.lanes = lanes.Lanes
	}
	return l
}

// updatesPerDispatch returns the number of updates per dispatch; 0 if each update is several dispatches. Updates are
// fused under the same conditions as PPO's (canFuse): on software drivers, with networks that lanes can hold and enough
// work to repay the longer compilation.
func (l laneUpdate) updatesPerDispatch(o *OffPolicy, parts learnerParts) int {
	info := o.State().Engine().Device().Info()
	updates, err := o.cfg.updates()
	if err != nil || info.Type != vk.CPU || !info.Features.Has(vk.Int64) || o.cfg.Members*updates*parts.batch < fusedPasses {
		return 0
	}
	if parts.actors > 1 || parts.together || !parts.network.alike() || parts.network.LayerNorm || parts.network.Precision != nn.Float32 {
		return 0
	}
	if l.lanes == 0 || l.lanes%fusedBlock != 0 || info.Limits.MaxBindings < uint32(l.bindings) {
		return 0
	}
	if 4*l.shared*parts.batch > int(info.Limits.MaxSharedBytes) {
		return 0
	}
	batch := 4 * o.cfg.Members * parts.batch * (2*parts.env.ObsSize() + parts.env.Action.Head().Words() + 3)
	most := min(maxFusedUpdates, maxFusedIterations/l.iterations(parts.batch, int(l.lanes)), maxFusedBytes/batch, updates)
	if most < 1 {
		return 0
	}
	dispatches := (updates + most - 1) / most
	return (updates + dispatches - 1) / dispatches
}

// iterations returns the loop iterations of an update: passes over the batch, drawing noise, and Adam over all
// parameters, four at a time.
func (l laneUpdate) iterations(batch, lanes int) int {
	groups, philox := (batch+lanes-1)/lanes, 10*(1+(2*l.noises+3)/4)
	evaluated, learned := groups*(1+lanes), groups*(1+lanes/fusedBlock+lanes)
	rows := 2 * l.largest.Layers()[0].Out / lanes // of matrices that are loaded and stored
	return l.evaluated*(evaluated+rows) + l.learned*(learned+rows) + 2*groups*(1+philox) + l.networks*l.largest.Size()/(4*lanes) + 64
}
