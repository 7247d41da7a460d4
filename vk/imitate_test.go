package vk

import (
	"bytes"
	"reflect"
	"sync"
	"testing"
)

// A device that imitates a GPU checks programs by its limits, asks for each of their pipelines once, and computes nothing.
func TestImitate(t *testing.T) {
	gpu := openTest(t).Info()
	gpu.Type, gpu.VendorID, gpu.Name = DiscreteGPU, 0x1002, "imitated"
	gpu.SubgroupSize, gpu.MinSubgroupSize, gpu.MaxSubgroupSize = 64, 32, 64
	gpu.Features |= SubgroupSizeControl
	gpu.Limits.MaxSubgroups = 16
	gpu.Limits.MaxLocalSize[0] = 256
	var mu sync.Mutex
	var asked []PipelineSource
	d := openTest(t, Imitate(gpu, func(s PipelineSource) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, s)
	}))
	if got := d.Info(); got.Name != "imitated" || got.SubgroupSize != 64 || !got.Type.GPU() {
		t.Errorf("it reports %+v", got)
	}
	x := newTestBuffer(t, d, 3*64, Local)
	before := bytes.Repeat([]byte{7}, 3*64*4)
	if err := x.Write(t.Context(), 0, before); err != nil {
		t.Fatal(err)
	}
	p := d.NewProgram("imitated")
	call := addCall(x.Range(0, 256), x.Range(256, 256), x.Range(512, 256), 64)
	for _, size := range []uint32{64, 64, 32} {
		call.Spec, call.Subgroup = []uint32{size}, size
		p.Dispatch(call)
	}
	build(t, p)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := make([]byte, len(before))
	if err := x.Read(t.Context(), 0, after); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a run that computes nothing changed memory (%v)", err)
	}
	sizes := map[uint32]int{}
	for _, s := range asked {
		if s.Shader != addShader || !reflect.DeepEqual(s.Spec, []uint32{s.Subgroup}) {
			t.Errorf("asked for %+v", s)
		}
		sizes[s.Subgroup]++
	}
	if !reflect.DeepEqual(sizes, map[uint32]int{32: 1, 64: 1}) || d.Counters().Pipelines != 0 {
		t.Errorf("pipelines by subgroup size: %v, %d compiled; want one each, none compiled", sizes, d.Counters().Pipelines)
	}
	for _, subgroup := range []uint32{8, 128} {
		bad := d.NewProgram("bad")
		call.Spec, call.Subgroup = []uint32{subgroup}, subgroup
		bad.Dispatch(call)
		if bad.Build() == nil {
			t.Errorf("a subgroup of %d, of a device with 32 to 64, was accepted", subgroup)
		}
	}
}
