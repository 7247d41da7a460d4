package vk

// #include "shim.h"
import "C"

import (
	"fmt"
)

// Texel is the format of a binding that is read as a texel buffer (a readonly imageBuffer in GLSL). It is NoTexel for storage
// buffers.
//
// Lavapipe (Mesa 22.3) loads from a storage buffer lane by lane, 207 ns for eight lanes of four floats, and from a texel
// buffer by a gather, 5 ns. Stores are faster to storage buffers (20 ns against 44). On GPUs storage buffers are faster.
// A kernel with many loads therefore declares both on one Range. The specialization constant TEXEL_LOADS, which vk sets,
// selects between them: see TexelLoads.
type Texel uint8

// The formats.
const (
	NoTexel     Texel = iota
	TexelFloat        // r32f
	TexelFloat4       // rgba32f
	TexelUint         // r32ui
	TexelUint4        // rgba32ui
)

var texels = [...]struct {
	name   string // of the format, in GLSL
	format int32  // VkFormat
	bytes  uint64
}{{}, {"r32f", 100, 4}, {"rgba32f", 109, 16}, {"r32ui", 98, 4}, {"rgba32ui", 107, 16}}

// String returns the format's name in GLSL.
func (t Texel) String() string {
	if int(t) < len(texels) {
		return texels[t].name
	}
	return fmt.Sprintf("texel %d", uint8(t))
}

// TexelLoads is the name of the specialization constant that selects how kernels load; its default is 0. If a call leaves
// it 0, vk sets the faster of LoadStorage and LoadTexels on the device. It always sets LoadStorage for a call with a range of more
// texels than the device supports; Vulkan guarantees only 65,536. Kernels without the constant always load texels.
const TexelLoads = "TEXEL_LOADS"

// The values of the constant TEXEL_LOADS.
const (
	LoadStorage = 1 // from storage buffers
	LoadTexels  = 2 // from texel buffers
)

// loads returns the faster value of TEXEL_LOADS on the device.
func (p *physical) loads() uint32 {
	if p.info.Type == CPU && !p.exact {
		return LoadTexels
	}
	return LoadStorage
}

// loads returns the value of TEXEL_LOADS for a call.
func (d *Device) loads(s *Shader, ranges []Range) uint32 {
	for i, b := range s.Bindings {
		if b.Texel != NoTexel && b.Texel.count(ranges[i]) > d.phys.info.Limits.MaxTexels {
			return LoadStorage
		}
	}
	return d.phys.loads()
}

// count returns the number of texels of a range.
func (t Texel) count(r Range) uint64 {
	return alignUp(uint64(r.Size), texels[t].bytes) / texels[t].bytes
}

type viewKey struct {
	buffer C.VkHandle
	offset int64
	size   int64
	texel  Texel
}

// view returns the view of a range for a texel binding, created once per program. Its last texel may extend beyond the range, but not
// beyond the buffer. If a range has more texels than the device supports, TEXEL_LOADS is LoadStorage, and the view is bound but not used.
func (c *commands) view(d *Device, r Range, t Texel) (C.VkHandle, error) {
	key := viewKey{handleOf(r.Buffer.handle), r.Offset, r.Size, t}
	if v, ok := c.views[key]; ok {
		return v, nil
	}
	size := texels[t].bytes * min(t.count(r), d.phys.info.Limits.MaxTexels)
	offset := uint64(r.Offset)
	if d.phys.exact { // the view is bound but not used, as above
		size = min(size, uint64(r.Size)/texels[t].bytes*texels[t].bytes)
		if size == 0 {
			offset, size = 0, texels[t].bytes
		}
	}
	var v C.VkHandle
	if res := Result(C.evk_create_buffer_view(d.c, key.buffer, C.int32_t(texels[t].format), C.uint64_t(offset), C.uint64_t(size), &v)); res != resultSuccess {
		return 0, d.fail("vkCreateBufferView", res)
	}
	if c.views == nil {
		c.views = map[viewKey]C.VkHandle{}
	}
	c.views[key] = v
	return v, nil
}

func (c *commands) destroyViews(d *Device) {
	for _, v := range c.views {
		C.evk_destroy_buffer_view(d.c, v)
	}
}

// checkTexel checks a range for a texel binding.
func (d *Device) checkTexel(r Range, t Texel, loads uint32) error {
	if most := d.phys.info.Limits.MaxTexels; loads == LoadTexels && t.count(r) > most {
		return fmt.Errorf("%v: this device views at most %d texels of %d bytes", r, most, texels[t].bytes)
	}
	return nil
}
