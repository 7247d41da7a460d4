package vk

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// tape is a sequence of commands that the shim replays into a command buffer in one call.
type tape struct{ words []uint64 }

// scope is one side of a memory barrier: stages, what they read and what they write.
type scope struct{ stages, reads, writes uint64 }

var (
	deviceStages = scope{C.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | C.VK_PIPELINE_STAGE_TRANSFER_BIT,
		C.VK_ACCESS_SHADER_READ_BIT | C.VK_ACCESS_TRANSFER_READ_BIT, C.VK_ACCESS_SHADER_WRITE_BIT | C.VK_ACCESS_TRANSFER_WRITE_BIT}
	hostStage = scope{C.VK_PIPELINE_STAGE_HOST_BIT, C.VK_ACCESS_HOST_READ_BIT, 0}
)

func (t *tape) barrier(src, dst scope) {
	t.words = append(t.words, C.EVK_OP_BARRIER, src.stages|dst.stages<<32, src.writes|(dst.reads|dst.writes)<<32)
}

func (t *tape) pipeline(h vkPipeline) {
	t.words = append(t.words, C.EVK_OP_PIPELINE, uint64(handleOf(h)))
}

func (t *tape) set(layout vkPipelineLayout, set C.VkHandle) {
	t.words = append(t.words, C.EVK_OP_SET, uint64(handleOf(layout)), uint64(set))
}

func (t *tape) push(layout vkPipelineLayout, data []byte) {
	t.words = append(t.words, C.EVK_OP_PUSH|uint64(len(data))<<8, uint64(handleOf(layout)))
	for ; len(data) >= 8; data = data[8:] {
		t.words = append(t.words, binary.NativeEndian.Uint64(data))
	}
	if len(data) > 0 {
		var last [8]byte
		copy(last[:], data)
		t.words = append(t.words, binary.NativeEndian.Uint64(last[:]))
	}
}

func (t *tape) dispatch(g [3]uint32) {
	t.words = append(t.words, C.EVK_OP_DISPATCH|uint64(g[0])<<32, uint64(g[1])|uint64(g[2])<<32)
}

func (t *tape) copy(src, dst Range) {
	t.words = append(t.words, C.EVK_OP_COPY, uint64(handleOf(src.Buffer.handle)), uint64(handleOf(dst.Buffer.handle)),
		uint64(src.Offset), uint64(dst.Offset), uint64(src.Size))
}

func (t *tape) fill(dst Range, word uint32) {
	t.words = append(t.words, C.EVK_OP_FILL|uint64(word)<<32, uint64(handleOf(dst.Buffer.handle)), uint64(dst.Offset), uint64(dst.Size))
}

func (t *tape) reset(pool vkQueryPool, first, count int) {
	t.words = append(t.words, C.EVK_OP_RESET, uint64(handleOf(pool)), uint64(first)|uint64(count)<<32)
}

func (t *tape) timestamp(pool vkQueryPool, query int) {
	t.words = append(t.words, C.EVK_OP_TIMESTAMP, uint64(handleOf(pool)), uint64(query))
}

// replay records the tape into a command buffer of what is named.
func (t *tape) replay(d *Device, c vkCommandBuffer, name string) error {
	var words *C.uint64_t
	if len(t.words) > 0 {
		words = (*C.uint64_t)(unsafe.Pointer(&t.words[0]))
	}
	var where *C.char
	if r := Result(C.evk_record(d.c, pointer(c), words, C.size_t(len(t.words)), &where)); r != resultSuccess {
		return d.fail(fmt.Sprintf("%s of %q", C.GoString(where), name), r)
	}
	return nil
}
