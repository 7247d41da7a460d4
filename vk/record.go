package vk

// #include "shim.h"
import "C"

import (
	"encoding/binary"
)

// commands holds a program's command buffers and the driver objects that they need.
type commands struct {
	pool        vkCommandPool
	descriptors vkDescriptorPool
	queries     vkQueryPool
	queryCount  int
	sets        []C.VkHandle
	views       map[viewKey]C.VkHandle
	buffers     []vkCommandBuffer // one per piece of the plan
	ready       bool
}

// open creates the command pool and the descriptor sets of a program.
func (c *commands) open(p *Program) error {
	d := p.d
	info := vkCommandPoolCreateInfo{SType: structureTypeCommandPoolCreateInfo, QueueFamilyIndex: uint32(d.phys.family)}
	r := create(&c.pool, func(h *vkCommandPool) vkResult { return vkCreateCommandPool(d.handle, &info, nil, h) })
	info.Free()
	if r != resultSuccess {
		return d.fail("vkCreateCommandPool", r)
	}
	c.ready = true
	return c.openSets(p)
}

// openSets allocates a descriptor set for each distinct pair of ranges and layout.
func (c *commands) openSets(p *Program) error {
	d := p.d
	index := map[string]int{}
	var layouts []C.VkHandle
	var writes []C.evk_write
	texels := 0
	var key []byte
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind != opDispatch {
			continue
		}
		m := o.pipeline.module
		key = binary.LittleEndian.AppendUint64(key[:0], uint64(handleOf(m.setLayout)))
		ranges := p.ranges[o.rangeFrom:o.rangeTo]
		for _, r := range ranges {
			key = binary.LittleEndian.AppendUint64(key, uint64(handleOf(r.Buffer.handle)))
			key = binary.LittleEndian.AppendUint64(key, uint64(r.Offset))
			key = binary.LittleEndian.AppendUint64(key, uint64(r.Size))
		}
		set, ok := index[string(key)]
		if !ok {
			set = len(layouts)
			index[string(key)] = set
			layouts = append(layouts, handleOf(m.setLayout))
			for j, r := range ranges {
				b := o.shader.Bindings[j]
				w := C.evk_write{
					set: C.VkHandle(set), buffer: handleOf(r.Buffer.handle),
					offset: C.uint64_t(r.Offset), _range: C.uint64_t(r.Size), binding: C.uint32_t(b.Index),
				}
				if b.Texel != NoTexel {
					var err error
					if w.view, err = c.view(d, r, b.Texel); err != nil {
						return err
					}
					texels++
				}
				writes = append(writes, w)
			}
		}
		o.set = set
	}
	if len(layouts) == 0 {
		return nil
	}
	var h C.VkHandle
	r := Result(C.evk_create_descriptor_pool(
		d.c, C.uint32_t(len(layouts)), C.uint32_t(max(len(writes)-texels, 1)), C.uint32_t(texels), &h))
	if r != resultSuccess {
		return d.fail("vkCreateDescriptorPool", r)
	}
	c.descriptors = fromHandle[vkDescriptorPool](h)
	c.sets = make([]C.VkHandle, len(layouts))
	if r := Result(C.evk_allocate_sets(d.c, h, C.uint32_t(len(layouts)), &layouts[0], &c.sets[0])); r != resultSuccess {
		return d.fail("vkAllocateDescriptorSets", r)
	}
	if len(writes) == 0 {
		return nil
	}
	for i := range writes {
		writes[i].set = c.sets[writes[i].set]
	}
	if r := Result(C.evk_update_sets(d.c, C.uint32_t(len(writes)), &writes[0])); r != resultSuccess {
		return d.fail("vkUpdateDescriptorSets", r)
	}
	return nil
}

