package envs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// hosted is the form of a rollout whose environments are stepped by the host. At each step the device evaluates the networks and draws
// actions, a host stage steps the environments, and the device keeps the transitions. What passes between them lies in memory that both see. The episode
// around the environments (time limit, returns, flags) is the host's, as shaders/envs/wrapper.glsl has it for the others.
type hosted struct {
	ro       *Rollout
	stepper  Stepper // nil: not yet made
	begun    bool    // the environments are in episodes
	fresh    bool    // the steps of the present recording, or of the next one if it had none, are the first in these episodes
	episodes []hostedEpisode
	taken    int             // steps of the present recording
	limit    int             // steps of an episode; 0: no limit
	caps     []uint32        // by population; nil: none
	observe  func(int) error // called with the number of steps taken when the observations of each are there; nil: nobody looks

	observed                *engine.Tensor // [M, E, O]: what to act on next; of frames, nil if nothing takes floats
	frames                  *frames        // nil: observations are floats that cross as they are
	chosen, arrived, final  *engine.Tensor // staging: actions [M, E, D], and observations [M, E, O] or frames as of Step
	gain, sum, word, flags  *engine.Tensor // staging [M, E]: scaled reward, return, EpisodeWord, Done
	actions, gains, returns []float32      // the host's views of them
	obs, finals             hostRows
	words, done             []uint32

	step   Step
	halved Halver         // the stepper, if the environments act in halves
	taking [2]*halfStep   // steps that halves are taking; nil: none
	ended  bool           // the present recording's episodes were over before its last step, which was taken in halves
	renew  []bool         // environments that diverged without knowing it
	seeds  []uint32       // of each one's last Reset
	saved  *engine.Tensor // [M, E, words] u32: of checkpoints, see hostedsave.go; nil: they do not contain the environments

	copies *hostedCopies // nil: the environments of copied members go on as they are
}

// hostedEpisode is the present episode of an environment.
type hostedEpisode struct {
	steps int
	ret   float32 // undiscounted sum of unscaled rewards
	done  Done    // flags of its last step
	count uint32  // episodes since the last Reset, with this one
}

// SteppedByHost reports whether other processes, or Go, step the environment (NewOutside).
func (e *Environment) SteppedByHost() bool { return e.outside }

// newHosted makes the form's tensors.
func newHosted(s *engine.State, ro *Rollout) (*hosted, error) {
	if m := ro.options.AutoReset; m != Normal && m != Disabled {
		return nil, fmt.Errorf("envs: auto-reset mode %v of %q, which is stepped by the host; want %v or %v", m, ro.env.Name, Normal, Disabled)
	}
	h := &hosted{ro: ro}
	if ro.options.TimeLimit != NoTimeLimit {
		h.limit = ro.options.TimeLimit
	}
	c := ro.cfg
	typ, width := engine.Float32, ro.env.ObsSize() // of observations
	switch {
	case ro.env.Framed:
		h.newFrames(s)
		typ, width = engine.Uint32, ro.env.FrameBytes()/4
	case ro.stepped != nil:
		h.observed = ro.stepped.observed
	default: // all actions are random
		h.observed = s.Scratch("observed", engine.Float32, engine.Members(c.Members), engine.Environments(ro.places()), engine.Axis("feature", ro.env.ObsSize()))
	}
	staging := func(name string, typ engine.DType, width int) *engine.Tensor {
		return s.Staging("hosted/"+name, typ, engine.Members(c.Members), engine.Environments(ro.places()), engine.Axis("element", width))
	}
	h.chosen = staging("action", engine.Float32, ro.env.ActionWords())
	h.arrived, h.final = staging("obs", typ, width), staging("final_obs", typ, width)
	h.gain, h.sum = staging("reward", engine.Float32, 1), staging("return", engine.Float32, 1)
	h.word, h.flags = staging("episode", engine.Uint32, 1), staging("done", engine.Uint32, 1)
	n := c.Members * ro.places()
	h.episodes, h.renew, h.seeds = make([]hostedEpisode, n), make([]bool, n), make([]uint32, n)
	h.step = Step{Last: make([]bool, n), Idle: make([]bool, n), Reward: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
		Stay: ro.options.AutoReset == Disabled}
	h.newSaved(s)
	s.OnClose(h.close)
	return h, nil
}

