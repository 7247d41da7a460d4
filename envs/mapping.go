package envs

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// Mapping is how the lanes of a device compute the dynamics of environments. Ant-v5 and Humanoid-v5 have two forms,
// which agree but for rounding; other environments have the first.
type Mapping uint32

const (
	// ByDevice: Cooperative for up to 2048 environments on GPUs whose shared memory holds one, else Lane. The bound is an
	// estimate (docs/physics.md).
	ByDevice Mapping = iota
	// Lane: each lane computes an environment.
	Lane
	// Cooperative: the lanes of a subgroup compute an environment together.
	Cooperative
)

var mappingNames = [...]string{"by-device", "lane", "cooperative"}

func (m Mapping) String() string {
	if int(m) < len(mappingNames) {
		return mappingNames[m]
	}
	return fmt.Sprintf("Mapping(%d)", uint32(m))
}

// UnmarshalText parses a mapping's name: by-device, lane or cooperative.
func (m *Mapping) UnmarshalText(text []byte) error {
	return config.UnmarshalName(m, "mapping", mappingNames[:], text)
}

// MarshalText returns a mapping's name.
func (m Mapping) MarshalText() ([]byte, error) {
	return config.MarshalName(m, "mapping", mappingNames[:])
}

// cooperative describes an environment's cooperative form (shaders/envs/physics/cooperative).
type cooperative struct {
	shared int // bytes of a workgroup's memory
	tables *cooperativeTables
}

// cooperativeOnSoftware lets tests run the cooperative form on the software driver. Its bound on loops, 65,535
// iterations of an invocation, is above what an environment step in ordinary states takes in subgroups of eight lanes,
// but not above the most it can take.
var cooperativeOnSoftware = false

// cooperativeTables are a model's numbers and the words that say what belongs to what.
type cooperativeTables struct {
	numbers []float32
	words   []uint32
}

// bits are the tables as the kernels' buffer has them.
func (t *cooperativeTables) bits() []uint32 {
	return append(slices.Clone(wordsOf(t.numbers)), t.words...)
}

// withCooperative gives a Spec the cooperative form: the bytes of shared memory that an environment takes, and the model.
func (s Spec) withCooperative(shared int, tables *cooperativeTables) Spec {
	s.cooperative = &cooperative{shared, tables}
	return s
}

// HasCooperative reports whether the environment has the mapping Cooperative.
func (e *Environment) HasCooperative() bool { return e.cooperative != nil }

// mapping is Lane or Cooperative, whichever the options, the device and the number of environments ask for.
func (e *Environment) mapping(o Options, info vk.Info, environments int) (Mapping, error) {
	const few = 2048
	t := e.cooperative
	switch {
	case o.Mapping == Lane || t == nil && o.Mapping == ByDevice:
		return Lane, nil
	case t == nil:
		return Lane, fmt.Errorf("envs: %q has no cooperative form; want the mapping by-device or lane", e.Name)
	case o.Mapping == ByDevice && (!info.Type.GPU() || environments > few || t.shared > int(info.Limits.MaxSharedBytes)):
		return Lane, nil
	case t.shared > int(info.Limits.MaxSharedBytes):
		return Lane, fmt.Errorf("envs: the mapping cooperative of %q takes %d bytes of shared memory; the device has %d",
			e.Name, t.shared, info.Limits.MaxSharedBytes)
	case !info.Type.GPU() && !cooperativeOnSoftware:
		return Lane, fmt.Errorf("envs: the mapping cooperative of %q needs a GPU: a software driver may leave its loops early; want by-device or lane", e.Name)
	}
	return Cooperative, nil
}

// cooperativeName is the key of the cooperative form in a kernel's table.
const cooperativeName = ".cooperative"

// subgroupEnvironments is the number of environments of a subgroup in a rollout's kernel. The cooperative form has one,
// so that as many subgroups as possible are busy; where a network is streamed from memory it has four, which are
// evaluated together.
func (ro *Rollout) subgroupEnvironments(p Placement, info vk.Info) int {
	const streamed = 4
	switch {
	case ro.mapping == Lane:
		return int(info.SubgroupSize)
	case p == Streamed && info.Type.GPU():
		return min(streamed, ro.cfg.Environments)
	}
	return 1
}
