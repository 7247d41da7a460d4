package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// network is a policy's network as a rollout's kernel evaluates it.
type network struct {
	placement  Placement
	lanes      nn.Lanes
	stream     nn.Stream
	own        nn.Own
	group      nn.Group
	iterations int // of loops, that evaluating it takes an invocation through
}

// network places the policy's network where it is asked for or, Automatic, where it costs least.
func (ro *Rollout) network(policy *Policy, info vk.Info) (network, error) {
	mlp := policy.Network
	choices := []Placement{policy.Placement}
	if policy.Placement == Automatic {
		choices = ro.placements(policy, info)
	}
	var n network
	var err error
	for _, n.placement = range choices {
		switch n.placement {
		case InLane:
			n.own, err = mlp.Own()
		case InSubgroup:
			n.lanes, err = mlp.LanesForward(info)
			n.iterations = int(n.lanes.Lanes)
		case InWorkgroup:
			if ro.mapping == Cooperative { // which has the shared memory
				err = fmt.Errorf("the lanes of one subgroup compute each environment together (mapping cooperative)")
				break
			}
			n.group, err = mlp.Group(info, ro.cfg.Environments, ro.floats(policy))
			n.iterations = n.group.Iterations
		case Streamed:
			n.stream, err = mlp.Stream(info, ro.cfg.Environments)
			n.iterations = n.stream.Iterations
		default:
			err = fmt.Errorf("number %d; want one of %v", uint32(n.placement), placementNames)
		}
		if err == nil {
			break
		}
	}
	if err != nil && policy.Placement != Automatic {
		err = fmt.Errorf("envs: placement %v in %q: %w; want %v, or %v for any network", policy.Placement, ro.env.Name, err, Automatic, Streamed)
	}
	return n, err
}

// Placement is where a device has a policy's network.
//
// Errors: one asked for that has no room.
func (ro *Rollout) Placement(policy *Policy, info vk.Info) (Placement, error) {
	n, err := ro.network(policy, info)
	return n.placement, err
}

// placements lists what to try, one after the other; the last always has room.
func (ro *Rollout) placements(policy *Policy, info vk.Info) []Placement {
	switch {
	case !info.Type.GPU() && ro.alone(policy.Network):
		return []Placement{InLane, InSubgroup, Streamed}
	case info.Type.GPU() && ro.together(policy, info):
		return []Placement{InSubgroup, InWorkgroup, Streamed}
	}
	return []Placement{InSubgroup, Streamed}
}

// alone says whether lanes of a software driver had better evaluate networks alone than together: nanoseconds of CPU time a step in
// swing-up, alone and together, Mesa 22.3.6 with eight lanes (BenchmarkFewEpisodes):
//
//	environments of a member      1           8
//	[8]                         18 107      14  26
//	[16, 16]                    45 161      38  68
//	[32, 32]                   136 175     134 103
//
// A GPU's lanes have no room for it in their registers.
func (ro *Rollout) alone(mlp nn.MLP) bool {
	const (
		little = 512 // parameters
		few    = 3   // environments
	)
	return mlp.Size() <= little || ro.cfg.Environments < few
}

// together says whether a GPU's workgroup had better hold a network, for which a subgroup has no room, than stream it, by an estimate of the
// clocks that a step of all the member's environments then takes a compute unit that is kept busy. Streamed, weights come from the second-level
// cache, once for up to 16 environments; that takes longer than their products unless there are many. Held, only what is left over is read,
// from the first-level cache, but subgroups wait for each other after every layer. Environments that solve for constraints need the registers
// themselves.
func (ro *Rollout) together(policy *Policy, info vk.Info) bool {
	const (
		products = 128 // a clock: NVIDIA's multiprocessors since Pascal, AMD's dual compute units
		second   = 32  // bytes a clock from the second-level cache, of what it has for all: 24 on H200, 47 on A100, 57 on RX 6900 XT
		first    = 64  // bytes a clock from the first-level cache, of 128
		wait     = 40  // clocks
	)
	mlp := policy.Network
	g, err := mlp.Group(info, ro.cfg.Environments, ro.floats(policy))
	if err != nil || ro.env.Iterations > 0 {
		return false
	}
	environments, weights := ro.cfg.Environments, mlp.Size()
	stream, err := mlp.Stream(info, environments)
	if err != nil {
		return true
	}
	turns := func(rows uint32) int { return (environments + int(rows) - 1) / int(rows) }
	compute := environments * weights / products
	streamed := max(compute, turns(stream.Rows)*4*weights/second)
	held := compute + turns(g.Rows)*(g.Left()/first+(len(mlp.Hidden)+3)*wait)
	return held < streamed
}

// floats is about how many floats of the environment a lane keeps from step to step.
func (ro *Rollout) floats(policy *Policy) int {
	each := 1 // the observation
	if policy.Normalizer != nil {
		each += 2 // mean and deviation
	}
	if ro.seen != nil {
		each += 2 // sums
	}
	return ro.env.StateSize() + each*ro.env.ObsSize()
}

// The numbers of shaders/engine/nn/network.glsl.
const (
	networkLanes uint32 = iota
	networkStream
	networkOwn
	networkGroup
)

// set sets what a rollout's kernel wants to know.
func (n network) set(k *rolloutKernel) {
	switch n.placement {
	case InLane:
		k.Network = networkOwn
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.own.Hidden1, n.own.Hidden2, n.own.Activation, n.own.LayerNorm
	case InSubgroup:
		k.Network = networkLanes
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.lanes.Hidden1, n.lanes.Hidden2, n.lanes.Activation, n.lanes.LayerNorm
	case InWorkgroup:
		k.Network, k.Workgroup = networkGroup, n.group.Workgroup
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.group.Hidden1, n.group.Hidden2, n.group.Activation, n.group.LayerNorm
		k.GroupRows, k.GroupSlices1, k.GroupSlices2 = n.group.Rows, n.group.Slices1, n.group.Slices2
		k.GroupHeld, k.GroupKept, k.StreamAligned = n.group.Held, n.group.Kept, n.group.Aligned
	case Streamed:
		k.Network = networkStream
		k.Hidden1, k.Activation, k.LayerNorm = 1, n.stream.Activation, n.stream.LayerNorm
		k.StreamRows, k.StreamQuads, k.StreamAligned = n.stream.Rows, n.stream.Quads, n.stream.Aligned
		k.StreamLayers, k.StreamHidden = n.stream.Layers, n.stream.Hidden
	}
}

// groups is how many workgroups step the environments of all members.
func (n network) groups(members, environments, lanes int) int {
	if n.placement == InLane {
		return (members*environments + lanes - 1) / lanes
	}
	return members * ((environments + lanes - 1) / lanes)
}
