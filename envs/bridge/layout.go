package bridge

import (
	"encoding/binary"
	"fmt"
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
	atSecond    = 80  // number of the first environment of half 1
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

// portion is the environments of a server, in one or two halves. Each agent of a world counts as an environment; those of one world follow each other.
type portion struct {
	seats        int    // agents of a world
	first, count [2]int // of each half: the number of its first environment among all that are stepped together, and how many it has; half 1 may have none
	turn         [2]int // half of the stepper's environments to which those of a half belong, if they take steps in turns
}

// all returns the number of environments.
func (p portion) all() int { return p.count[0] + p.count[1] }

// number returns the number among all of the server's environment i.
func (p portion) number(i int) int {
	if i < p.count[0] {
		return p.first[0] + i
	}
	return p.first[1] + i - p.count[0]
}

// String says which worlds they are.
func (p portion) String() string {
	seats := max(1, p.seats)
	text := func(first, count int) string { return fmt.Sprintf("%d to %d", first/seats, (first+count)/seats-1) }
	part := func(h int) string { return text(p.first[h], p.count[h]) }
	switch {
	case p.count[1] == 0:
		return part(0)
	case p.first[1] == p.first[0]+p.count[0]:
		return text(p.first[0], p.all())
	}
	return part(0) + " and " + part(1)
}

// of makes a portion of worlds one of their agents.
func (p portion) of(seats int) portion {
	for h := range 2 {
		p.first[h], p.count[h] = p.first[h]*seats, p.count[h]*seats
	}
	p.seats = seats
	return p
}

// share returns what server k of so many has of n environments, in one or two halves of its own; 0: two.
func share(k, servers, n, halves int) portion {
	first, end := k*n/servers, (k+1)*n/servers
	p := portion{first: [2]int{first, end}, count: [2]int{end - first, 0}}
	if halves != 1 && end-first > 1 {
		half := (end - first + 1) / 2
		p.first[1], p.count = first+half, [2]int{half, end - first - half}
	}
	return p
}

// shareHalves returns what server k of so many has of n environments of which the first split take turns with the others: a part of both or, if there are
// too few for that, of one.
func shareHalves(k, servers, n, split int) portion {
	if min(split, n-split) >= servers {
		a, b := share(k, servers, split, 1), share(k, servers, n-split, 1)
		return portion{first: [2]int{a.first[0], split + b.first[0]}, count: [2]int{a.count[0], b.count[0]}, turn: [2]int{0, 1}}
	}
	before := min(max(1, servers*split/n), split, servers-1) // servers of the first half
	before = max(before, servers-(n-split))
	if k < before {
		return share(k, before, split, 1)
	}
	p := share(k-before, servers-before, n-split, 1)
	p.first[0], p.first[1], p.turn = p.first[0]+split, p.first[1]+split, [2]int{1, 1}
	return p
}

// layout is where a server's n environments have what in the shared memory.
type layout struct {
	portion
	n, split          int // environments, and those of the first half
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
	first, n, turn                                                  int // as portion has them
	command, seed, action, reward, ended, status, obs, final, fault int
}

// newLayout lays out a server's environments.
func newLayout(h *Hello, of portion) layout {
	l := layout{portion: of, n: of.all(), split: of.count[0], obs: h.Observation.size(), obsWidth: 4, words: h.Action.size(), discrete: h.Action.N > 0}
	if l.observationsBytes = h.Observation.bytes(); l.observationsBytes {
		l.obsWidth = 1
	}
	if l.discrete {
		l.words = 1
	}
	at := headerBytes
	for i, size := range of.count {
		if size == 0 {
			continue
		}
		l.table[i] = at
		at += tableBytes
		half := halfLayout{first: of.first[i], n: size, turn: of.turn[i]}
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
	u32(atFirst, l.first[0])
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
	u32(atSecond, l.first[1])
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

// observation returns environment i's observation, of a half's array.
func (l layout) observation(from []byte, i int) []byte {
	size := l.obs * l.obsWidth
	return from[i*size : (i+1)*size]
}
