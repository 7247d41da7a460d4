package envs

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// Mapping is how the lanes of a device share worlds. Ant-v5 and Humanoid-v5 have both forms of their dynamics, which agree but for rounding; other
// environments have the first.
type Mapping uint32

const (
	// ByDevice: teams for up to 2048 worlds on GPUs whose shared memory holds one, else lanes. It is an estimate (docs/physics.md).
	ByDevice Mapping = iota
	// Lane: each lane computes a world.
	Lane
	// Team: the lanes of a subgroup compute a world together.
	Team
)

var mappingNames = [...]string{"by-device", "lane", "team"}

func (m Mapping) String() string {
	if int(m) < len(mappingNames) {
		return mappingNames[m]
	}
	return fmt.Sprintf("Mapping(%d)", uint32(m))
}

// UnmarshalText reads a mapping by its name: by-device, lane or team.
func (m *Mapping) UnmarshalText(text []byte) error {
	return config.UnmarshalName(m, "mapping", mappingNames[:], text)
}

// MarshalText writes a mapping's name.
func (m Mapping) MarshalText() ([]byte, error) {
	return config.MarshalName(m, "mapping", mappingNames[:])
}

// team describes an environment's form for teams; shaders/envs/physics/team.
type team struct {
	shared int // bytes of a workgroup's memory
	tables *teamTables
}

// softwareTeams lets tests run teams on the software driver. Its bound on loops, 65,535 iterations of an invocation, is above what an environment step in ordinary states takes in
// subgroups of eight lanes, but not above the most it can take.
var softwareTeams = false

// teamTables are a model's numbers and the words that say what belongs to what.
type teamTables struct {
	numbers []float32
	words   []uint32
}

// bits are the tables as the kernels' buffer has them.
func (t *teamTables) bits() []uint32 { return append(slices.Clone(wordsOf(t.numbers)), t.words...) }

// withTeam gives a Spec the form for teams: the bytes of shared memory that a world takes, and the model.
func (s Spec) withTeam(shared int, tables *teamTables) Spec {
	s.team = &team{shared, tables}
	return s
}

// HasTeams says whether the mapping Team is there for the environment.
func (e *Environment) HasTeams() bool { return e.team != nil }

// mapping is Lane or Team, whichever the options, the device and the number of worlds ask for.
func (e *Environment) mapping(o Options, info vk.Info, worlds int) (Mapping, error) {
	const few = 2048
	t := e.team
	switch {
	case o.Mapping == Lane || t == nil && o.Mapping == ByDevice:
		return Lane, nil
	case t == nil:
		return Lane, fmt.Errorf("envs: %q has no form for teams; want the mapping by-device or lane", e.Name)
	case o.Mapping == ByDevice && (!info.Type.GPU() || worlds > few || t.shared > int(info.Limits.MaxSharedBytes)):
		return Lane, nil
	case t.shared > int(info.Limits.MaxSharedBytes):
		return Lane, fmt.Errorf("envs: a team's world of %q takes %d bytes of shared memory; the device has %d", e.Name, t.shared, info.Limits.MaxSharedBytes)
	case !info.Type.GPU() && !softwareTeams:
		return Lane, fmt.Errorf("envs: the mapping team of %q needs a GPU: a software driver may leave its loops early; want by-device or lane", e.Name)
	}
	return Team, nil
}

// teamName is the key of the form for teams in a kernel's table.
const teamName = ".team"

// worlds is how many environments a subgroup of a rollout's kernel has. Teams have one, so that as many subgroups as possible have something to do; where
// a network is streamed from memory they have four, which are evaluated together.
func (ro *Rollout) worlds(p Placement, info vk.Info) int {
	const streamed = 4
	switch {
	case ro.mapping == Lane:
		return int(info.SubgroupSize)
	case p == Streamed && info.Type.GPU():
		return min(streamed, ro.cfg.Environments)
	}
	return 1
}
