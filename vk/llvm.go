package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"
)

// schedulingLimits are the options of LLVM that bound what its schedulers of instructions spend on one basic block. They keep the
// dependencies between loads and stores of a block in maps that they reduce by reductionSize entries when they have more than hugeRegion
// (ScheduleDAGInstrs::buildSchedGraph), and their time is quadratic in the maps. Blocks of unrolled networks have thousands of loads and
// stores. With LLVM's own limits, 1000 and 500, scheduling takes three quarters of the time that LLVM needs for PPO's update. Results do
// not depend on the limits.
var schedulingLimits = []string{"-dag-maps-huge-region=100", "-dag-maps-reduction-size=50"}

// limitScheduling sets schedulingLimits, once in a process. Drivers whose LLVM is not a shared library of its own keep LLVM's limits. It
// must run after the driver is loaded, and before it compiles. It reports whether the limits are set.
var limitScheduling = sync.OnceValue(func() bool {
	argv := append([]string{"evorl"}, schedulingLimits...)
	options := (*[8]*C.char)(C.calloc(8, C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(options))
	for i, a := range argv {
		options[i] = C.CString(a)
		defer C.free(unsafe.Pointer(options[i]))
	}
	return C.evk_llvm_options(C.int(len(argv)), &options[0]) != 0
})
