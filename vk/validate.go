package vk

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"slices"
	"strings"
	"sync"
	"unsafe"
)

const messageBytes = 16 << 10 // the maximum length of a message

const severityError = uint32(C.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)

// uncheckedAddresses is part of the layer's warning about devices without 64-bit integers: it cannot check buffer device
// addresses, which this package does not use.
const uncheckedAddresses = "No buffer device address checking will be attempted"

// messages holds the messages of the validation layer.
type messages struct {
	sync.Mutex
	errors []string
}

// Validating reports whether the validation layer is on: requested and installed.
func (d *Device) Validating() bool {
	if d.enter() != nil {
		return false
	}
	defer d.exit()
	return C.evk_validating(d.in.c) != 0
}

// ValidationErrors returns the errors and warnings reported so far by the validation layer, oldest first. It also works after Close.
func (d *Device) ValidationErrors() []string {
	if d.enter() == nil {
		d.drainMessages()
		d.exit()
	}
	d.log.Lock()
	defer d.log.Unlock()
	return slices.Clone(d.log.errors)
}

// drainMessages passes the layer's messages to the logger and appends them to the list.
func (d *Device) drainMessages() {
	if C.evk_validating(d.in.c) == 0 {
		return
	}
	d.log.Lock()
	defer d.log.Unlock()
	text := (*C.char)(C.malloc(messageBytes))
	defer C.free(unsafe.Pointer(text))
	for {
		severity := uint32(C.evk_next_message(d.in.c, text, messageBytes))
		if severity == 0 {
			return
		}
		message := C.GoString(text)
		if strings.Contains(message, uncheckedAddresses) {
			continue
		}
		if severity >= severityError {
			d.cfg.logger.Error("Vulkan validation", "message", message)
		} else {
			d.cfg.logger.Warn("Vulkan validation", "message", message)
		}
		d.log.errors = append(d.log.errors, message)
	}
}

// objectPipeline is VK_OBJECT_TYPE_PIPELINE.
const objectPipeline = 19

// name sets the name of an object in validation messages.
func (d *Device) name(objectType int, handle C.VkHandle, name string) {
	if C.evk_validating(d.in.c) == 0 {
		return
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	C.evk_name(d.c, C.int32_t(objectType), C.uint64_t(handle), cname)
}
