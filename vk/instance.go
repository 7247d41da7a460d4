package vk

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

const (
	validateOff  = int(C.EVK_VALIDATE_OFF)
	validateSync = int(C.EVK_VALIDATE_SYNC)
	validateGPU  = int(C.EVK_VALIDATE_GPU)
)

// The bindings keep the loader's functions in C globals, so a process can use one loader only.
var loaded struct {
	sync.Mutex
	procAddr unsafe.Pointer
}

// loadLibrary loads the first library of the names that there is.
func loadLibrary(names []string) (p unsafe.Pointer, err error) {
	var first error
	for _, name := range names {
		if p, err = loadNamed(name); err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func loadNamed(name string) (unsafe.Pointer, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	why := (*C.char)(C.calloc(1, 512))
	defer C.free(unsafe.Pointer(why))
	procAddr := C.evk_load(cname, why, 512)
	if procAddr == nil {
		return nil, fmt.Errorf("%w: %s; %s", ErrNoLoader, C.GoString(why), advice)
	}
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.procAddr == nil {
		vkSetGetInstanceProcAddr(procAddr)
		if err := vkInit(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNoLoader, name, err)
		}
		loaded.procAddr = procAddr
	}
	if loaded.procAddr != procAddr {
		return nil, fmt.Errorf("%w: %s: this process already uses another Vulkan loader", ErrNoLoader, name)
	}
	return procAddr, nil
}

// instance is one VkInstance with its physical devices; every Device has its own.
type instance struct {
	c       *C.evk_instance
	devices []vkPhysicalDevice
}

func openInstance(cfg *config) (*instance, error) {
	prepareMesa(cfg.oneThread)
	prepareMoltenVK(runtime.GOOS)
	procAddr, err := loadLibrary(cfg.loaders)
	if err != nil {
		return nil, err
	}
	var c *C.evk_instance
	var where *C.char
	switch r := Result(C.evk_create_instance(procAddr, C.uint32_t(cfg.maxAPI), C.int(cfg.validate), &c, &where)); r {
	case resultSuccess:
	case -9: // VK_ERROR_INCOMPATIBLE_DRIVER: the loader found no driver
		return nil, fmt.Errorf("%w: %s: the loader found no driver; %s", ErrNoDevice, C.GoString(where), advice)
	default:
		return nil, &DeviceError{Op: C.GoString(where), Result: r}
	}
	in := &instance{c: c}
	if cfg.validate != validateOff && C.evk_validating(in.c) == 0 {
		cfg.logger.Warn("the Vulkan validation layer is not installed (Debian: vulkan-validationlayers)")
	}
	handle := fromPointer[vkInstance](C.evk_instance_handle(in.c))
	loaded.Lock()
	err = vkInitInstance(handle)
	loaded.Unlock()
	if err != nil {
		in.close()
		return nil, fmt.Errorf("vk: %s: %w", BindingName, err)
	}
	var r Result
	in.devices, r = physicalDevices(func(n *uint32, list []vkPhysicalDevice) Result {
		return Result(vkEnumeratePhysicalDevices(handle, n, list))
	})
	// Drivers that fail to start report it in different ways. Without any device the meaning is the same.
	if len(in.devices) == 0 {
		in.close()
		return nil, fmt.Errorf("%w: no driver offers a device (vkEnumeratePhysicalDevices: %v); %s", ErrNoDevice, r, advice)
	}
	return in, nil
}

// physicalDevices lists the physical devices by a function that stores their number if list is nil, and else as many of them as there is
// room for. If devices are plugged in between, the list is incomplete and asked for again; after an error there are none.
func physicalDevices(enumerate func(n *uint32, list []vkPhysicalDevice) Result) (all []vkPhysicalDevice, r Result) {
	r = resultIncomplete
	for tries := 0; r == resultIncomplete && tries < 10; tries++ {
		var n uint32
		if r = enumerate(&n, nil); r != resultSuccess || n == 0 {
			all = nil
			continue
		}
		all = make([]vkPhysicalDevice, n)
		r = enumerate(&n, all)
		all = all[:min(int(n), len(all))]
	}
	if r < 0 {
		return nil, r
	}
	return all, r
}

func (in *instance) close() {
	if in.c != nil {
		C.evk_destroy_instance(in.c)
		in.c = nil
	}
}

// physical is what describe finds out about a device: the public Info and internal properties.
type physical struct {
	info    Info
	enabled Features // of the logical device
	api     uint32   // the Vulkan version in use
	family  int      // queue family; -1: none supports compute
	types   []memoryType
	heaps   []memoryHeap
	// requiredSize: compute pipelines may pin their subgroup size.
	requiredSize  bool
	exact         bool // see ExactBuffers
	timestampBits uint32
	atomSize      uint64 // nonCoherentAtomSize
}

func (in *instance) describe(index int) (*physical, error) {
	pd := in.devices[index]
	var props vkPhysicalDeviceProperties
	vkGetPhysicalDeviceProperties(pd, &props)
	props.Deref()
	limits := &props.Limits
	limits.Deref()
	p := &physical{api: min(props.ApiVersion, uint32(C.evk_instance_api(in.c)))}
	// A device newer than the instance is used with the instance's version.
	var c C.evk_physical
	if r := Result(C.evk_describe(in.c, pointer(pd), C.uint32_t(p.api), &c)); r != resultSuccess {
		return nil, &DeviceError{Op: fmt.Sprintf("vkEnumerateDeviceExtensionProperties of device %d", index), Result: r}
	}
	p.family, p.timestampBits = int(c.compute_family), uint32(c.timestamp_bits)
	const dozen = 23 // VK_DRIVER_ID_MESA_DOZEN
	p.atomSize = uint64(limits.NonCoherentAtomSize)
	p.requiredSize = Features(c.features).Has(SubgroupSizeControl) && c.required_size_stages&C.VK_SHADER_STAGE_COMPUTE_BIT != 0
	for i := range int(c.heap_count) {
		p.heaps = append(p.heaps, memoryHeap{size: uint64(c.heap_size[i]), local: c.heap_flags[i]&1 != 0})
	}
	for i := range int(c.type_count) {
		p.types = append(p.types, memoryType{index: uint32(i), flags: memoryFlags(c.type_flags[i]), heap: int(c.type_heap[i])})
	}
	name := props.DeviceName[:]
	p.info = Info{
		Index: index, Name: cString(name), Vendor: vendorName(props.VendorID), VendorID: props.VendorID, DeviceID: props.DeviceID,
		DriverVersion: props.DriverVersion, API: Version(props.ApiVersion), Type: DeviceType(props.DeviceType),
		Driver:       strings.TrimSpace(C.GoString(&c.driver_name[0]) + " " + C.GoString(&c.driver_info[0])),
		SubgroupSize: uint32(c.subgroup_size), MinSubgroupSize: uint32(c.min_subgroup_size), MaxSubgroupSize: uint32(c.max_subgroup_size),
		SubgroupOps: SubgroupOps(c.subgroup_operations), PipelineCacheUUID: props.PipelineCacheUUID, Features: Features(c.features),
		Translated: c.driver_id == dozen, PCI: C.GoString(&c.pci[0]),
		Limits: Limits{
			MaxStorageRange:  uint64(limits.MaxStorageBufferRange),
			StorageAlignment: max(uint64(limits.MinStorageBufferOffsetAlignment), uint64(limits.MinTexelBufferOffsetAlignment)),
			MaxBufferBytes:   min(uint64(c.max_allocation), uint64(c.max_buffer)), MaxPushBytes: limits.MaxPushConstantsSize,
			MaxSharedBytes: limits.MaxComputeSharedMemorySize, MaxInvocations: limits.MaxComputeWorkGroupInvocations,
			MaxLocalSize: limits.MaxComputeWorkGroupSize, MaxGroups: limits.MaxComputeWorkGroupCount,
			MaxBindings:      min(limits.MaxPerStageDescriptorStorageBuffers, limits.MaxDescriptorSetStorageBuffers),
			MaxTexelBindings: min(limits.MaxPerStageDescriptorStorageImages, limits.MaxDescriptorSetStorageImages), MaxTexels: uint64(limits.MaxTexelBufferElements),
		},
	}
	props.Free()
	const intel = 0x8086
	if p.requiredSize && p.info.VendorID == intel && p.info.Type.GPU() {
		p.info.SubgroupSize = p.info.MinSubgroupSize
	}
	if p.requiredSize {
		p.info.Limits.MaxSubgroups = uint32(c.max_workgroup_subgroups)
	}
	// A null device has an infinite period, and some queues have no timestamps.
	if period := float64(limits.TimestampPeriod); p.timestampBits > 0 && period > 0 && !math.IsInf(period, 0) {
		p.info.Limits.TimestampPeriod = period
	}
	if p.info.Type == CPU {
		p.info.Threads = runtime.NumCPU()
	}
	if p.info.Type == CPU && strings.HasPrefix(p.info.Driver, "llvmpipe") {
		p.info.Limits.MaxLoopIterations = lavapipeLoopIterations
		p.info.Threads = mesaThreads()
	}
	if p.info.Features.Has(CooperativeMatrix) {
		var err error
		if p.info.MatrixProducts, err = in.matrixProducts(pd); err != nil {
			return nil, err
		}
	}
	p.info.MemoryBytes, p.info.Unified, p.info.ResizableBAR = p.memoryKind()
	return p, nil
}

// usable returns the reason why a device cannot run programs, or "".
func (p *physical) usable(cfg *config) string {
	switch {
	case p.api < uint32(MakeVersion(1, 1, 0)):
		return fmt.Sprintf("it supports Vulkan %v; 1.1 is needed", Version(p.api))
	case p.family < 0:
		return "it has no compute queue"
	case cfg.suits != nil:
		return cfg.suits(p.info)
	}
	return ""
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// handleOf and fromHandle convert between the binding's handles and the shim's 64-bit numbers. They copy the bits, since a
// handle is not a Go pointer: some drivers and layers use small numbers, which the garbage collector rejects as pointers.
func handleOf[H any](h H) C.VkHandle { return *(*C.VkHandle)(unsafe.Pointer(&h)) }

func fromHandle[H any](h C.VkHandle) H { return *(*H)(unsafe.Pointer(&h)) }

// pointer and fromPointer do the same for dispatchable handles, which are C pointers.
func pointer[H any](h H) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&h)) }

func fromPointer[H any](p unsafe.Pointer) H { return *(*H)(unsafe.Pointer(&p)) }

// create receives a handle in a local variable, since cgo refuses the address of a field in a structure with Go pointers.
func create[H any](to *H, call func(*H) vkResult) Result {
	var h H
	r := call(&h)
	*to = h
	return Result(r)
}