func (c *commands) destroy(d *Device) {
	if !c.ready {
		return
	}
	vkDestroyCommandPool(d.handle, c.pool, nil) // also frees its command buffers
	vkDestroyDescriptorPool(d.handle, c.descriptors, nil)
	c.destroyViews(d)
	vkDestroyQueryPool(d.handle, c.queries, nil)
	*c = commands{}
}

// allocate returns n new command buffers.
func (c *commands) allocate(d *Device, n int) ([]vkCommandBuffer, error) {
	buffers := make([]vkCommandBuffer, n)
	info := vkCommandBufferAllocateInfo{SType: structureTypeCommandBufferAllocateInfo, CommandPool: c.pool, CommandBufferCount: uint32(n)}
	r := Result(vkAllocateCommandBuffers(d.handle, &info, buffers))
	info.Free()
	if r != resultSuccess {
		return nil, d.fail("vkAllocateCommandBuffers", r)
	}
	return buffers, nil
}

// record replaces the program's plan and its command buffers, which must not be in flight. After an error they are as before.
func (p *Program) record(next plan) error {
	before := p.plan
	p.plan = next
	fresh, err := p.recordAll(p.measure.on)
	if err != nil {
		p.plan = before
		return err
	}
	p.commands.release(p.d, p.commands.buffers)
	p.commands.buffers = fresh
	p.plan.use(fresh)
	return nil
}

func (c *commands) release(d *Device, buffers []vkCommandBuffer) {
	if len(buffers) > 0 {
		vkFreeCommandBuffers(d.handle, c.pool, uint32(len(buffers)), buffers)
	}
}

// recordAll records one command buffer per piece.
func (p *Program) recordAll(timestamps bool) ([]vkCommandBuffer, error) {
	buffers, err := p.commands.allocate(p.d, len(p.plan.pieces))
	if err != nil {
		return nil, err
	}
	timestamps = timestamps && p.commands.queryCount > 0 // the device may have none
	var t tape
	for i, c := range buffers {
		t.words = t.words[:0]
		p.encode(&t, i, p.plan.pieces[i].from, p.plan.pieces[i].to, timestamps)
		if err := t.replay(p.d, c, p.name); err != nil {
			p.commands.release(p.d, buffers)
			return nil, err
		}
	}
	return buffers, nil
}

// encode appends the ops of piece i to the tape. A piece has a timestamp at its beginning and one after each op, so op k has
// timestamp k + i + 1.
func (p *Program) encode(t *tape, i, from, to int, timestamps bool) {
	if timestamps {
		t.reset(p.commands.queries, from+i, to-from+1)
	}
	// Submission order alone does not make the writes of earlier pieces and iterations visible.
	t.barrier(deviceStages, deviceStages)
	if timestamps {
		t.timestamp(p.commands.queries, from+i)
	}
	var pipeline *pipeline
	set := -1
	for k := from; k < to; k++ {
		o := &p.ops[k]
		if o.barrier && k > from {
			t.barrier(deviceStages, deviceStages)
		}
		ranges := p.ranges[o.rangeFrom:o.rangeTo]
		switch o.kind {
		case opDispatch:
			layout := o.pipeline.module.layout
			if o.pipeline != pipeline {
				// Sets stay bound only while the layout is compatible.
				if pipeline == nil || pipeline.module != o.pipeline.module {
					set = -1
				}
				pipeline = o.pipeline
				t.pipeline(pipeline.handle)
			}
			if o.set != set {
				set = o.set
				t.set(layout, p.commands.sets[set])
			}
			if o.pushTo > o.pushFrom {
				t.push(layout, p.push[o.pushFrom:o.pushTo])
			}
			t.dispatch(o.groups)
		case opCopy:
			t.copy(ranges[1], ranges[0])
		case opFill:
			t.fill(ranges[0], o.word)
		}
		if timestamps {
			t.timestamp(p.commands.queries, k+i+1)
		}
	}
	if to == len(p.ops) && p.visible {
		t.barrier(deviceStages, hostStage)
	}
}
