package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
)

// Placement is who holds the weights of a policy's network while its episodes run. Returns differ by it as sums do that are added up in
// another order.
type Placement uint32

const (
	// Automatic: the placement that costs least. It depends on the device, the network, the environment and the number of episodes, and on
	// nothing that is timed: the same run has the same one again.
	Automatic Placement = iota
	// InLane: each lane of a subgroup holds the network that acts in its environment. Small ones of one or two hidden layers.
	InLane
	// InSubgroup: the lanes of a subgroup hold a network together. One or two hidden layers.
	InSubgroup
	// InWorkgroup: several subgroups hold a network together. One or two hidden layers.
	InWorkgroup
	// Streamed: no lane holds them; weights are read from memory at every step, once for all episodes that a subgroup steps. Any network.
	Streamed
)

// Placements lists those that can be asked for.
func Placements() []Placement { return []Placement{InLane, InSubgroup, InWorkgroup, Streamed} }

var placementNames = [...]string{"auto", "lane", "subgroup", "workgroup", "streamed"}

func (p Placement) String() string {
	if int(p) < len(placementNames) {
		return placementNames[p]
	}
	return fmt.Sprintf("Placement(%d)", uint32(p))
}

// UnmarshalText parses a placement's name: auto, lane, subgroup, workgroup or streamed.
func (p *Placement) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "placement", placementNames[:], text)
}

// MarshalText returns a placement's name.
func (p Placement) MarshalText() ([]byte, error) {
	return config.MarshalName(p, "placement", placementNames[:])
}
