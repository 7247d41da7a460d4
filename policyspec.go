package evorl

import (
	"math"
	"net/http"
	"time"

	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/rundir"
)

// ServedSpec is the answer to GET /spec.
type ServedSpec struct {
	Protocol string `json:"protocol"` // evorl-serve
	Version  int    `json:"version"`  // of the protocol, 1
	Evorl    string `json:"evorl"`    // version of the program

	Workflow  string `json:"workflow"`
	Env       string `json:"env"`
	Iteration int    `json:"iteration"`
	Member    int    `json:"member"`
	Digest    string `json:"digest"` // of the checkpoint

	TimeLimit    int `json:"time_limit"`    // environment steps of an episode; 0: the environment's own
	ActionRepeat int `json:"action_repeat"` // environment steps for which an action is repeated

	Observation PolicySpace `json:"observation"`
	Action      ServedSpace `json:"action"`
	Memory      int         `json:"memory"` // floats that a session keeps for each environment; 0: sessions are not needed
	Draws       bool        `json:"draws"`  // whether actions can be drawn
	Draw        bool        `json:"draw"`   // whether they are where a request does not say

	MaxBatch    int   `json:"max_batch"`
	MaxBytes    int64 `json:"max_bytes"`
	MaxSessions int   `json:"max_sessions"`
	IdleSeconds int   `json:"idle_seconds"`
}

// ServedSpace is the space of actions: N choices, or a box.
type ServedSpace struct {
	N     int      `json:"n,omitempty"`
	Shape nn.Shape `json:"shape,omitempty"`
	Low   []Number `json:"low,omitempty"` // one bound, or one for each element; null: unbounded
	High  []Number `json:"high,omitempty"`
}

// Spec returns the answer to GET /spec.
func (s *PolicyServer) Spec() ServedSpec {
	p, unbounded := s.actor.policy, Number(math.Inf(1))
	spec := ServedSpec{
		Protocol: "evorl-serve", Version: 1, Evorl: rundir.Version(), Workflow: p.Workflow, Env: p.Env, Iteration: p.Iteration, Member: p.Member,
		Digest: p.Digest, TimeLimit: p.TimeLimit, ActionRepeat: p.ActionRepeat,
		Observation: PolicySpace{Shape: s.shape, Low: []Number{-unbounded}, High: []Number{unbounded}},
		Memory:      s.actor.Memory(), Draws: s.actor.Draws(), Draw: s.config.Draw,
		MaxBatch: s.config.MaxBatch, MaxBytes: s.config.MaxBytes, MaxSessions: s.config.MaxSessions, IdleSeconds: int(s.config.Idle / time.Second),
	}
	if p.Space != nil {
		spec.Observation = *p.Space
	}
	if a := p.Action; a.Discrete {
		spec.Action.N = a.Size
	} else {
		spec.Action = ServedSpace{Shape: nn.Shape{a.Size}, Low: compact(a.Low), High: compact(a.High)}
	}
	return spec
}

func (s *PolicyServer) spec(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, s.Spec())
}
