package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// pipelines holds the modules and pipelines of a device until it is closed.
type pipelines struct {
	sync.Mutex
	sizes   map[*Shader]int // bytes of the modules of shaders that fit the device (Shader.check)
	modules map[*Shader]*module
	byKey   map[pipelineKey]*pipeline
	cache   diskCache
	tasks   tasks

	translator translator
}

// module is a shader loaded into the driver, with the layouts of its pipelines and its pipeline cache.
type module struct {
	shader    *Shader
	once      sync.Once
	err       error
	digest    [sha256.Size]byte
	handle    vkShaderModule
	setLayout vkDescriptorSetLayout
	layout    vkPipelineLayout
	cache     vkPipelineCache
	kept      []byte // digest of the cache data on disk; guarded by pipelines
	dirty     bool   // compiled since the cache was last written; guarded by pipelines
}

type pipelineKey struct {
	module   *module
	spec     string // the bytes of the words
	subgroup uint32
}

// pipeline is a module compiled for specialization constants and a subgroup size.
type pipeline struct {
	module   *module
	spec     []uint32
	subgroup uint32
	begun    bool          // guarded by pipelines
	done     chan struct{} // closed when it is compiled, or err is set
	ready    chan struct{} // closed when it need not be translated any more
	err      error
	handle   vkPipeline
	compiled bool // guarded by pipelines
}

func (p *pipelines) open(d *Device) {
	p.sizes, p.modules, p.byKey = map[*Shader]int{}, map[*Shader]*module{}, map[pipelineKey]*pipeline{}
	p.cache.open(d)
	p.translator.open(d)
}

// pipeline returns the pipeline of a call without compiling it.
func (d *Device) pipeline(s *Shader, spec []uint32, subgroup uint32) *pipeline {
	d.pipes.Lock()
	defer d.pipes.Unlock()
	m := d.pipes.modules[s]
	if m == nil {
		m = &module{shader: s}
		d.pipes.modules[s] = m
	}
	key := pipelineKey{m, "", subgroup}
	if len(spec) > 0 {
		key.spec = string(unsafe.Slice((*byte)(unsafe.Pointer(&spec[0])), 4*len(spec)))
	}
	p := d.pipes.byKey[key]
	if p == nil {
		p = &pipeline{module: m, spec: slices.Clone(spec), subgroup: subgroup, done: make(chan struct{}), ready: make(chan struct{})}
		d.pipes.byKey[key] = p
	}
	return p
}

// moduleBytes returns the bytes of a shader's module, or ok = false before Shader.check has found that it fits the device.
func (d *Device) moduleBytes(s *Shader) (bytes int, ok bool) {
	d.pipes.Lock()
	defer d.pipes.Unlock()
	bytes, ok = d.pipes.sizes[s]
	return bytes, ok
}

// noteModule notes that a shader with a module of so many bytes fits the device.
func (d *Device) noteModule(s *Shader, bytes int) {
	d.pipes.Lock()
	defer d.pipes.Unlock()
	d.pipes.sizes[s] = bytes
}

// begin starts translating and compiling pipelines in the background: as many at once as there are processors, the largest first, as they
// take longest, and translations before, as they take longer.
func (d *Device) begin(all []*pipeline) {
	all = d.fresh(all)
	size := map[*pipeline]int{}
	for _, p := range all {
		size[p], _ = d.moduleBytes(p.module.shader)
	}
	slices.SortStableFunc(all, func(a, b *pipeline) int { return size[b] - size[a] })
	alone := len(all) == 1 && d.pipes.tasks.idle() // the queue translates it as soon
	for _, p := range all {
		mark := d.pipes.translator.missing(p)
		if mark == "" || alone {
			close(p.ready)
			continue
		}
		d.background(p.ready, func(closed error) {
			if closed == nil {
				d.translate(p, mark)
			}
		})
	}
	for _, p := range all {
		d.background(p.done, func(closed error) {
			if p.err = closed; p.err == nil {
				p.err = d.compile(p)
			}
		})
	}
}

// fresh returns those pipelines that have not begun yet, and notes that they have.
func (d *Device) fresh(all []*pipeline) (some []*pipeline) {
	d.pipes.Lock()
	defer d.pipes.Unlock()
	for _, p := range all {
		if !p.begun {
			p.begun = true
			some = append(some, p)
		}
	}
	return some
}

// compileAll compiles pipelines in parallel and saves the cache. It returns the first error, in the order of all.
func (d *Device) compileAll(all []*pipeline) error {
	d.begin(all)
	for _, p := range all {
		<-p.done
	}
	for _, p := range all {
		if p.err != nil {
			return p.err
		}
	}
	d.pipes.cache.keep(d)
	return nil
}

func (d *Device) compile(p *pipeline) error {
	m := p.module
	if d.cfg.imitated != nil {
		d.cfg.imitated.asked(PipelineSource{Shader: m.shader, Spec: p.spec, Subgroup: p.subgroup})
		return nil
	}
	m.once.Do(func() { m.err = d.load(m) })
	if m.err != nil {
		return m.err
	}
	handle, err := d.createPipeline(p, m.cache, false)
	if err != nil {
		return err
	}
	p.handle = handle
	d.name(objectPipeline, handleOf(handle), m.shader.Name)
	d.counters.pipelines.Add(1)
	d.pipes.Lock()
	m.dirty, p.compiled = true, true
	d.pipes.Unlock()
	return nil
}

