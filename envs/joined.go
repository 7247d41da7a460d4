package envs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
)

// Joined is rollouts of equal parts of every member's environments, each with random numbers of its own, whose trajectories lie together as those of one
// rollout would. Who runs which part has no influence on the numbers.
type Joined struct {
	Trajectory // of all environments; nothing of a single part is copied
	parts      []*Rollout
	carried    [][]*engine.Tensor // of each part, see Carried
	finished   *engine.Tensor     // [4, M, E]
	from       [][]*engine.Tensor // what each part writes
	to         []*engine.Tensor   // the same of all
}

// NewJoined makes rollouts of parts of an environment. cfg has the environments of all parts together. One part is a rollout in s itself, with the numbers that
// it has alone.
//
// Errors: as NewRollout; a number of parts that does not divide the environments; environments that parts cannot have.
func NewJoined(ctx context.Context, s *engine.State, env *Environment, parts int, cfg RolloutConfig) (*Joined, error) {
	if err := env.CheckParts(parts, cfg.Environments); err != nil {
		return nil, fmt.Errorf("envs: %w", err)
	}
	j := &Joined{}
	of := cfg
	of.Environments = cfg.Environments / max(parts, 1)
	for i := range parts {
		before := len(s.Tensors())
		of.part = i
		ro, err := NewRollout(ctx, PartScope(s, parts, i), env, of)
		if err != nil {
			return nil, err
		}
		j.parts, j.carried = append(j.parts, ro), append(j.carried, s.Tensors()[before:])
		j.from = append(j.from, ro.Written())
	}
	if parts == 1 {
		j.Trajectory, j.finished = j.parts[0].Trajectory, j.parts[0].finished
		return j, s.Err()
	}
	j.join(s, parts)
	return j, s.Err()
}

// CheckParts returns an error if so many environments cannot be divided into parts with rollouts of their own.
func (e *Environment) CheckParts(parts, environments int) error {
	switch {
	case parts < 1 || environments%parts != 0:
		return fmt.Errorf("%d environments in %d parts; want a divisor of them", environments, parts)
	case parts > 1 && e.outside && e.Saved > 0:
		return fmt.Errorf("environments of %q in %d parts, of which checkpoints have %d bytes each; want one part, or a Spec with 0 Saved bytes",
			e.Name, parts, e.Saved)
	case parts > 1 && len(e.Sets) > 0:
		return fmt.Errorf("environments of %q in %d parts, which record what they meet together; want one part", e.Name, parts)
	case parts > 1 && e.Seats() > 1:
		return fmt.Errorf("environments of %q in %d parts, of several agents; want one part", e.Name, parts)
	}
	return nil
}

// PartScope returns the scope of a part's tensors and random numbers.
func PartScope(s *engine.State, parts, i int) *engine.State {
	if parts == 1 {
		return s
	}
	return s.Sub(fmt.Sprintf("part %d", i))
}

// join makes the tensors of all parts together.
func (j *Joined) join(s *engine.State, parts int) {
	first := j.parts[0]
	whole := func(t *engine.Tensor, name string) *engine.Tensor {
		if t == nil {
			return nil
		}
		dims := t.Dims()
		for i, d := range dims {
			if d.Name == engine.EnvironmentAxis {
				dims[i].Size *= parts
			}
		}
		of := s.Scratch(name, t.Type(), dims...)
		j.to = append(j.to, of)
		return of
	}
	t := &first.Trajectory // in the order of Rollout.Written
	j.finished = whole(first.finished, "finished")
	j.Trajectory = Trajectory{
		Obs: whole(t.Obs, "obs"), Action: whole(t.Action, "action"), LogProb: whole(t.LogProb, "log_prob"), Reward: whole(t.Reward, "reward"),
		Done: whole(t.Done, "done"), NextObs: whole(t.NextObs, "next_obs"), Actions: t.Actions, Space: t.Space, Memory: whole(t.Memory, "first_memory"),
	}
	j.Begins = t.Begins
	j.Begins.Words = whole(t.Begins.Words, "first_step")
}

// Written returns what a recording writes for those that learn from it: the episodes that ended (Finished), and of a trajectory the tensors that it has. All
// have the axis of environments.
func (ro *Rollout) Written() (all []*engine.Tensor) {
	t := &ro.Trajectory
	for _, of := range []*engine.Tensor{ro.finished, t.Obs, t.Action, t.LogProb, t.Reward, t.Done, t.NextObs, t.Memory, t.Begins.Words} {
		if of != nil {
			all = append(all, of)
		}
	}
	return all
}

// WriteVoid writes, instead of a recording, that no step is a transition and no episode has ended.
func (ro *Rollout) WriteVoid(ctx context.Context) error {
	if ro.Done == nil {
		return errors.New("envs: a rollout without a trajectory, which has no transitions: want RolloutConfig.Trajectory")
	}
	void := slices.Repeat([]uint32{uint32(Void)}, ro.Done.Len())
	return errors.Join(ro.finished.WriteBytes(ctx, make([]byte, 4*ro.finished.Len())), ro.Done.WriteUint32(ctx, void))
}

// Horizon returns the number of steps per recording.
func (j *Joined) Horizon() int { return j.parts[0].Horizon() }

// Parts returns the rollouts.
func (j *Joined) Parts() []*Rollout { return j.parts }

// Carried returns the saved tensors of a part: what it carries over from one recording to the next.
func (j *Joined) Carried(part int) []*engine.Tensor { return j.carried[part] }

// RecordReset records the start of the first episodes.
func (j *Joined) RecordReset(r *engine.Recorder) {
	for _, ro := range j.parts {
		ro.RecordReset(r)
	}
}

// Record records the steps of all parts, and joins what they write.
func (j *Joined) Record(r *engine.Recorder, clock engine.Clock, policy *Policy) {
	for _, ro := range j.parts {
		ro.Record(r, clock, policy)
	}
	j.Join(r)
}

// Join records joining what the parts have written.
func (j *Joined) Join(r *engine.Recorder) {
	for k, to := range j.to {
		_, all, inner, _ := to.Split(engine.EnvironmentAxis)
		stride, width := all*inner, all*inner/len(j.parts)
		for i := range j.parts {
			part := j.from[i][k]
			r.Dispatch(joinKernel{
				Part: part.Range(), Whole: to.Range(),
				Count: uint32(part.Len()), Width: uint32(width), Stride: uint32(stride), First: uint32(i * width), LocalSizeX: r.Workgroup(),
			}.call(r.Share(1, part.Len()), 1, 1))
		}
	}
}

// RecordReturns is Rollout.RecordReturns for all environments.
func (j *Joined) RecordReturns(r *engine.Recorder, returns, lengths *engine.Tensor) {
	recordReturns(r, j.finished, returns, lengths)
}

// RecordDiverged is Rollout.RecordDiverged for all environments.
func (j *Joined) RecordDiverged(r *engine.Recorder, count *engine.Tensor) {
	first := j.parts[0].cfg
	engine.Mean(r, count, j.finished.Index(3), nil, float32(first.Environments*max(first.Policies, 1)*len(j.parts)))
}
