package vk

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinel errors for errors.Is. Errors of this package with one of these causes match it.
var (
	// ErrNoLoader: the Vulkan loader library could not be opened.
	ErrNoLoader = errors.New("vk: no Vulkan loader")
	// ErrNoDevice: the loader finds no Vulkan driver, or no device that supports compute.
	ErrNoDevice = errors.New("vk: no Vulkan device")
	// ErrDeviceLost: the device stopped working (a crash, a watchdog, an unplugged card). It stays
	// lost: close it, open it again, and resume from a checkpoint.
	ErrDeviceLost = errors.New("vk: device lost")
	// ErrTimeout: no submission finished within the time-out (see [Timeout]).
	ErrTimeout = errors.New("vk: timed out")
	// ErrClosed: the device was closed, or the program or buffer was freed.
	ErrClosed = errors.New("vk: used after close")
	// ErrNotMapped: the buffer's memory is not visible to the host.
	ErrNotMapped = errors.New("vk: memory is not host-visible")
)

// Result is a Vulkan result code.
type Result int32

// Result codes that this package handles; others are passed on.
const (
	resultSuccess      Result = 0
	resultNotReady     Result = 1
	resultTimeout      Result = 2
	resultIncomplete   Result = 5
	resultNoHostMemory Result = -1
	resultNoMemory     Result = -2
	resultDeviceLost   Result = -4
)

var resultNames = map[Result]string{
	0: "VK_SUCCESS", 1: "VK_NOT_READY", 2: "VK_TIMEOUT", 3: "VK_EVENT_SET", 4: "VK_EVENT_RESET", 5: "VK_INCOMPLETE",
	-1: "VK_ERROR_OUT_OF_HOST_MEMORY", -2: "VK_ERROR_OUT_OF_DEVICE_MEMORY", -3: "VK_ERROR_INITIALIZATION_FAILED",
	-4: "VK_ERROR_DEVICE_LOST", -5: "VK_ERROR_MEMORY_MAP_FAILED", -6: "VK_ERROR_LAYER_NOT_PRESENT",
	-7: "VK_ERROR_EXTENSION_NOT_PRESENT", -8: "VK_ERROR_FEATURE_NOT_PRESENT", -9: "VK_ERROR_INCOMPATIBLE_DRIVER",
	-10: "VK_ERROR_TOO_MANY_OBJECTS", -11: "VK_ERROR_FORMAT_NOT_SUPPORTED", -12: "VK_ERROR_FRAGMENTED_POOL",
	-13: "VK_ERROR_UNKNOWN", -1000069000: "VK_ERROR_OUT_OF_POOL_MEMORY", -1000161000: "VK_ERROR_FRAGMENTATION",
	-1000012000: "VK_ERROR_INVALID_SHADER_NV",
}

// String returns the name in the Vulkan specification.
func (r Result) String() string {
	if s, ok := resultNames[r]; ok {
		return s
	}
	return fmt.Sprintf("VkResult(%d)", int32(r))
}

// DeviceError is a failed Vulkan call. It matches [ErrDeviceLost] and [ErrTimeout] by its Result.
type DeviceError struct {
	Op      string // the operation, or the Vulkan function
	Result  Result
	Running string // the running program, or ""
}

// Error states the operation, the result and the running program.
func (e *DeviceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "vk: %s: ", e.Op)
	switch e.Result {
	case resultDeviceLost:
		b.WriteString("device lost")
	case resultTimeout:
		b.WriteString("timed out")
	default:
		b.WriteString(e.Result.String())
	}
	if e.Running != "" {
		fmt.Fprintf(&b, " while program %q was running", e.Running)
	}
	switch e.Result {
	case resultDeviceLost:
		b.WriteString("; close the device, open it again and resume from the last checkpoint")
	case resultTimeout:
		b.WriteString("; the device made no progress: lower vk.SliceBudget or the problem size, or raise vk.Timeout")
	}
	return b.String()
}

// Is reports whether target is the sentinel error of the result.
func (e *DeviceError) Is(target error) bool {
	return target == ErrDeviceLost && e.Result == resultDeviceLost || target == ErrTimeout && e.Result == resultTimeout
}

// OutOfMemoryError reports an allocation of Need bytes when only Have bytes were available.
type OutOfMemoryError struct {
	What string // what was being allocated, e.g. "local buffer"
	Need uint64 // bytes requested
	Have uint64 // bytes available to one allocation now
	Why  string // the limit that was reached
}

// Error states Need and Have in bytes and in larger units.
func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("vk: out of memory: a %s needs %s (%d bytes), but only %s (%d bytes) are available: %s",
		e.What, ByteSize(e.Need), e.Need, ByteSize(e.Have), e.Have, e.Why)
}

// GroupsError reports a dispatch whose workgroup count along an axis is zero or above the device's limit.
type GroupsError struct {
	Groups, Allowed [3]uint32
}

// Error states both numbers.
func (e *GroupsError) Error() string {
	return fmt.Sprintf("%v workgroups: each must be at least 1, and this device allows %v", e.Groups, e.Allowed)
}

// DeviceIndexError: there is no device of this index.
type DeviceIndexError struct {
	Index, Count int
}

// Error states the valid indices.
func (e *DeviceIndexError) Error() string {
	if e.Count == 1 {
		return fmt.Sprintf("vk: no device %d: there is one device, with index 0", e.Index)
	}
	return fmt.Sprintf("vk: no device %d: there are %d devices, with indices 0 to %d", e.Index, e.Count, e.Count-1)
}

// DeviceNameError: no device's name contains the text asked for.
type DeviceNameError struct {
	Name  string
	Names []string // the names of all devices
}

// Error lists the devices.
func (e *DeviceNameError) Error() string {
	return fmt.Sprintf("vk: no device has %q in its name; there are: %s", e.Name, strings.Join(e.Names, ", "))
}

// ByteSize formats a number of bytes for people, such as 1.5 GiB.
func ByteSize(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/1024, 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", x, units[i])
}