// Variants returns the kernels used by the device's programs so far, each with its variants: the specialization constants that differ from the
// shader's defaults, such as "LANES=8 LOCAL_SIZE_X=64", sorted. Values above 65535, including floats', are written in hexadecimal.
func (d *Device) Variants() map[string][]string {
	d.pipes.Lock()
	defer d.pipes.Unlock()
	all := map[string][]string{}
	for _, p := range d.pipes.byKey {
		if p.compiled {
			name := p.module.shader.Name
			all[name] = append(all[name], p.variant())
		}
	}
	for _, variants := range all {
		slices.Sort(variants)
	}
	return all
}

func (p *pipeline) variant() string {
	var parts []string
	for i, c := range p.module.shader.Spec {
		switch v := p.spec[i]; {
		case v == c.Default:
		case v > 0xffff:
			parts = append(parts, fmt.Sprintf("%s=%#x", c.Name, v))
		default:
			parts = append(parts, fmt.Sprintf("%s=%d", c.Name, v))
		}
	}
	if p.subgroup != 0 {
		parts = append(parts, fmt.Sprintf("subgroup=%d", p.subgroup))
	}
	return strings.Join(parts, " ")
}

// createPipeline calls the driver's compiler.
func (d *Device) createPipeline(p *pipeline, cache vkPipelineCache, statistics bool) (vkPipeline, error) {
	m, n := p.module, len(p.spec)
	// C memory, since a structure that points to the words is passed to C.
	words := (*[1 << 20]C.uint32_t)(C.calloc(C.size_t(2*n+1), 4))
	defer C.free(unsafe.Pointer(words))
	for i, c := range m.shader.Spec {
		words[i], words[n+i] = C.uint32_t(c.ID), C.uint32_t(p.spec[i])
	}
	info := (*C.evk_pipeline_info)(C.calloc(1, C.sizeof_evk_pipeline_info))
	defer C.free(unsafe.Pointer(info))
	info.module, info.layout, info.cache = handleOf(m.handle), handleOf(m.layout), handleOf(cache)
	info.spec_count, info.spec_ids, info.spec_values = C.uint32_t(n), &words[0], &words[n]
	if p.subgroup != 0 && d.phys.requiredSize {
		info.subgroup = C.uint32_t(p.subgroup)
		if d.phys.info.Features.Has(FullSubgroups) && m.shader.localSize(p.spec)[0]%p.subgroup == 0 {
			info.full_subgroups = 1
		}
	}
	if statistics {
		info.statistics = 1
	}
	var handle C.VkHandle
	r := Result(C.evk_create_pipeline(d.c, info, &handle))
	if r != resultSuccess {
		return fromHandle[vkPipeline](0), fmt.Errorf("kernel %s: %w", m.shader.Name, d.fail("vkCreateComputePipelines", r))
	}
	return fromHandle[vkPipeline](handle), nil
}

// load creates the objects that all pipelines of a shader share.
func (d *Device) load(m *module) error {
	s := m.shader
	spirv, err := s.code()
	if err != nil {
		return fmt.Errorf("kernel %s: %w", s.Name, err)
	}
	m.digest = sha256.Sum256(spirv)
	code := C.CBytes(spirv)
	defer C.free(code)
	info := vkShaderModuleCreateInfo{
		SType:    structureTypeShaderModuleCreateInfo,
		CodeSize: vkCount(len(spirv)),
		PCode:    unsafe.Slice((*uint32)(code), len(spirv)/4),
	}
	r := create(&m.handle, func(h *vkShaderModule) vkResult { return vkCreateShaderModule(d.handle, &info, nil, h) })
	info.Free()
	if r != resultSuccess {
		return fmt.Errorf("kernel %s: %w", s.Name, d.fail("vkCreateShaderModule", r))
	}
	indices := make([]C.uint32_t, max(len(s.Bindings), 1))
	texels := make([]C.uint32_t, len(indices))
	for i, b := range s.Bindings {
		indices[i], texels[i] = C.uint32_t(b.Index), C.uint32_t(b.Texel)
	}
	var h C.VkHandle
	if r := Result(C.evk_create_set_layout(d.c, C.uint32_t(len(s.Bindings)), &indices[0], &texels[0], &h)); r != resultSuccess {
		return fmt.Errorf("kernel %s: %w", s.Name, d.fail("vkCreateDescriptorSetLayout", r))
	}
	m.setLayout = fromHandle[vkDescriptorSetLayout](h)
	if r := Result(C.evk_create_pipeline_layout(d.c, h, C.uint32_t(s.PushBytes), &h)); r != resultSuccess {
		return fmt.Errorf("kernel %s: %w", s.Name, d.fail("vkCreatePipelineLayout", r))
	}
	m.layout = fromHandle[vkPipelineLayout](h)
	return d.pipes.cache.load(d, m)
}

func (p *pipelines) destroy(d *Device) {
	p.cache.keep(d)
	for _, x := range p.byKey {
		vkDestroyPipeline(d.handle, x.handle, nil)
	}
	for _, m := range p.modules {
		vkDestroyPipelineCache(d.handle, m.cache, nil)
		vkDestroyPipelineLayout(d.handle, m.layout, nil)
		vkDestroyDescriptorSetLayout(d.handle, m.setLayout, nil)
		vkDestroyShaderModule(d.handle, m.handle, nil)
	}
	p.byKey, p.modules = nil, nil // sizes stay: programs of a closed device may still be recorded
}