// close closes the stepper, if there is one.
func (h *hosted) close() error {
	s := h.stepper
	h.stepper, h.halved, h.begun, h.taking = nil, nil, false, [2]*halfStep{}
	if s == nil {
		return nil
	}
	return guarded(s.Close)
}

// record records the given number of steps, as Rollout.record does. clock is nil before its first tick.
func (h *hosted) record(r *engine.Recorder, clock *engine.Clock, policy *Policy, steps int, begin bool, firstCandidate int) {
	ro := h.ro
	act, err := h.acting(r, clock, policy, firstCandidate)
	if err != nil {
		r.Fail(err)
		return
	}
	h.copies.recordFind(r)
	r.Host("reset "+ro.env.Name, h.failing(func(ctx context.Context) error {
		h.fresh = h.fresh && h.taken == 0
		h.taken = 0
		return h.in(h.begin(ctx, clock, begin, firstCandidate), "beginning")
	}))
	h.copies.recordSettle(r)
	if h.frames != nil {
		h.beginFrames(r)
	} else {
		r.Copy(h.observed, h.arrived)
	}
	r.Copy(ro.step, h.word)
	r.Copy(ro.ret, h.sum)
	ro.stepped.remember(r, ro)
	r.Fill(ro.finished, 0)
	if ro.seen != nil {
		r.Fill(ro.seen, 0)
	}
	if ro.Done != nil && ro.options.AutoReset == Disabled {
		r.Fill(ro.Done, uint32(Truncated|Void)) // the rest, when all episodes are over
	}
	if steps == 0 {
		return
	}
	if ro.split > 0 {
		h.recordHalves(r, act, policy, steps)
		return
	}
	whole := h.whole()
	r.Repeat(steps, func(r *engine.Recorder, i engine.Counter) {
		if policy != nil {
			ro.stepped.evaluate(r, policy)
		}
		act.record(r, i, whole)
		r.Host("step "+ro.env.Name, h.failing(func(ctx context.Context) error {
			if err := h.advance(ctx); err != nil {
				return h.in(err, fmt.Sprintf("step %d of %d", h.taken+1, steps))
			}
			h.taken++
			return h.look(h.taken)
		}))
		h.keep(r, policy, i, whole, 0)
	})
}

// hostedActor is the kernel that draws actions, by how many logits or values they have.
type hostedActor interface {
	record(r *engine.Recorder, i engine.Counter, of section)
}

// record records the actions of a part of the environments.
func (k hostedActKernel) record(r *engine.Recorder, i engine.Counter, of section) {
	size, groups := r.Invocations(of.count)
	k.Step, k.First, k.Count, k.LocalSizeX = i.Tensor().Range(), uint32(of.first), uint32(of.count), size
	r.Dispatch(k.call(groups, 1, 1))
}

// acting returns the kernel that draws the actions.
func (h *hosted) acting(r *engine.Recorder, clock *engine.Clock, policy *Policy, firstCandidate int) (hostedActor, error) {
	ro, c := h.ro, h.ro.cfg
	if policy != nil {
		if policy.Rows != nil {
			return nil, fmt.Errorf("envs: rows %v play in %q, which is stepped by the host; want the members' own", policy.Rows, ro.env.Name)
		}
		if err := policy.check(ro.env); err != nil {
			return nil, err
		}
		if _, err := ro.network(policy, r.Engine().Device().Info()); err != nil { // checks the placement, and that there is a network
			return nil, err
		}
	}
	if h.inMemory(policy) {
		return h.actingLogits(r, clock, policy, firstCandidate), nil
	}
	k := hostedActKernel{
		ActionScale: ro.scale.Range(), Chosen: h.chosen.Range(), Members: uint32(c.Members), Environments: uint32(ro.places()),
		ParamsPeriod: uint32(c.Members), Seed: r.Engine().Seed(), ActionStream: ro.actionStream, Mode: c.Mode, Random: policy == nil, Trajectory: c.Trajectory,
	}
	k.DrawWindow, k.DrawStride, k.DrawFirst, k.DrawStep = ro.draws(firstCandidate)
	if clock != nil {
		k.Clock = clock.Tensor().Range()
	}
	if c.Trajectory {
		k.Action, k.LogProb, k.Applied = ro.Action.Range(), ro.LogProb.Range(), c.Actions == Applied
	}
	head := ro.env.Action.Head()
	if policy != nil {
		var by *engine.Tensor
		by, head = ro.stepped.chosenBy(policy)
		k.Outputs, k.ParamsPeriod = by.Range(), policy.owners()
		k.Params, k.Row, k.HeadBase = policy.head()
		if head.Noise != nil {
			k.Noise = head.Noise.Range()
		}
	}
	k.setHead(head)
	return k, nil
}

