package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/optim"
)

// ScheduleConfig is the course of an agent's learning rates over a run; configurations of agents embed it. It applies
// to every optimizer of the agent, and multiplies rates that differ between members.
type ScheduleConfig struct {
	AnnealSteps int         `min:"0" doc:"Environment steps per member after which the learning rates have fallen to anneal_to; 0: they are constant."`
	Anneal      optim.Shape `doc:"Course of their fall: linear, cosine."`
	AnnealTo    float64     `min:"0" max:"1" doc:"Fraction of the learning rates that is left after anneal_steps."`
	WarmupSteps int         `min:"0" doc:"Environment steps per member over which the learning rates rise linearly from 0, before they fall; 0: none."`
}

// Schedule returns the course; configurations that embed it have the method.
func (c ScheduleConfig) Schedule() ScheduleConfig { return c }

// Validate checks constraints across fields.
func (c ScheduleConfig) Validate() error {
	switch {
	case c.AnnealSteps > 0 && c.WarmupSteps >= c.AnnealSteps:
		return config.Invalid("warmup_steps", "learning rates that rise for %d steps and have fallen after %d; want less than anneal_steps",
			c.WarmupSteps, c.AnnealSteps)
	case c.AnnealSteps == 0 && (c.Anneal != optim.LinearShape || c.AnnealTo != 0):
		return config.Invalid("anneal_steps", "a course of learning rates that are constant; want the steps over which they fall, or neither anneal nor anneal_to")
	}
	return nil
}

// rates are the learning rates of an agent as scheduled.
type rates struct {
	schedule  optim.Schedule
	clock     engine.Clock
	scope     *engine.State
	scheduled [][2]*engine.Tensor // [M]: the hyperparameter, and what it is now
}

// newRates makes the schedule of agents with a number of environments that each take a number of steps per iteration.
func newRates(s *engine.State, clock engine.Clock, c ScheduleConfig, environments, steps int) *rates {
	each := float64(environments)
	return &rates{clock: clock, scope: s.Sub("schedule"), schedule: optim.Schedule{
		Shape: c.Anneal, Warmup: float64(c.WarmupSteps) / each, Anneal: float64(c.AnnealSteps) / each, Final: c.AnnealTo, Steps: float64(steps),
	}}
}

// of returns what optimizers take for a learning rate [M]: the rate itself if it is constant.
func (s *rates) of(name string, rate *engine.Tensor) *engine.Tensor {
	if s.schedule.Constant() {
		return rate
	}
	now := s.scope.Scratch(name, engine.Float32, rate.Dims()...)
	s.scheduled = append(s.scheduled, [2]*engine.Tensor{rate, now})
	return now
}

// record records the rates of an iteration; it precedes the updates.
func (s *rates) record(r *engine.Recorder) {
	for _, rate := range s.scheduled {
		s.schedule.Record(r, s.clock, rate[0], rate[1])
	}
}
