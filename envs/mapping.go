package envs

import (
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// Mapping is how the lanes of a device compute the dynamics of environments. Ant-v5, Humanoid-v5 and HumanoidStandup-v5 have two
// forms, with results that differ only by rounding; other environments have only the first.
type Mapping uint32

const (
	// ByDevice: Cooperative for up to 2048 environments on GPUs with enough shared memory for one, on Intel's for any number, else Lane. The bound is an
	// estimate (docs/physics.md).
	ByDevice Mapping = iota
	// Lane: each lane computes one environment.
	Lane
	// Cooperative: the lanes of a subgroup compute one environment together.
	Cooperative
)

var mappingNames = [...]string{"by-device", "lane", "cooperative"}

func (m Mapping) String() string { return config.NameOf(m, mappingNames[:]) }

// UnmarshalText parses a mapping's name: by-device, lane or cooperative.
func (m *Mapping) UnmarshalText(text []byte) error {
	return config.UnmarshalName(m, "mapping", mappingNames[:], text)
}

// MarshalText returns a mapping's name.
func (m Mapping) MarshalText() ([]byte, error) {
	return config.MarshalName(m, "mapping", mappingNames[:])
}

// cooperative is an environment's cooperative form (shaders/envs/physics/cooperative).
type cooperative struct {
	shared int // bytes of shared memory per workgroup
	tables *cooperativeTables
}

// cooperativeOnSoftware lets tests run the cooperative form on the software driver. The driver's bound of 65,535 loop
// iterations per invocation suffices for environment steps in ordinary states with subgroups of eight lanes, but not
// for the worst case.
var cooperativeOnSoftware = false

// cooperativeTables holds a model's parameters (numbers) and its structure (words).
type cooperativeTables struct {
	numbers []float32
	words   []uint32
}

// bits returns the tables in the layout of the kernels' buffer.
func (t *cooperativeTables) bits() []uint32 {
	return append(slices.Clone(wordsOf(t.numbers)), t.words...)
}

// withCooperative adds the cooperative form to a Spec: the shared memory per environment in bytes, and the model.
func (s Spec) withCooperative(shared int, tables *cooperativeTables) Spec {
	s.cooperative = &cooperative{shared, tables}
	return s
}

// HasCooperative reports whether the environment has the mapping Cooperative.
func (e *Environment) HasCooperative() bool { return e.cooperative != nil }

// mapping returns Lane or Cooperative, chosen by the options, the device and the number of environments.
func (e *Environment) mapping(o Options, info vk.Info, environments int) (Mapping, error) {
	const few, intel = 2048, 0x8086
	t := e.cooperative
	many := environments > few && info.VendorID != intel // its compiler did not finish Ant's lane form in a quarter of an hour
	switch {
	case o.Mapping == Lane || t == nil && o.Mapping == ByDevice:
		return Lane, nil
	case t == nil:
		return Lane, fmt.Errorf("envs: %q has no cooperative form; want the mapping by-device or lane", e.Name)
	case o.Mapping == ByDevice && (!info.Type.GPU() || many || t.shared > int(info.Limits.MaxSharedBytes)):
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

// subgroupEnvironments returns the number of environments per subgroup in a rollout's kernel. The cooperative form
// has one, so that as many subgroups as possible are busy; with a network streamed from memory it has four, which
// share the loads of weights.
func (ro *Rollout) subgroupEnvironments(p Placement, info vk.Info) int {
	const streamed = 4
	switch {
	case ro.mapping == Lane:
		return int(info.SubgroupSize)
	case p == PlacementStream && info.Type.GPU():
		return min(streamed, ro.cfg.Environments)
	}
	return 1
}
