package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Version is the version of the protocol. A server of another one is refused.
const Version = 1

// protocol is what a server's first line calls the protocol.
const protocol = "evorl-bridge"

// Hello is the line of JSON with which a server begins: what it steps.
type Hello struct {
	Protocol        string   `json:"protocol"` // "evorl-bridge"
	Version         int      `json:"version"`
	By              string   `json:"by,omitempty"` // program and versions, for people
	Observation     Space    `json:"observation"`
	Action          Space    `json:"action"`
	Agents          int      `json:"agents,omitempty"`           // of a world; observations and actions are those of one. 0: one
	MaxSteps        int      `json:"max_steps,omitempty"`        // of an episode; 0: the configuration has a time limit
	RewardThreshold *float64 `json:"reward_threshold,omitempty"` // mean return that counts as solved

	// Stack is how many newest observations of bytes evorl stacks along the last axis, so that agents observe them; 0: 1. Config.Stack comes before it.
	Stack int `json:"stack,omitempty"`
	// SignRewards makes agents learn from the signs of rewards.
	SignRewards bool `json:"sign_rewards,omitempty"`
}

// Space is a space of observations or actions: a discrete one of N elements, or a box.
type Space struct {
	N     int        `json:"n,omitempty"`
	Type  string     `json:"type,omitempty"`  // of a box: "float32" (default), or "uint8" of observations: 255 is 1.0 in evorl
	Shape []int      `json:"shape,omitempty"` // of a box
	Low   []*float64 `json:"low,omitempty"`   // inclusive bounds, one or one for each element; null or none: unbounded
	High  []*float64 `json:"high,omitempty"`
}

// mostElements bounds the elements of an observation or an action.
const mostElements = 1 << 24

// parseHello reads a server's first line.
func parseHello(line []byte) (*Hello, error) {
	h := &Hello{}
	if err := json.Unmarshal(line, h); err != nil || h.Protocol != protocol {
		return nil, fmt.Errorf("it begins with %.100q; want a line of JSON with \"protocol\": %q, see docs/bridge.md", line, protocol)
	}
	if h.Version != Version {
		return nil, fmt.Errorf("it speaks version %d of the bridge's protocol; want version %d, see docs/bridge.md", h.Version, Version)
	}
	for _, of := range [][]*float64{h.Observation.Low, h.Observation.High, h.Action.Low, h.Action.High} {
		for _, bound := range of {
			if bound != nil && *bound == 0 {
				*bound = 0 // LunarLander-v3 has -0, which is another text
			}
		}
	}
	return h, nil
}

// seats returns the number of agents of a world.
func (h *Hello) seats() int { return max(1, h.Agents) }

// same reports whether two servers step the same: everything but what they are made by.
func (h *Hello) same(other *Hello) bool {
	a, b := *h, *other
	a.By, b.By = "", ""
	x, err := json.Marshal(a)
	y, e := json.Marshal(b)
	return err == nil && e == nil && string(x) == string(y)
}

// text is the Hello as JSON.
func (h *Hello) text() string {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // a struct of numbers that were parsed from JSON
	}
	return string(text)
}

// stacked returns the number of frames of an observation, of which a configuration may give another one than the server.
func (h *Hello) stacked(given int) (int, error) {
	k := given
	if k == 0 {
		k = h.Stack
	}
	if k > 1 && !h.Observation.bytes() {
		return 0, fmt.Errorf("a stack of %d observations of float32; want uint8, or [bridge] stack = 1", k)
	}
	return k, nil
}

// spec describes the environment of a name, whose observations are as many as stack stacked; 0: as the server has it.
func (h *Hello) spec(name string, stack int) (envs.Spec, error) {
	spec := envs.Spec{
		Name: name, Summary: "an environment outside of evorl", Source: h.By,
		MaxSteps: h.MaxSteps, RewardThreshold: h.RewardThreshold, Agents: h.Agents, SignRewards: h.SignRewards, Framed: h.Observation.bytes(),
	}
	stack, err := h.stacked(stack)
	if err != nil {
		return spec, err
	}
	obs, err := h.Observation.box()
	switch shape := h.Observation.Shape; {
	case h.Observation.N != 0:
		err = errors.New("it is discrete; want a box, such as a one-hot vector")
	case err != nil:
	case h.Observation.bytes():
		obs = envs.Image(1, 1, len(obs.Low)*max(stack, 1))
		if obs.Axes, obs.Element = axes(shape), nn.Bytes; stack > 1 {
			if obs.Frames = stack; obs.Axes != nil {
				obs.Axes[len(obs.Axes)-1] *= stack
			}
		}
	default:
		obs.Axes = axes(shape)
		for i := range obs.Low { // bounds only inform; constants are allowed
			if !(obs.Low[i] < obs.High[i]) {
				obs.Low[i], obs.High[i] = float32(math.Inf(-1)), float32(math.Inf(1))
			}
		}
	}
	if err != nil {
		return spec, fmt.Errorf("the server's observation space: %w", err)
	}
	spec.Observation = obs
	if n := h.Action.N; n > 0 {
		spec.Action = envs.Discrete(n)
		return spec, nil
	}
	if spec.Action, err = h.Action.box(); err == nil && h.Action.bytes() {
		err = errors.New("its elements are uint8; want float32")
	}
	if err != nil {
		return spec, fmt.Errorf("the server's action space: %w", err)
	}
	return spec, nil
}

// axes returns the shape of a space of envs: nil of a vector, with a channel for images without.
func axes(shape []int) nn.Shape {
	switch len(shape) {
	case 0, 1:
		return nil
	case 2:
		return nn.Shape{shape[0], shape[1], 1}
	}
	return slices.Clone(shape)
}

func (s Space) bytes() bool { return s.Type == "uint8" }

// size returns the number of elements of a box, or 1 of a discrete space.
func (s Space) size() int {
	size := 1
	for _, n := range s.Shape {
		size *= n
	}
	return size
}

// box returns a box's space.
func (s Space) box() (envs.Space, error) {
	if s.Type != "" && s.Type != "float32" && s.Type != "uint8" {
		return envs.Space{}, fmt.Errorf("its type is %q; want float32 or uint8", s.Type)
	}
	size := 1
	for _, n := range s.Shape {
		if n < 1 || size > mostElements/n {
			return envs.Space{}, fmt.Errorf("its shape is %v; want 1 to %d elements", s.Shape, mostElements)
		}
		size *= n
	}
	if s.Shape == nil || s.N < 0 {
		return envs.Space{}, errors.New("it has neither \"n\" nor \"shape\"; want one of them")
	}
	low, err := bounds(s.Low, size, float32(math.Inf(-1)))
	high, e := bounds(s.High, size, float32(math.Inf(1)))
	return envs.Box(low, high), errors.Join(err, e)
}

// bounds returns the bounds of size elements.
func bounds(given []*float64, size int, none float32) ([]float32, error) {
	if n := len(given); n > 1 && n != size {
		return nil, fmt.Errorf("it has %d bounds for %d elements; want one, or one for each", n, size)
	}
	out := make([]float32, size)
	for i := range out {
		out[i] = none
		if len(given) > 0 {
			if of := given[min(i, len(given)-1)]; of != nil {
				out[i] = float32(*of)
			}
		}
	}
	return out, nil
}
