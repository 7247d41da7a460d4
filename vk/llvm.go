package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"
)

// schedulingOptions are options of LLVM for what its schedulers of instructions do to one basic block. Results do not depend on them.
//
// The machine scheduler, which orders instructions before registers are assigned, is off. LLVM 22 places a row's sums of products one
// pair after the other (shaders/engine/nn/gemm_panel.comp), each product waiting for the one before, and keeps the broadcast values of the
// row on the stack: products of matrices take 1.5 to 1.8 times as long. The order of the source, which is that of the expressions, has
// independent sums side by side.
//
// The scheduler after that keeps the dependencies between loads and stores of a block in maps that it reduces by reductionSize entries when
// they have more than hugeRegion (ScheduleDAGInstrs::buildSchedGraph), and its time is quadratic in the maps. Blocks of unrolled networks
// have thousands of loads and stores. With LLVM's own limits, 1000 and 500, scheduling takes three quarters of the time that LLVM needs for
// PPO's update.
var schedulingOptions = []string{"-enable-misched=false", "-dag-maps-huge-region=100", "-dag-maps-reduction-size=50"}

// setScheduling sets schedulingOptions, once in a process. Drivers whose LLVM is not a shared library of its own keep LLVM's defaults. It
// must run after the driver is loaded, and before it compiles. It reports whether the options are set.
var setScheduling = sync.OnceValue(func() bool {
	argv := append([]string{"evorl"}, schedulingOptions...)
	options := (*[8]*C.char)(C.calloc(8, C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(options))
	for i, a := range argv {
		options[i] = C.CString(a)
		defer C.free(unsafe.Pointer(options[i]))
	}
	return C.evk_llvm_options(C.int(len(argv)), &options[0]) != 0
})
