package envs

import "github.com/evorl/evorl/engine/config"

// Placement defines where the weights of a policy's network are stored during episodes. It is named as the
// layouts of engine/nn: nn.Own, nn.Lanes, nn.Group, nn.Stream. Returns of different placements differ by the order of
// summation.
type Placement uint32

const (
	// Automatic: the placement that costs least, determined by the device, the network, the environment and the
	// number of episodes, never by timing: the same run always has the same placement.
	Automatic Placement = iota
	// PlacementOwn: each lane of a subgroup holds the network that acts in its environment. For small networks of one
	// or two hidden layers.
	PlacementOwn
	// PlacementLanes: the lanes of a subgroup hold a network together. One or two hidden layers.
	PlacementLanes
	// PlacementGroup: several subgroups hold a network together. One or two hidden layers.
	PlacementGroup
	// PlacementStream: weights are not held but read from memory at every step, once for all environments of a
	// subgroup. Any dense network; those of low rank share the weights of all candidates in a subgroup.
	PlacementStream
	// PlacementStepped: the network is not part of the environment's kernel but evaluated before every step, as batched
	// products. Any network, in a few dispatches per step.
	PlacementStepped
)

// Placements lists the placements that can be requested.
func Placements() []Placement {
	return []Placement{PlacementOwn, PlacementLanes, PlacementGroup, PlacementStream, PlacementStepped}
}

var placementNames = [...]string{"auto", "own", "lanes", "group", "stream", "stepped"}

func (p Placement) String() string { return config.NameOf(p, placementNames[:]) }

// UnmarshalText parses a placement's name: auto, own, lanes, group, stream or stepped.
func (p *Placement) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "placement", placementNames[:], text)
}

// MarshalText returns a placement's name.
func (p Placement) MarshalText() ([]byte, error) {
	return config.MarshalName(p, "placement", placementNames[:])
}
