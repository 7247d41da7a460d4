package vk

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// prepareMesa sets the environment of Mesa's software driver. It must run before the driver is loaded, and before it makes a device.
func prepareMesa(oneThread bool) {
	separateCaches()
	setThreads(oneThread)
}

// threadsPerProcessor is how many threads the software driver has for each processor. It divides a dispatch into as many equal parts
// as it has threads, and a thread that has finished takes the next part. With one thread a processor, two of them share a processor for
// up to a third of the time while another is idle. On two processors, three threads for each make matrix products 1.4 times as fast and PBT
// 1.15 times; long dispatches, such as physics, do not change.
const threadsPerProcessor = 3

const threadsVariable = "LP_NUM_THREADS"

// ownThreads is what setThreads set the variable to.
var ownThreads struct {
	sync.Mutex
	value string
}

// setThreads tells the software driver the number of threads of the devices that it makes from now on. 0 makes the thread of a device's queue
// compute. Results do not depend on the number. One that the user chose stays.
func setThreads(oneThread bool) {
	ownThreads.Lock()
	defer ownThreads.Unlock()
	if value, set := os.LookupEnv(threadsVariable); set && value != ownThreads.value {
		return
	}
	ownThreads.value = strconv.Itoa(threadsPerProcessor * runtime.NumCPU())
	if oneThread {
		ownThreads.value = "0"
	}
	_ = os.Setenv(threadsVariable, ownThreads.value) // the name is valid
}

// mesaThreads returns how many workgroups the software driver computes at the same time.
func mesaThreads() int {
	n, err := strconv.Atoi(os.Getenv(threadsVariable))
	if err != nil || n < 0 {
		return runtime.NumCPU()
	}
	return max(1, min(n, runtime.NumCPU())) // 0: the thread of the queue computes
}

// separateCaches gives Mesa's software driver a cache for each width of vectors that LP_NATIVE_VECTOR_WIDTH asks for.
// The driver's cache knows compiled code by the kernel alone (lp_cs_get_ir_cache_key in Mesa 22.3 and later): with
// another width it would run code of the earlier one, whose subgroups are of another size than the driver reports. Where no cache can be
// made, nothing changes.
func separateCaches() {
	const folder = "MESA_SHADER_CACHE_DIR"
	width := os.Getenv("LP_NATIVE_VECTOR_WIDTH")
	if width == "" || strings.ContainsAny(width, `/\.`) {
		return
	}
	base := os.Getenv(folder)
	if base == "" {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return
		}
	}
	own := "mesa-vectors-" + width
	if filepath.Base(base) == own { // of an earlier call, or of the process that started this one
		return
	}
	dir := filepath.Join(base, own)
	if os.MkdirAll(dir, 0o755) == nil {
		_ = os.Setenv(folder, dir) // the name is valid
	}
}
