package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
)

// Placement defines where the weights of a policy's network are stored during episodes. Returns of different
// placements differ by the order of summation.
type Placement uint32

const (
	// Automatic: the placement that costs least, determined by the device, the network, the environment and the
	// number of episodes, never by timing: the same run always has the same placement.
	Automatic Placement = iota
	// InLane: each lane of a subgroup holds the network that acts in its environment. For small networks of one or
	// two hidden layers.
	InLane
	// InSubgroup: the lanes of a subgroup hold a network together. One or two hidden layers.
	InSubgroup
	// InWorkgroup: several subgroups hold a network together. One or two hidden layers.
	InWorkgroup
	// Streamed: weights are not held but read from memory at every step, once for all environments of a subgroup. Any
	// dense network.
	Streamed
	// Stepped: the network is not part of the environment's kernel but evaluated before every step, as batched products. Any network, in a few
	// dispatches per step.
	Stepped
)

// Placements lists the placements that can be requested.
func Placements() []Placement { return []Placement{InLane, InSubgroup, InWorkgroup, Streamed, Stepped} }

var placementNames = [...]string{"auto", "lane", "subgroup", "workgroup", "streamed", "stepped"}

func (p Placement) String() string {
	if int(p) < len(placementNames) {
		return placementNames[p]
	}
	return fmt.Sprintf("Placement(%d)", uint32(p))
}

// UnmarshalText parses a placement's name: auto, lane, subgroup, workgroup, streamed or stepped.
func (p *Placement) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "placement", placementNames[:], text)
}

// MarshalText returns a placement's name.
func (p Placement) MarshalText() ([]byte, error) {
	return config.MarshalName(p, "placement", placementNames[:])
}
