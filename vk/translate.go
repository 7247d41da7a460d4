package vk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
)

// Mesa's software driver translates a pipeline to machine code at its first dispatch, in the queue's only thread: one kernel after the
// other, which is most of the time of a start with empty caches. Therefore new pipelines are also made on logical devices of their own, as
// many at once as there are processors, and dispatched there with no workgroups. The driver's cache on disk then has their machine
// code when the program is submitted. That makes each pipeline twice, so it is done once: an empty file, the pipeline's mark, remembers it.
// Where a mark is wrong, since the driver's cache was deleted, the queue translates as it would anyway.

// llvmSerial is the first version of LLVM known to translate for one device at a time, so that nothing is gained. Those after 15 and before it
// have not been measured.
const llvmSerial = 22

// The largest kernels that are translated ahead, in bytes of SPIR-V. On two processors, making Ant's twice takes as long as is saved. Humanoid's would take
// twice the memory, and one alone takes as long as all of them in the queue.
const (
	largestOnTwo = 600 << 10
	largest      = 1500 << 10
)

// translator translates pipelines ahead of their first dispatch.
type translator struct {
	dir     string // of marks; "": off
	largest int
	failed  atomic.Bool
}

// open turns the translator on for devices that profit: Mesa's software driver with a cache on disk, if there is more than one processor.
func (t *translator) open(d *Device) {
	info := &d.phys.info
	processors := runtime.GOMAXPROCS(0)
	switch {
	case info.Type != CPU, !strings.HasPrefix(info.Driver, "llvmpipe"), llvmVersion(info.Name) >= llvmSerial:
	case disabled("MESA_SHADER_CACHE_DISABLE"), disabled("MESA_GLSL_CACHE_DISABLE"):
	case processors == 1, d.cfg.imitated != nil, d.phys.exact, !d.cfg.ahead, d.cfg.cacheDir == "":
	default:
		t.dir, t.largest = filepath.Join(d.cfg.cacheDir, "translated", filepath.Base(d.pipes.cache.dir)), largest
		if processors == 2 {
			t.largest = largestOnTwo
		}
	}
}

// disabled reports whether a variable of Mesa is set to what Mesa takes for true.
func disabled(variable string) bool {
	switch strings.ToLower(os.Getenv(variable)) {
	case "1", "true", "y", "yes":
		return true
	}
	return false
}

// missing returns the name of p's mark if p should be translated and the mark does not exist, or "". It depends on where the driver's cache is.
func (t *translator) missing(p *pipeline) string {
	if t.dir == "" || t.failed.Load() {
		return ""
	}
	code, err := p.module.shader.code()
	if err != nil || len(code) > t.largest { // compiling will report the error
		return ""
	}
	h := sha256.New()
	h.Write(code)
	for _, word := range append(p.spec[:len(p.spec):len(p.spec)], p.subgroup) {
		h.Write(binary.LittleEndian.AppendUint32(nil, word))
	}
	h.Write([]byte(os.Getenv("MESA_SHADER_CACHE_DIR")))
	mark := filepath.Join(t.dir, fmt.Sprintf("%x", h.Sum(nil)))
	if _, err := os.Stat(mark); err == nil {
		return ""
	}
	return mark
}

// translate translates p and makes its mark. The first failure is logged and turns the translator off: it is only an optimisation, and what is
// wrong with a kernel is reported by compiling it.
func (d *Device) translate(p *pipeline, mark string) {
	err := d.dispatchNothing(p)
	if err == nil {
		err = writeBeside(mark, nil)
	}
	if err != nil && !d.pipes.translator.failed.Swap(true) {
		d.cfg.logger.Warn("kernels are not translated in parallel", "kernel", p.module.shader.Name, "error", err)
	}
}

// dispatchNothing dispatches p with no workgroups on a logical device of its own.
func (d *Device) dispatchNothing(p *pipeline) (err error) {
	cfg, phys := *d.cfg, *d.phys
	cfg.cacheDir, cfg.poison, cfg.ahead = "", false, false
	phys.heaps = append([]memoryHeap(nil), phys.heaps...)
	own, err := openLogical(&cfg, d.in, &phys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.destroy()) }()
	s := p.module.shader
	b, err := own.newBuffer(1, Local, useLocal)
	if err != nil {
		return err
	}
	call := Call{Shader: s, Spec: p.spec, Subgroup: p.subgroup, Groups: [3]uint32{1, 1, 1}, Push: make([]byte, s.PushBytes)}
	for range s.Bindings {
		call.Ranges = append(call.Ranges, b.All())
	}
	program := own.NewProgram("translation of " + s.Name)
	program.Dispatch(call)
	for i := range program.ops {
		program.ops[i].groups = [3]uint32{}
	}
	if err := program.Build(); err != nil {
		return err
	}
	return program.Run(context.Background())
}
