package vector

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// The protocol of Serve, version 1. All numbers are little-endian.
//
// The server begins with a line of JSON, Hello. Then it answers requests in order. A request is two u32, its command and its seed, and of CommandStep the
// actions: i32 [n] of a discrete environment, else f32 [n, D]. An answer is two u32, 0 and the bytes that follow, or 1 and the bytes of a text that says what
// was wrong with the request; the environments are then as they were. What follows:
//
//	CommandReset  observations f32 [n, O]
//	CommandStep   observations f32 [n, O], rewards f32 [n], flags u8 [n] (1 terminated, 2 truncated), and with SameStep for each environment whose episode
//	              ended its number, u32, and its last observation, f32 [O]
//
// The server ends with CommandClose, or when its input ends.
const (
	Version = 1

	CommandReset = 1
	CommandStep  = 2
	CommandClose = 3
)

// Hello is the first line of Serve.
type Hello struct {
	Protocol     string     `json:"protocol"` // evorl-vector
	Version      int        `json:"version"`
	Env          string     `json:"env"`
	Environments int        `json:"environments"`
	Autoreset    Autoreset  `json:"autoreset"`
	TimeLimit    int        `json:"time_limit"` // environment steps of an episode; -1: none
	ActionRepeat int        `json:"action_repeat"`
	Threshold    *float64   `json:"reward_threshold"` // mean return at which the environment counts as solved; null: none
	Observation  HelloSpace `json:"observation"`
	Action       HelloSpace `json:"action"`
}

// HelloSpace is a space: N choices, or a box.
type HelloSpace struct {
	N     int        `json:"n,omitempty"`
	Shape nn.Shape   `json:"shape,omitempty"`
	Low   []*float32 `json:"low,omitempty"` // one for each element, null: unbounded
	High  []*float32 `json:"high,omitempty"`
}

func helloSpace(s envs.Space) HelloSpace {
	if s.IsDiscrete() {
		return HelloSpace{N: s.N}
	}
	bounds := func(of []float32) (out []*float32) {
		for _, v := range of {
			bound := &v
			if math.IsInf(float64(v), 0) {
				bound = nil
			}
			out = append(out, bound)
		}
		return out
	}
	return HelloSpace{Shape: s.Shape(), Low: bounds(s.Low), High: bounds(s.High)}
}

// Serve answers the requests of a program. It returns nil when the program is done, and an error if the device failed or the program broke the protocol.
func (e *Environments) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	o := e.Options()
	hello := Hello{
		Protocol: "evorl-vector", Version: Version, Env: e.env.Name, Environments: e.n, Autoreset: e.mode, TimeLimit: o.TimeLimit, ActionRepeat: o.ActionRepeat,
		Threshold: e.env.RewardThreshold, Observation: helloSpace(e.env.Observation), Action: helloSpace(e.env.Action),
	}
	line, err := json.Marshal(hello)
	if err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return gone(err)
	}
	s := &served{Environments: e, in: bufio.NewReaderSize(in, 1<<16), actions: make([]byte, 4*e.n*e.env.ActionWords())}
	for {
		more, err := s.answer(ctx)
		if err != nil || !more {
			return err
		}
		if _, err := out.Write(s.out); err != nil {
			return gone(err)
		}
	}
}

// gone returns the error of a program that ended without CommandClose.
func gone(err error) error {
	return fmt.Errorf("vector: the program that steps the environments is gone: %w", err)
}

// served is a conversation.
type served struct {
	*Environments
	in      *bufio.Reader
	actions []byte
	out     []byte // the answer
}

// answer reads a request and makes the answer; more is false if the program is done.
func (s *served) answer(ctx context.Context) (more bool, err error) {
	var head [8]byte
	if _, err := io.ReadFull(s.in, head[:]); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, gone(err)
	}
	s.out = append(s.out[:0], make([]byte, 8)...)
	switch command := binary.LittleEndian.Uint32(head[:]); command {
	case CommandReset:
		obs, err := s.Reset(ctx, binary.LittleEndian.Uint32(head[4:]))
		if err != nil {
			return false, err
		}
		s.begun = true
		s.floats(obs)
	case CommandStep:
		if _, err := io.ReadFull(s.in, s.actions); err != nil {
			return false, gone(err)
		}
		wrong, err := s.stepped(ctx)
		if err != nil {
			return false, err
		}
		if wrong != "" {
			s.out = append(s.out, wrong...)
			binary.LittleEndian.PutUint32(s.out, 1)
		}
	case CommandClose:
		return false, nil
	default:
		return false, fmt.Errorf("vector: command %d; want %d to %d", command, CommandReset, CommandClose)
	}
	binary.LittleEndian.PutUint32(s.out[4:], uint32(len(s.out)-8))
	return true, nil
}

// stepped takes a step; wrong says what was wrong with the actions.
func (s *served) stepped(ctx context.Context) (wrong string, err error) {
	if !s.begun {
		return "a step before the first reset", nil
	}
	words := make([]uint32, len(s.actions)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(s.actions[4*i:])
	}
	var step Step
	if space := s.env.Action; space.IsDiscrete() {
		for i, a := range words {
			if a >= uint32(space.N) {
				return fmt.Sprintf("action %d of environment %d; want 0 to %d", int32(a), i, space.N-1), nil
			}
		}
		step, err = s.Step(ctx, words)
	} else {
		actions := make([]float32, len(words))
		for i, w := range words {
			if actions[i] = math.Float32frombits(w); actions[i]-actions[i] != 0 {
				return fmt.Sprintf("action %g of environment %d; want finite numbers", actions[i], i/space.Size()), nil
			}
		}
		step, err = s.StepContinuous(ctx, actions)
	}
	if err != nil {
		return "", err
	}
	s.floats(step.Obs)
	s.floats(step.Reward)
	for _, d := range step.Done {
		s.out = append(s.out, byte(d&(envs.Terminated|envs.Truncated)))
	}
	size := s.env.Observation.Size()
	for k, i := range step.Ended {
		s.out = binary.LittleEndian.AppendUint32(s.out, uint32(i))
		s.floats(step.Final[k*size:][:size])
	}
	return "", nil
}

func (s *served) floats(of []float32) {
	for _, v := range of {
		s.out = binary.LittleEndian.AppendUint32(s.out, math.Float32bits(v))
	}
}
