package bridge

import (
	"encoding/binary"
	"hash/fnv"
	"unsafe"
)

// The shared memory of a server, in little-endian byte order: a header, and for each half of the environments a block of arrays. docs/bridge.md has the
// same as tables.
const (
	magic       = "EVORLBR1"
	headerBytes = 256
	tableBytes  = 128 // of a half's offsets
	faultBytes  = 4096
	alignment   = 64

	atVersion   = 8
	atHeader    = 12
	atDigest    = 16 // FNV-1a of what follows up to atEnd
	atFirst     = 24
	atCount     = 28
	atObs       = 32
	atObsType   = 36
	atWords     = 40
	atActType   = 44
	atSplit     = 48
	atFaultSize = 52
	atTables    = 56 // two offsets
	atTotal     = 72
	atEnd       = 80
	atNow       = 128 // written by the server: the environment that it is at
)

// nowhere is the value at atNow while the server is at no environment.
const nowhere = 0xFFFFFFFF

// Commands to an environment of a half, in its array of bytes.
const (
	commandStep  = 1
	commandReset = 2
	commandAnew  = 3 // make the environment anew, and reset it
	commandLast  = 0x10
	commandStay  = 0x20
)

// What a step ended.
const (
	endTerminated = 1
	endTruncated  = 2
)

// layout is where a server's n environments have what in the shared memory.
type layout struct {
	first, n, split   int // number of the first environment, of environments, and of those of the first half
	obs, obsWidth     int // elements of an observation, and bytes of one
	words             int // 32-bit words of an action
	discrete          bool
	total             int
	halves            []halfLayout
	table             [2]int
	observationsBytes bool
}

// halfLayout has the offsets of a half's arrays.
type halfLayout struct {
	first, n                                                        int // its first environment among the server's, and their number
	command, seed, action, reward, ended, status, obs, final, fault int
}

// newLayout lays out n environments, from the one numbered first, in one or two halves.
func newLayout(h *Hello, first, n, halves int) layout {
	l := layout{first: first, n: n, split: n, obs: h.Observation.size(), obsWidth: 4, words: h.Action.size(), discrete: h.Action.N > 0}
	if l.observationsBytes = h.Observation.bytes(); l.observationsBytes {
		l.obsWidth = 1
	}
	if l.discrete {
		l.words = 1
	}
	if halves == 2 && n > 1 {
		l.split = (n + 1) / 2
	}
	at := headerBytes
	for i, size := range []int{l.split, n - l.split} {
		if size == 0 {
			continue
		}
		l.table[i] = at
		at += tableBytes
		half := halfLayout{first: i * l.split, n: size}
		place := func(offset *int, bytes int) {
			*offset = at
			at += (bytes + alignment - 1) / alignment * alignment
		}
		place(&half.command, size)
		place(&half.seed, 4*size)
		place(&half.action, 4*size*l.words)
		place(&half.reward, 4*size)
		place(&half.ended, size)
		place(&half.status, size)
		place(&half.obs, size*l.obs*l.obsWidth)
		place(&half.final, size*l.obs*l.obsWidth)
		place(&half.fault, faultBytes)
		l.halves = append(l.halves, half)
	}
	l.total = at
	return l
}

// write writes header and tables.
func (l layout) write(memory []byte) {
	order := binary.LittleEndian
	u32 := func(at, v int) { order.PutUint32(memory[at:], uint32(v)) }
	copy(memory, magic)
	u32(atVersion, Version)
	u32(atHeader, headerBytes)
	u32(atFirst, l.first)
	u32(atCount, l.n)
	u32(atObs, l.obs)
	if l.observationsBytes {
		u32(atObsType, 1)
	}
	u32(atWords, l.words)
	if l.discrete {
		u32(atActType, 1)
	}
	u32(atSplit, l.split)
	u32(atFaultSize, faultBytes)
	for i, at := range l.table {
		order.PutUint64(memory[atTables+8*i:], uint64(at))
	}
	order.PutUint64(memory[atTotal:], uint64(l.total))
	digest := fnv.New64a()
	_, _ = digest.Write(memory[atFirst:atEnd]) // a hash takes everything
	order.PutUint64(memory[atDigest:], digest.Sum64())
	u32(atNow, nowhere)
	for i, h := range l.halves {
		for k, at := range []int{h.command, h.seed, h.action, h.reward, h.ended, h.status, h.obs, h.final, h.fault} {
			order.PutUint64(memory[l.table[i]+8*k:], uint64(at))
		}
	}
}

// halfView is a half's arrays in the shared memory.
type halfView struct {
	halfLayout
	command, ended, status, fault []byte
	seed                          []uint32
	action, reward                []float32
	index                         []int32 // the actions of a discrete space, in the place of action
	obs, final                    []byte
}

// view returns the arrays of a half.
func (l layout) view(memory []byte, h halfLayout) halfView {
	bytes := func(at, n int) []byte { return memory[at : at+n : at+n] }
	return halfView{
		halfLayout: h, command: bytes(h.command, h.n), ended: bytes(h.ended, h.n), status: bytes(h.status, h.n), fault: bytes(h.fault, faultBytes),
		seed: numbers[uint32](memory, h.seed, h.n), action: numbers[float32](memory, h.action, h.n*l.words),
		index: numbers[int32](memory, h.action, h.n*l.words), reward: numbers[float32](memory, h.reward, h.n),
		obs: bytes(h.obs, h.n*l.obs*l.obsWidth), final: bytes(h.final, h.n*l.obs*l.obsWidth),
	}
}

// numbers returns n numbers of 32 bits at an offset that is a multiple of alignment.
func numbers[T float32 | uint32 | int32](memory []byte, at, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[at : at+4*n][0])), n)
}

// unit are the values of bytes in observations.
var unit = func() (of [256]float32) {
	for i := range of {
		of[i] = float32(i) / 255
	}
	return of
}()

// decode writes environment i's observation, of a half's array, to a row.
func (l layout) decode(row []float32, from []byte, i int) {
	if l.observationsBytes {
		for k, b := range from[i*l.obs : (i+1)*l.obs] {
			row[k] = unit[b]
		}
		return
	}
	copy(row, numbers[float32](from, 4*i*l.obs, l.obs))
}
