package nn

import (
	"math"

	"github.com/evorl/evorl/vk"
)

// Vulkan vendor IDs.
const (
	vendorAMD    = 0x1002
	vendorNVIDIA = 0x10de
	vendorIntel  = 0x8086
)

// laneRegisters is the largest number of registers of a GPU's lane.
const laneRegisters = 255

// What a rollout takes besides the environment and held weights, estimated from the statistics of RADV and ANV for classic control: registers for
// addresses, random numbers and temporaries, and for the sums, activations and outputs of each input that is evaluated together with others.
const (
	workingRegisters = 52
	rowRegisters     = 12
)

// Registers returns the number of 32-bit registers of a lane, which bounds every form that holds something in lanes. Beyond it a GPU's compiler
// spills to memory, and RADV of Mesa 22.3 crashes where it spills many in subgroups of 64. Vulkan does not report the number; the vendors document it:
//
//	NVIDIA     255, and 65,536 per multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities")
//	AMD, GCN   256, and 65,536 per compute unit ("Vega" Instruction Set Architecture)
//	AMD, RDNA  256, and 131,072 per workgroup processor ("RDNA 2" Instruction Set Architecture); subgroups may have 32 lanes, unlike GCN's
//	Intel      128 in the narrowest subgroups, of 8 lanes, and 16 since Xe2; half as many in subgroups of twice the lanes: a hardware thread
//	           runs a subgroup (oneAPI GPU Optimization Guide, "Intel Xe GPU Architecture"). A quarter is left to values that are
//	           the same in all lanes, for which the others have registers besides
//	others     64, as on Arm's GPUs, which have among the fewest (Arm GPU Best Practices Developer Guide)
//
// A software driver's registers are memory: there is no bound.
func Registers(info vk.Info) int {
	switch {
	case info.Type == vk.CPU:
		return math.MaxInt
	case info.VendorID == vendorNVIDIA, info.VendorID == vendorAMD:
		return laneRegisters
	case info.VendorID == vendorIntel:
		return 96 * int(max(info.MinSubgroupSize, 1)) / int(max(info.SubgroupSize, 1))
	}
	return 64
}
