package cmd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
)

// The protocol of evorl serve --shared, version 1: docs/serve.md.
const (
	sharedProtocol = "evorl-shared"
	sharedVersion  = 1
	sharedMessage  = 8    // bytes of a request and of an answer: two u32
	sharedFault    = 4096 // bytes of the text that says what was wrong with a request
	sharedAlign    = 64   // of the arrays
	maxShared      = 1 << 16
)

// sharedSpec is the first line of evorl serve --shared: the spec of the policy, and where in the file is what.
type sharedSpec struct {
	evorl.ServedSpec
	MaxBatch    int `json:"max_batch,omitempty"` // limits of HTTP, which are not sent
	MaxBytes    int `json:"max_bytes,omitempty"`
	MaxSessions int `json:"max_sessions,omitempty"`
	IdleSeconds int `json:"idle_seconds,omitempty"`

	File    string `json:"file"`
	Size    int    `json:"size"`
	Rows    int    `json:"rows"`
	Begins  int    `json:"begins"`  // u8 [rows]
	Obs     int    `json:"obs"`     // f32 [rows, elements]
	Actions int    `json:"actions"` // i32 [rows] of discrete actions, else f32 [rows, elements]
	Fault   int    `json:"fault"`   // text, ended by a zero byte
}

// sharedPolicy acts in rows of memory that another program has mapped, too. Each row is an environment, with what the policy remembers of it.
type sharedPolicy struct {
	actor    *evorl.Actor
	spec     sharedSpec
	bytes    []byte
	discrete bool
	width    int         // elements of an action
	memory   [][]float64 // of each row
	rngs     []*rand.Rand
}

// newSharedPolicy lays out the memory; spec is of the policy's server.
func newSharedPolicy(p *evorl.Policy, spec evorl.ServedSpec, rows int) (*sharedPolicy, error) {
	actor, err := p.Actor()
	if err != nil {
		return nil, err
	}
	s := &sharedPolicy{actor: actor, discrete: p.Action.Discrete, width: 1, spec: sharedSpec{ServedSpec: spec, Rows: rows}}
	if !s.discrete {
		s.width = p.Action.Size
	}
	s.spec.Protocol, s.spec.Version = sharedProtocol, sharedVersion
	place := func(at *int, size int) {
		*at = s.spec.Size
		s.spec.Size += (size + sharedAlign - 1) / sharedAlign * sharedAlign
	}
	place(&s.spec.Begins, rows)
	place(&s.spec.Obs, 4*rows*actor.Observations())
	place(&s.spec.Actions, 4*rows*s.width)
	place(&s.spec.Fault, sharedFault)
	s.memory = make([][]float64, rows)
	for i := range s.memory {
		s.memory[i] = make([]float64, actor.Memory())
		if spec.Draw {
			s.rngs = append(s.rngs, rand.New(rand.NewPCG(rand.Uint64(), uint64(i))))
		}
	}
	return s, nil
}

// act acts in the first n rows. Rows and what is remembered of them change only if there is an action for all.
func (s *sharedPolicy) act(n int) error {
	if n < 1 || n > s.spec.Rows {
		return fmt.Errorf("actions for %d rows; want 1 to %d", n, s.spec.Rows)
	}
	obs, next, actions := make([]float32, s.actor.Observations()), make([][]float64, n), make([][]float32, n)
	for i := range n {
		for k := range obs {
			obs[k] = math.Float32frombits(binary.LittleEndian.Uint32(s.bytes[s.spec.Obs+4*(i*len(obs)+k):]))
		}
		next[i] = make([]float64, s.actor.Memory())
		if s.bytes[s.spec.Begins+i] == 0 {
			copy(next[i], s.memory[i])
		}
		var rng *rand.Rand
		if s.rngs != nil {
			rng = s.rngs[i]
		}
		var err error
		if actions[i], err = s.actor.Act(obs, next[i], rng); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		for _, v := range actions[i] {
			if v-v != 0 {
				return fmt.Errorf("row %d: the policy's action is %g", i, v)
			}
		}
	}
	for i, action := range actions {
		s.memory[i], s.bytes[s.spec.Begins+i] = next[i], 0
		for k, v := range action {
			word := math.Float32bits(v)
			if s.discrete {
				word = uint32(int32(v))
			}
			binary.LittleEndian.PutUint32(s.bytes[s.spec.Actions+4*(i*s.width+k):], word)
		}
	}
	return nil
}

// serve answers requests until they end. first is called at the first one: the other program has mapped the file then.
func (s *sharedPolicy) serve(in io.Reader, out io.Writer, first func() error) error {
	var message [sharedMessage]byte
	for {
		if _, err := io.ReadFull(in, message[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("serve --shared: a request: %w", err)
		}
		if first != nil {
			if err := first(); err != nil {
				return err
			}
			first = nil
		}
		status := uint32(0)
		if err := s.act(int(min(binary.LittleEndian.Uint32(message[4:]), maxShared+1))); err != nil {
			status = 1
			text := err.Error()
			text = text[:min(len(text), sharedFault-1)]
			copy(s.bytes[s.spec.Fault:], text+"\x00")
		}
		binary.LittleEndian.PutUint32(message[4:], status)
		if _, err := out.Write(message[:]); err != nil {
			return fmt.Errorf("serve --shared: the program that was answered is gone: %w", err)
		}
	}
}

// runShared serves a policy to the program that began this one.
func (f *serveFlags) runShared(cmd *cobra.Command, path string) error {
	for _, name := range []string{"host", "port", "expose"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is of HTTP; with --shared want none", name)
		}
	}
	if f.shared < 1 || f.shared > maxShared {
		return usagef("--shared %d: want 1 to %d rows", f.shared, maxShared)
	}
	if err := f.checkEpisodes(cmd); err != nil {
		return err
	}
	p, handler, err := f.policy(cmd, path)
	if err != nil {
		return err
	}
	s, err := newSharedPolicy(p, handler.Spec(), f.shared)
	if err != nil {
		return err
	}
	if err := s.share(); err != nil {
		return fmt.Errorf("serve --shared: %w", err)
	}
	remove := func() error { return os.Remove(s.spec.File) }
	defer func() { _ = remove() }() // if nothing was asked
	line, err := json.Marshal(s.spec)
	if err != nil {
		return err
	}
	if _, err := cmd.OutOrStdout().Write(append(line, '\n')); err != nil {
		return fmt.Errorf("serve --shared: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.serve(cmd.InOrStdin(), cmd.OutOrStdout(), remove) }()
	select {
	case err := <-ended:
		return err
	case <-cmd.Context().Done():
		return nil
	}
}
