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

// PipelineStats says what the driver's compiler made of a kernel. A number that the driver does not tell is -1.
type PipelineStats struct {
	Registers    int // vector registers of a lane
	Spills       int // vector registers kept in memory for want of room; 0 is what a hot kernel needs
	ScalarSpills int // scalar registers kept in lanes of vector registers: cheap
	ScratchBytes int // memory of a lane, or of a subgroup, for spills and indexed arrays
	SharedBytes  int // shared memory of a workgroup
	Statistics   []Statistic
}

// Statistic is one number as the driver names it.
type Statistic struct {
	Executable int // a pipeline may become several programs
	Name       string
	Value      float64
}

const maxStatistics = 256

// Compile compiles a kernel outside the pipeline cache, and returns what the driver tells about the result: nothing where
// Info.Features lacks PipelineStatistics. spec nil means the defaults. On null devices a driver may abort the process over an
// operation that it does not support: compile there in a child process.
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
	// The module is shared with the programs' pipelines; the pipeline is not, since capturing statistics makes it another one.
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
	n := int(C.evk_pipeline_statistics(d.c, handleOf(handle), &raw[0], maxStatistics))
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

// add also sums up the numbers that drivers name alike: RADV ("VGPRs", "Spilled VGPRs", "Spilled SGPRs", "Scratch size", "LDS size"), ANV
// ("Spill count", "Scratch Memory Size", "Workgroup Memory Size") and NVIDIA ("Register Count", "Local Memory Size", …).
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
