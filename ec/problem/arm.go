package problem

import (
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Arm makes the repertoire of a planar arm with joints of equal length a quality-diversity problem (A. Cully et al.,
// "Robots that can adapt like animals", 2015; V. Vassiliades, J.-B. Mouret, "Discovering the Elite Hypervolume by
// Leveraging Interspecies Correlation", 2018, section 4.2). A candidate is the joints' angles, in half turns from −1
// to 1; its fitness, at most 0, is higher the less the angles deviate from each other; its descriptor is the end
// point of the arm, which has the length 1.
func Arm(joints int) *Function {
	f := &Function{name: fmt.Sprintf("arm-%d", joints), objectives: 1, space: box(joints, -1, 1)}
	f.space.DescriptorLow, f.space.DescriptorHigh = []float32{-1, -1}, []float32{1, 1}
	f.start = func(*engine.Rng, int) []float32 { return make([]float32, joints) } // stretched
	f.call = func(r *engine.Recorder, of functionOf) vk.Call {
		size, groups := r.Invocations(of.count())
		k := armKernel{
			Candidates: of.candidates, Fitness: of.objectives, Members: of.members,
			Window: of.window, Joints: of.dim, Row: of.row, Population: of.population, First: of.first, LocalSizeX: size,
		}
		if of.descriptors != nil {
			k.Descriptor = of.descriptors.Range()
		}
		return k.call(groups, 1, 1)
	}
	return f
}
