package machines

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Calls, the last part of a subject.
const (
	callHello    = "hello"    // what is the run?
	callJoin     = "join"     // cluster.Link.Join
	callExchange = "exchange" // cluster.Link.Exchange
	callSync     = "sync"     // cluster.Link.Sync
	callNext     = "next"     // cluster.Jobs.Next
	callLeave    = "leave"    // cluster.Link.Leave
	callBeat     = "beat"     // a sign of life
	callPut      = "put"      // a part of a large request
	callPart     = "part"     // a part of a large reply
	callStatus   = "status"   // of anybody: what do the workers do?
	callEnd      = "end"      // of the host: the run has ended
	callCast     = "all.cast" // of the host: what all workers need, see casts
)

// request is the head of a worker's message.
type request struct {
	Worker  string
	Epoch   string // of the host with which it has joined; "": of none
	Attempt int    // number of its joining
	Digest  string // of the configuration that it has built

	Identity *Identity `json:",omitempty"` // of hello
	Cause    string    `json:",omitempty"` // of leave

	Step, Slices, Done int    `json:",omitempty"` // cluster.Report; of next, Done is the job's number
	State              string `json:",omitempty"`
	Held               []int  `json:",omitempty"`
	Early              bool   `json:",omitempty"`
	Result             bool   `json:",omitempty"` // the rest of the message is one
	Whole              bool   `json:",omitempty"` // the reply must have what was sent to all too, which has not come

	Offset int  `json:",omitempty"` // of put and part
	Size   int  `json:",omitempty"` // of what is put in parts
	Put    bool `json:",omitempty"` // the rest of the message was put before
	Serial int  `json:",omitempty"` // of the reply, of part
}

// reply is the head of the host's message.
type reply struct {
	Status string
	Epoch  string
	Text   string `json:",omitempty"` // of an error

	Hello  *Hello `json:",omitempty"`
	Step   int    `json:",omitempty"` // to next, the job's number
	Slice  int    `json:",omitempty"`
	Next   int    `json:",omitempty"` // cluster.Order
	Done   bool   `json:",omitempty"` // the step is complete
	Cast   bool   `json:",omitempty"` // the rest was sent to all
	Size   int    `json:",omitempty"` // of the rest of the message, which begins here and goes on in parts
	Serial int    `json:",omitempty"`
}

// States of a reply.
const (
	statusOK      = "ok"
	statusWait    = "wait"    // ask again
	statusEpoch   = "epoch"   // it is another session of the run: join it
	statusLeft    = "left"    // the worker was given up
	statusEnded   = "ended"   // the run is complete
	statusFailed  = "failed"  // the run has ended with an error
	statusRefused = "refused" // the worker cannot take part
	statusGone    = "gone"    // the part is of an older reply
)

// Hello describes a run to those who want to join it. What is not in the head of the message follows it.
type Hello struct {
	Seed       uint32
	Iterations int
	Loose      bool
	Digest     string // of the configuration
	Trace      string `json:",omitempty"` // of Run
	Whole      bool   `json:",omitempty"` // of Run
	Signer     string `json:",omitempty"` // the public key that has signed Config and Source for this session, which Link.Hello has checked; "": none
	Signature  []byte `json:",omitempty"`

	Config []byte `json:"-"`
	Source []byte `json:"-"` // the GLSL that Config names by env; empty: none

	run, epoch string
}

// Signed returns the public key that has signed the configuration of a whole run and its GLSL (Host.Sign); "": none has.
func (h *Hello) Signed(configuration, source, signature []byte) string {
	if h.Signer == "" || !signedBy(h.Signer, statement(h.run, h.epoch, configuration, source), signature) {
		return ""
	}
	return h.Signer
}

const (
	headRoom   = 4 << 10   // of a message, for its head
	maxText    = 1 << 10   // bytes of an error
	maxMessage = 512 << 20 // bytes; more are refused, so that a broken worker cannot exhaust the host
	maxName    = 200       // bytes of a worker's name
)

// encode puts a head before the rest of a message: its length in 4 bytes, JSON, the rest.
func encode(head any, rest []byte) []byte {
	text, err := json.Marshal(head)
	if err != nil {
		panic(err) // the heads have no values that JSON lacks
	}
	data := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)+len(rest)), uint32(len(text)))
	return append(append(data, text...), rest...)
}

// decode is the reverse of encode.
func decode(data []byte, head any) (rest []byte, err error) {
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return nil, fmt.Errorf("machines: a message of %d bytes without a head; want one of evorl", len(data))
	}
	n := 4 + int(binary.LittleEndian.Uint32(data))
	if err := json.Unmarshal(data[4:n], head); err != nil {
		return nil, fmt.Errorf("machines: the head of a message: %w", err)
	}
	return data[n:], nil
}

// joined encodes byte strings as one: their number, their lengths, and themselves.
func joined(all [][]byte) []byte {
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(all)))
	for _, of := range all {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(of)))
	}
	for _, of := range all {
		data = append(data, of...)
	}
	return data
}

// separated is the reverse of joined.
func separated(data []byte) ([][]byte, error) {
	wrong := fmt.Errorf("machines: results in %d bytes, which their lengths contradict", len(data))
	if len(data) < 4 {
		return nil, wrong
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if data = data[4:]; n > uint64(len(data))/4 {
		return nil, wrong
	}
	lengths, rest := data[:4*n], data[4*n:]
	all := make([][]byte, n)
	for i := range all {
		k := binary.LittleEndian.Uint32(lengths[4*i:])
		if uint64(k) > uint64(len(rest)) {
			return nil, wrong
		}
		all[i], rest = rest[:k:k], rest[k:]
	}
	if len(rest) > 0 {
		return nil, wrong
	}
	return all, nil
}

// cut shortens the text of an error to what a head has room for.
func cut(text string) string {
	if len(text) > maxText {
		return text[:maxText] + " …"
	}
	return text
}
