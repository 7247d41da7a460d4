package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// PipelineStats are the compiler's statistics of a kernel. A value that the driver does not report is -1.
type PipelineStats struct {
	Registers    int // vector registers per lane
	Spills       int // vector registers spilled to memory; should be 0 in hot kernels
	ScalarSpills int // scalar registers spilled to lanes of vector registers: cheap
	ScratchBytes int // memory per lane or per subgroup, for spills and indexed arrays
	SharedBytes  int // shared memory per workgroup
	Statistics   []Statistic
}

// Statistic is one value with the driver's name for it.
type Statistic struct {
	Executable int // index of the executable; a pipeline may have several
	Name       string
	Value      float64
}

const maxStatistics = 256

// Compile compiles a kernel outside the pipeline cache and returns the driver's statistics, which are empty if
// Info.Features lacks PipelineStatistics. A nil spec means the defaults. On null devices a driver may abort the process at an
// operation that it does not support, so compile there in a child process.
func (d *Device) Compile(s *Shader, spec []uint32, subgroup uint32) (PipelineStats, error) {
	stats := PipelineStats{Registers: -1, Spills: -1, ScalarSpills: -1, ScratchBytes: -1, SharedBytes: -1}
	if err := d.enter(); err != nil {
		return stats, err
	}
	defer d.exit()
	if s == nil {
		return stats, fmt.Errorf("vk: Compile: no shader given")
	}
	spec, _, err := s.spec(spec, d.phys.loads())
	if err == nil {
		err = s.check(d)
	}
	if err == nil {
		err = s.checkSizes(d, spec, subgroup)
	}
	if err != nil {
		return stats, fmt.Errorf("vk: kernel %s: %w", s.Name, err)
	}
	// The module is shared with the programs' pipelines. The pipeline is not, since capturing statistics makes it a different one.
	p := d.pipeline(s, spec, subgroup)
	p.module.once.Do(func() { p.module.err = d.load(p.module) })
	if p.module.err != nil {
		return stats, p.module.err
	}
	capture := d.phys.info.Features.Has(PipelineStatistics)
	handle, err := d.createPipeline(p, fromHandle[vkPipelineCache](0), capture)
	if err != nil {
		return stats, err
	}
	d.counters.pipelines.Add(1)
	defer vkDestroyPipeline(d.handle, handle, nil)
	if !capture {
		return stats, nil
	}
	raw := (*[maxStatistics]C.evk_statistic)(C.calloc(maxStatistics, C.sizeof_evk_statistic))
	defer C.free(unsafe.Pointer(raw))
	n := C.uint32_t(maxStatistics)
	if r := Result(C.evk_pipeline_statistics(d.c, handleOf(handle), &raw[0], &n)); r != resultSuccess {
		return stats, fmt.Errorf("kernel %s: %w", s.Name, d.fail("vkGetPipelineExecutableStatisticsKHR", r))
	}
	for _, r := range raw[:n] {
		stats.add(Statistic{Executable: int(r.executable), Name: C.GoString(&r.name[0]), Value: statisticValue(uint32(r.format), uint64(r.bits))})
	}
	return stats, nil
}

// statisticValue reads the union VkPipelineExecutableStatisticValueKHR.
func statisticValue(format uint32, bits uint64) float64 {
	switch format {
	case 1:
		return float64(int64(bits))
	case 3:
		return math.Float64frombits(bits)
	}
	return float64(bits)
}

// add appends x and sets the field that it belongs to. It knows the names of RADV ("VGPRs", "Spilled VGPRs", "Spilled SGPRs", "Scratch size",
// "LDS size"), ANV ("Spill count", "Scratch Memory Size", "Workgroup Memory Size") and NVIDIA ("Register Count", "Local Memory Size", …).
func (s *PipelineStats) add(x Statistic) {
	s.Statistics = append(s.Statistics, x)
	name := strings.ToLower(x.Name)
	to := func(field *int) { *field = max(*field, 0) + int(x.Value) }
	switch {
	case name == "spilled sgprs":
		to(&s.ScalarSpills)
	case strings.Contains(name, "spill"):
		to(&s.Spills)
	case name == "vgprs" || name == "register count":
		to(&s.Registers)
	case strings.Contains(name, "scratch") || name == "local memory size":
		to(&s.ScratchBytes)
	case strings.Contains(name, "lds size") || strings.Contains(name, "shared memory") || name == "workgroup memory size":
		to(&s.SharedBytes)
	}
}
