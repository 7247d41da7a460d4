package envs

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// network is a policy's network with its placement in a rollout's kernel.
type network struct {
	placement  Placement
	lanes      nn.Lanes
	stream     nn.Stream
	own        nn.Own
	group      nn.Group
	iterations int // loop iterations of an invocation per evaluation
}

// network places the policy's network as requested or, with Automatic, where it costs least.
func (ro *Rollout) network(policy *Policy, info vk.Info) (network, error) {
	model := policy.Network
	if err := ro.checkDrawn(policy); err != nil {
		return network{}, err
	}
	if ro.env.outside && policy.Placement != Automatic {
		return network{}, fmt.Errorf("envs: placement %v in %q, which is stepped by the host; want %v", policy.Placement, ro.env.Name, Automatic)
	}
	if ro.env.bits() && policy.Placement != Automatic && policy.Placement != PlacementStepped {
		return network{}, fmt.Errorf("envs: placement %v in %q, which observes words of bits; want %v", policy.Placement, ro.env.Name, PlacementStepped)
	}
	if ro.env.stored && policy.Placement != Automatic && policy.Placement != PlacementStepped {
		return network{}, fmt.Errorf("envs: placement %v in %q, whose state stays in the buffer; want %v", policy.Placement, ro.env.Name, PlacementStepped)
	}
	if ro.env.Seats() > 1 {
		switch policy.Placement {
		case Automatic, PlacementStepped:
		case PlacementStream:
			if err := ro.streamable(policy); err != nil {
				return network{}, fmt.Errorf("envs: placement %v in %q: %w; want %v", policy.Placement, ro.env.Name, err, PlacementStepped)
			}
		default:
			return network{}, fmt.Errorf("envs: placement %v in %q, a world of several agents; want %v or %v", policy.Placement, ro.env.Name,
				PlacementStream, PlacementStepped)
		}
	}
	if policy.Perturbation != nil {
		return ro.rankNetwork(policy, info)
	}
	choices := []Placement{policy.Placement}
	if policy.Placement == Automatic {
		choices = ro.placements(policy, info)
	}
	var n network
	var err error
	for _, n.placement = range choices {
		switch n.placement {
		case PlacementOwn:
			n.own, err = nn.OwnOf(model)
		case PlacementLanes:
			n.lanes, err = nn.LanesForwardOf(model, info, ro.floats(policy))
			n.iterations = int(n.lanes.Lanes)
		case PlacementGroup:
			if ro.mapping == Cooperative { // the environment uses the shared memory
				err = fmt.Errorf("the lanes of one subgroup compute each environment together (mapping cooperative)")
				break
			}
			n.group, err = nn.GroupOf(model, info, ro.cfg.Environments, ro.floats(policy))
			n.iterations = n.group.Iterations
		case PlacementStream:
			n.stream, err = nn.StreamOf(model, info, ro.cfg.Environments)
			n.iterations = n.stream.Iterations
		case PlacementStepped:
			if err = nil; ro.stepped == nil {
				err = errors.New("the rollout was made for other policies (RolloutConfig.Policy)")
			}
		default:
			err = fmt.Errorf("number %d; want one of %v", uint32(n.placement), placementNames)
		}
		if err == nil {
			break
		}
	}
	if err != nil && (policy.Placement != Automatic || n.placement == PlacementStepped) {
		err = fmt.Errorf("envs: placement %v in %q: %w; want %v, or %v for any network", n.placement, ro.env.Name, err, Automatic, PlacementStepped)
	}
	return n, err
}

// rankNetwork places networks of low rank: streamed, in the kernel that steps the environments, or stepped.
func (ro *Rollout) rankNetwork(policy *Policy, info vk.Info) (network, error) {
	switch n := (network{placement: PlacementStepped}); policy.Placement {
	case PlacementStream:
		n.placement = PlacementStream
		if _, err := ro.rank(policy, info); err != nil {
			return n, fmt.Errorf("envs: placement %v of networks of low rank: %w; want %v or %v", policy.Placement, err, Automatic, PlacementStepped)
		}
		return n, nil
	case Automatic, PlacementStepped:
		if ro.fuses(policy, info) {
			n.placement = PlacementStream
		}
		return n, nil
	default:
		return n, fmt.Errorf("envs: placement %v of networks of low rank; want %v or %v", policy.Placement, PlacementStream, PlacementStepped)
	}
}

// Placement returns where a device stores a policy's network: PlacementStepped in environments that the host steps.
//
// Errors: the requested placement does not fit.
func (ro *Rollout) Placement(policy *Policy, info vk.Info) (Placement, error) {
	n, err := ro.network(policy, info)
	return n.placement, err
}

// placements lists the placements to try, in order; the last always fits.
func (ro *Rollout) placements(policy *Policy, info vk.Info) []Placement {
	switch {
	case ro.steps(policy, info):
		return []Placement{PlacementStepped}
	case ro.env.seated():
		return []Placement{PlacementStream}
	case !info.Type.GPU() && ro.alone(policy.Network):
		return []Placement{PlacementOwn, PlacementLanes, PlacementStream}
	case info.Type.GPU() && ro.together(policy, info):
		return []Placement{PlacementLanes, PlacementGroup, PlacementStream}
	}
	return []Placement{PlacementLanes, PlacementStream}
}

