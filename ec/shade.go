package ec

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// SHADEConfig are the settings of SHADE.
type SHADEConfig struct {
	Population int     `min:"3" max:"1048576" doc:"Candidates per generation, N; the archive holds as many that were replaced."`
	Memory     int     `min:"1" max:"65536" doc:"Entries of the memory of successful settings, H."`
	PBest      float64 `above:"0" max:"1" doc:"Largest fraction of the population from which pbest is drawn."`
	InitialStd float64 `min:"0" doc:"Deviation of the initial candidates from the start, without bounds."`
}

// DefaultSHADE has the paper's settings (section IV).
func DefaultSHADE() SHADEConfig {
	return SHADEConfig{Population: 100, Memory: 100, PBest: 0.2, InitialStd: 1}
}

// Name implements Algorithm.
func (c SHADEConfig) Name() string { return "shade" }

// history is what SHADE adds to differential evolution: R. Tanabe, A. Fukunaga, "Success-History Based Parameter
// Adaptation for Differential Evolution", 2013.
type history struct {
	memory       int
	pbest        float64
	weight, rate *engine.Tensor // [M, H]: M_F, M_CR
	state        *engine.Tensor // [M, 2] u32: position in the memory, total successes
	archive      *engine.Tensor // [M, N, row]
	archived     *engine.Tensor // [M] u32: candidates in the archive
	slot         *engine.Tensor // [M, N] u32
}

// New implements Algorithm: current-to-pbest/1/bin.
func (c SHADEConfig) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	d := newDE(DEConfig{Population: c.Population, Base: currentToPBest, Differences: 1, InitialStd: c.InitialStd}, s, clock, space)
	m, h, p := engine.Members(space.Members), engine.Axis("memory", c.Memory), candidates(c.Population)
	d.history = &history{
		memory: c.Memory, pbest: c.PBest, weight: s.Tensor("memory_weight", engine.Float32, m, h), rate: s.Tensor("memory_crossover_rate",
			engine.Float32, m, h),
		state: s.Tensor("memory_state", engine.Uint32, m, engine.Axis("count", 2)), archive: s.Tensor("archive", engine.Float32, d.rows.Dims()...),
		archived: s.Tensor("archived", engine.Uint32, m), slot: s.Scratch("slot", engine.Uint32, m, p),
	}
	d.weight, d.rate = d.history.weight, d.history.rate
	return d, s.Err()
}

// init fills the memory with 0.5 (section III-B).
func (h *history) init(ctx context.Context) error {
	return errors.Join(h.weight.Fill(ctx, 0.5), h.rate.Fill(ctx, 0.5))
}

// learn records the memory's update by successful candidates, before these replace others. Changed candidates
// (changed [M, N], may be nil) are ignored, as they carry no information about F and CR.
func (h *history) learn(r *engine.Recorder, d *de, changed *engine.Tensor) {
	k := shadeLearnKernel{
		Verdict: d.verdict.Range(), Gain: d.gain.Range(), Scale: d.scale.Range(), Clock: d.clock.Tensor().Range(), Weight: h.weight.Range(),
		Rate:  h.rate.Range(),
		State: h.state.Range(), Stored: h.archived.Range(), Slot: h.slot.Range(), Seed: r.Engine().Seed(), Stream: d.scope.Stream("archive"),
		Population: uint32(d.size), Memory: uint32(h.memory), Workgroup: r.WorkgroupFor(2 * d.size),
	}
	if changed != nil {
		k.Changed = changed.Range()
	}
	r.Dispatch(k.call(uint32(d.space.Members), 1, 1))
}
