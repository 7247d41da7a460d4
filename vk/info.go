package vk

import (
	"fmt"
	"strings"
)

// Version is a Vulkan version number as the API packs it.
type Version uint32

// MakeVersion packs a version.
func MakeVersion(major, minor, patch uint32) Version {
	return Version(major<<22 | minor<<12 | patch)
}

// Major returns the major version.
func (v Version) Major() uint32 { return uint32(v) >> 22 & 0x7f }

// Minor returns the minor version.
func (v Version) Minor() uint32 { return uint32(v) >> 12 & 0x3ff }

// String returns "major.minor.patch".
func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d", v.Major(), v.Minor(), uint32(v)&0xfff)
}

// DeviceType is the type of a device, with Vulkan's values.
type DeviceType uint32

// The device types.
const (
	OtherDevice DeviceType = iota
	IntegratedGPU
	DiscreteGPU
	VirtualGPU
	CPU // a software driver
)

// String returns other, integrated, discrete, virtual or cpu.
func (t DeviceType) String() string {
	if names := [...]string{"other", "integrated", "discrete", "virtual", "cpu"}; int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// MarshalText encodes the type as its name.
func (t DeviceType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// GPU reports whether the device is hardware.
func (t DeviceType) GPU() bool { return t == IntegratedGPU || t == DiscreteGPU || t == VirtualGPU }

// Features is a set of optional device features. All supported features are enabled.
type Features uint32

// The features, in the order of the shim's bits.
const (
	Float64 Features = 1 << iota
	Int64
	Int16
	Float16
	Int8
	Storage16           // 16-bit types in storage buffers
	Storage8            // 8-bit types in storage buffers
	SubgroupExtended    // 8-, 16- and 64-bit types in subgroup operations
	TimelineSemaphore   // waits by number; fences are used without it
	MemoryModel         // the Vulkan memory model
	SubgroupSizeControl // Call.Subgroup may differ from Info.SubgroupSize
	FullSubgroups       // all lanes of a pinned subgroup are active
	FloatAtomicAdd      // 32-bit, storage buffers
	PipelineStatistics  // registers and spills per pipeline
	MemoryBudget        // the memory left by other processes
	CooperativeMatrix
	DeviceScope // atomics may have device scope: without the Vulkan memory model always, with it by a feature
)

var featureNames = [...]string{"float64", "int64", "int16", "float16", "int8", "storage16", "storage8", "subgroup_extended_types",
	"timeline_semaphore", "memory_model", "subgroup_size_control", "full_subgroups", "float_atomic_add", "pipeline_statistics",
	"memory_budget", "cooperative_matrix", "device_scope"}

// Has reports whether the set contains all of f.
func (s Features) Has(f Features) bool { return s&f == f }

// Names lists the features of the set.
func (s Features) Names() []string {
	var out []string
	for i, n := range featureNames {
		if s&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String joins the names with spaces.
func (s Features) String() string { return strings.Join(s.Names(), " ") }

// MarshalText encodes the set as its names.
func (s Features) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SubgroupOps is a set of subgroup operations available in compute shaders, with Vulkan's bits.
type SubgroupOps uint32

// The subgroup operations.
const (
	SubgroupBasic SubgroupOps = 1 << iota
	SubgroupVote
	SubgroupArithmetic
	SubgroupBallot
	SubgroupShuffle
	SubgroupShuffleRelative
	SubgroupClustered
	SubgroupQuad
)

// Has reports whether the set contains all of f.
func (s SubgroupOps) Has(f SubgroupOps) bool { return s&f == f }

// Limits are the device limits that callers must respect.
type Limits struct {
	MaxStorageRange  uint64    // bytes of one binding
	StorageAlignment uint64    // bytes; the offset of every bound range is a multiple
	MaxBufferBytes   uint64    // bytes of one buffer
	MaxPushBytes     uint32    // bytes of push constants
	MaxSharedBytes   uint32    // bytes of shared memory per workgroup
	MaxInvocations   uint32    // invocations per workgroup
	MaxSubgroups     uint32    // subgroups per workgroup of kernels that fix their size; 0: the device cannot fix it
	MaxLocalSize     [3]uint32 // invocations per workgroup, by dimension
	MaxGroups        [3]uint32 // workgroups per dispatch, by dimension
	MaxBindings      uint32    // storage buffers per shader
	MaxTexelBindings uint32    // texel buffers per shader
	MaxTexels        uint64    // texels of one binding
	TimestampPeriod  float64   // nanoseconds per tick; 0: the device has no timestamps
	// MaxLoopIterations bounds the iterations of all loops of an invocation together, nested loops included. Beyond it the driver
	// silently leaves the loops. 0: no limit. Lavapipe's guard against endless loops stops at 65535; unrolled loops do not count.
	MaxLoopIterations uint32
}

// lavapipeLoopIterations was measured on Mesa 22.3.6, for single, nested and consecutive loops.
const lavapipeLoopIterations = 65535

// Info describes a device.
type Info struct {
	Index         int // index in the result of Devices
	Name          string
	Vendor        string // derived from VendorID, e.g. "NVIDIA"
	Driver        string // name and version as reported by the driver
	VendorID      uint32
	DeviceID      uint32
	DriverVersion uint32 // packed in a vendor-specific way
	API           Version
	Type          DeviceType
	MemoryBytes   uint64 // device-local memory
	Unified       bool   // host and device share all memory
	ResizableBAR  bool   // a discrete device whose whole memory is host-visible
	Translated    bool   // a driver that translates Vulkan to Direct3D 12 (Mesa's Dozen): slower than a GPU's own driver, and does not claim to conform
	PCI           string // address on the PCI bus as Linux writes it, "0000:03:00.0"; "": unknown, as of software drivers
	Threads       int    // workgroups that a software driver computes at the same time; 0 on GPUs
	// SubgroupSize is the size to make kernels for: the driver's default, but the smallest on Intel's GPUs, where lanes share the
	// registers of a hardware thread (128 each in the smallest subgroups, 32 in Xe's largest), if kernels may pin it. Kernels that do not pin
	// theirs get the driver's default.
	SubgroupSize uint32
	// MinSubgroupSize and MaxSubgroupSize bound Call.Subgroup. Both equal SubgroupSize if the device supports a single size.
	MinSubgroupSize, MaxSubgroupSize uint32
	SubgroupOps                      SubgroupOps
	PipelineCacheUUID                [16]byte
	Limits                           Limits
	Features                         Features
	MatrixProducts                   []MatrixProduct // with the feature CooperativeMatrix; those that saturate are left out
}

var vendors = map[uint32]string{0x1002: "AMD", 0x1010: "Imagination", 0x106B: "Apple", 0x10DE: "NVIDIA", 0x13B5: "ARM", 0x14E4: "Broadcom",
	0x5143: "Qualcomm", 0x8086: "Intel", 0x10005: "Mesa", 0x1AE0: "Google", 0x1414: "Microsoft"}

func vendorName(id uint32) string {
	if n, ok := vendors[id]; ok {
		return n
	}
	return fmt.Sprintf("%#04x", id)
}