// alone reports whether on a software driver it is faster for each lane to hold a network alone than for the lanes of
// a subgroup to hold it together. Nanoseconds of CPU time per swing-up step, alone and together, Mesa 22.3.6 with
// eight lanes (BenchmarkFewEpisodes):
//
//	environments per member     1           8
//	[8]                         18 107      14  26
//	[16, 16]                    45 161      38  68
//	[32, 32]                   136 175     134 103
//
// On GPUs the network would not fit a lane's registers.
func (ro *Rollout) alone(model nn.Model) bool {
	const (
		little = 512 // parameters
		few    = 3   // environments
	)
	return model.Size() <= little || ro.cfg.Environments < few
}

// together reports whether a GPU's workgroup should hold a network that does not fit a subgroup, instead of streaming
// it. It estimates the clocks that one step of all environments of a member takes a busy compute unit. Streamed
// weights are read from the second-level cache, once for up to 16 environments, which takes longer than the
// multiplications unless there are many. A held network reads only the rest of its weights, from the first-level
// cache, but its subgroups synchronise after every layer. Environments with constraint solvers, or with networks of
// their own, need the registers themselves.
func (ro *Rollout) together(policy *Policy, info vk.Info) bool {
	const (
		products = 128 // per clock: NVIDIA's multiprocessors since Pascal, AMD's dual compute units
		second   = 32  // bytes per clock from the second-level cache, per compute unit if all read: 24 on H200, 47 on A100, 57 on RX 6900 XT
		first    = 64  // bytes per clock from the first-level cache, of 128
		wait     = 40  // clocks per barrier
	)
	model := policy.Network
	g, err := nn.GroupOf(model, info, ro.cfg.Environments, ro.floats(policy))
	if err != nil || ro.env.Iterations > 0 || ro.env.working > 0 {
		return false
	}
	environments, weights := ro.cfg.Environments, model.Size()
	stream, err := nn.StreamOf(model, info, environments)
	if err != nil {
		return true
	}
	batches := func(rows uint32) int { return (environments + int(rows) - 1) / int(rows) }
	compute := environments * weights / products
	streamed := max(compute, batches(stream.Rows)*4*weights/second)
	held := compute + batches(g.Rows)*(g.Left()/first+(len(model.Layers())+2)*wait)
	return held < streamed
}

// floats returns approximately how many floats of the environment a lane keeps between steps.
func (ro *Rollout) floats(policy *Policy) int {
	each := 1 // the observation
	if policy.Normalizer != nil {
		each += 2 // mean and deviation
	}
	if ro.seen != nil {
		each += 2 // sums
	}
	return ro.env.StateSize() + each*ro.env.ObsSize() + ro.env.working
}

// The constants of shaders/engine/nn/network.glsl.
const (
	networkLanes uint32 = iota
	networkStream
	networkOwn
	networkGroup
)

// Policies of shaders/envs/rollout.comp.
const (
	policyNetwork uint32 = iota
	policyRandom
	policyOutputs
)

// set sets the network's fields of a rollout's kernel.
func (n network) set(k *rolloutKernel) {
	switch n.placement {
	case PlacementOwn:
		k.Network = networkOwn
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.own.Hidden1, n.own.Hidden2, n.own.Activation, n.own.LayerNorm
	case PlacementLanes:
		k.Network = networkLanes
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.lanes.Hidden1, n.lanes.Hidden2, n.lanes.Activation, n.lanes.LayerNorm
	case PlacementGroup:
		k.Network, k.Workgroup = networkGroup, n.group.Workgroup
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.group.Hidden1, n.group.Hidden2, n.group.Activation, n.group.LayerNorm
		k.GroupRows, k.GroupSlices1, k.GroupSlices2 = n.group.Rows, n.group.Slices1, n.group.Slices2
		k.GroupHeld, k.GroupKept, k.StreamAligned = n.group.Held, n.group.Kept, n.group.Aligned
	case PlacementStream:
		k.Network = networkStream
		k.Hidden1, k.Activation, k.LayerNorm = 1, n.stream.Activation, n.stream.LayerNorm
		k.StreamRows, k.StreamQuads, k.StreamOneTurn, k.StreamAligned = n.stream.Rows, n.stream.Quads, n.stream.OneTurn, n.stream.Aligned
		k.StreamLayers, k.StreamHidden = n.stream.Layers, n.stream.Hidden
	case PlacementStepped:
		k.Policy = policyOutputs
	}
}

// groups returns the number of workgroups that step the environments of all members.
func (n network) groups(members, environments, lanes int) int {
	if n.placement == PlacementOwn {
		return (members*environments + lanes - 1) / lanes
	}
	return members * ((environments + lanes - 1) / lanes)
}