// setHead sets the head's constants.
func (k *hostedActKernel) setHead(head nn.Head) {
	h := head.Constants()
	k.Out, k.Head, k.HeadWidth, k.Squash, k.Explore = uint32(head.Outputs()), h.Head, h.HeadWidth, h.Squash, h.Explore
	k.LogStdLow, k.LogStdHigh, k.NoiseLimit = h.LogStdLow, h.LogStdHigh, h.NoiseLimit
	k.HeadAtoms, k.HeadDueling = h.HeadAtoms, h.HeadDueling
}

// keep records what follows a step of a part of the environments, which is so many steps behind the counter.
func (h *hosted) keep(r *engine.Recorder, policy *Policy, i engine.Counter, of section, behind uint32) {
	ro, c := h.ro, h.ro.cfg
	features := ro.env.ObsSize()
	k := hostedKeepKernel{
		Gain: h.gain.Range(), Flags: h.flags.Range(), Word: h.word.Range(), Sum: h.sum.Range(), Step: i.Tensor().Range(),
		EpisodeStep: ro.step.Range(), EpisodeReturn: ro.ret.Range(), Finished: ro.finished.Range(),
		Members: uint32(c.Members), Environments: uint32(ro.places()), Share: uint32(ro.share()),
		ParamsPeriod: uint32(c.Members), Trajectory: c.Trajectory, First: uint32(of.first), Count: uint32(of.count), Behind: behind,
	}
	if c.Trajectory {
		k.Reward, k.Done = ro.Reward.Range(), ro.Done.Range()
	}
	if h.frames != nil {
		h.keepFrames(r, policy, i, of, behind)
		features, k.ObservationsApart = 1, true
	} else {
		k.Arrived, k.Final, k.Observed = h.arrived.Range(), h.final.Range(), h.observed.Range()
		if ro.seen != nil {
			k.Seen = ro.seen.Range()
		}
		if c.Trajectory {
			k.Obs, k.NextObs = ro.Obs.Range(), ro.NextObs.Range()
		}
	}
	k.Features = uint32(features)
	if policy != nil {
		k.ParamsPeriod = policy.owners()
	}
	if policy != nil && policy.Normalizer != nil && ro.seen != nil && h.frames == nil {
		k.Normalizer = policy.Normalizer.Range()
	}
	size, groups := r.Invocations(of.count * features)
	k.LocalSizeX = size
	r.Dispatch(k.call(groups, 1, 1))
}

// failing closes the stepper if a stage fails, so that a loaded state begins with another. On a device that computes nothing, environments take no steps.
func (h *hosted) failing(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if h.arrived.Engine().Device().Imitates() {
			return nil
		}
		defer h.expect(ctx)()
		err := guarded(func() error { return f(ctx) })
		if err == nil || errors.Is(err, engine.ErrEndBlock) {
			return err
		}
		return errors.Join(fmt.Errorf("envs: %q: %w", h.ro.env.Name, err), h.close())
	}
}

// expect warns if a Stepper does not return soon after its context has ended, until its result is called.
func (h *hosted) expect(ctx context.Context) (returned func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(hangs):
			h.arrived.Engine().Logger().Warn("the environments do not return although their context has ended", "environment", h.ro.env.Name)
		}
	})
	return func() {
		close(done)
		stop()
	}
}

// hangs is how long after its context a Stepper returns at the latest.
const hangs = 2 * time.Second

// look shows the environments to whoever observes.
func (h *hosted) look(taken int) error {
	if h.observe == nil {
		return nil
	}
	return h.observe(taken)
}
