package envs

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	episodes []hostedEpisode
	taken    int             // steps of the present recording
	limit    int             // steps of an episode; 0: no limit
	caps     []uint32        // by population; nil: none
	observe  func(int) error // called with the number of steps taken when the observations of each are there; nil: nobody looks

	observed                             *engine.Tensor // [M, E, O]: what to act on next
	chosen, arrived, final               *engine.Tensor // staging: actions [M, E, D], and observations [M, E, O] as of Step
	gain, sum, word, flags               *engine.Tensor // staging [M, E]: scaled reward, return, EpisodeWord, Done
	actions, obs, finals, gains, returns []float32      // the host's views of them
	words, done                          []uint32

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
	if ro.stepped != nil {
		h.observed = ro.stepped.observed
	} else { // all actions are random
		h.observed = s.Scratch("observed", engine.Float32, engine.Members(c.Members), engine.Environments(ro.places()), engine.Axis("feature", ro.env.ObsSize()))
	}
	staging := func(name string, typ engine.DType, width int) *engine.Tensor {
		return s.Staging("hosted/"+name, typ, engine.Members(c.Members), engine.Environments(ro.places()), engine.Axis("element", width))
	}
	o := ro.env.ObsSize()
	h.chosen = staging("action", engine.Float32, ro.env.ActionWords())
	h.arrived, h.final = staging("obs", engine.Float32, o), staging("final_obs", engine.Float32, o)
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
		h.taken = 0
		return h.in(h.begin(ctx, clock, begin, firstCandidate), "beginning")
	}))
	h.copies.recordSettle(r)
	r.Copy(h.observed, h.arrived)
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

// record records the actions of a part of the environments.
func (k hostedActKernel) record(r *engine.Recorder, i engine.Counter, of section) {
	size, groups := r.Invocations(of.count)
	k.Step, k.First, k.Count, k.LocalSizeX = i.Tensor().Range(), uint32(of.first), uint32(of.count), size
	r.Dispatch(k.call(groups, 1, 1))
}

// acting returns the kernel that draws the actions.
func (h *hosted) acting(r *engine.Recorder, clock *engine.Clock, policy *Policy, firstCandidate int) (hostedActKernel, error) {
	ro, c := h.ro, h.ro.cfg
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
		if policy.Rows != nil {
			return k, fmt.Errorf("envs: rows %v play in %q, which is stepped by the host; want the members' own", policy.Rows, ro.env.Name)
		}
		if err := policy.check(ro.env); err != nil {
			return k, err
		}
		if _, err := ro.network(policy, r.Engine().Device().Info()); err != nil { // checks the placement, and that there is a network
			return k, err
		}
		head = policy.Head
		k.Outputs, k.ParamsPeriod = ro.stepped.outputs.Range(), policy.owners()
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
	k := hostedKeepKernel{
		Arrived: h.arrived.Range(), Final: h.final.Range(), Gain: h.gain.Range(), Flags: h.flags.Range(), Word: h.word.Range(), Sum: h.sum.Range(),
		Step: i.Tensor().Range(), Observed: h.observed.Range(), EpisodeStep: ro.step.Range(), EpisodeReturn: ro.ret.Range(), Finished: ro.finished.Range(),
		Members: uint32(c.Members), Environments: uint32(ro.places()), Features: uint32(ro.env.ObsSize()), Share: uint32(ro.share()),
		ParamsPeriod: uint32(c.Members), Trajectory: c.Trajectory, First: uint32(of.first), Count: uint32(of.count), Behind: behind,
	}
	if ro.seen != nil {
		k.Seen = ro.seen.Range()
	}
	if policy != nil {
		k.ParamsPeriod = policy.owners()
	}
	if policy != nil && policy.Normalizer != nil && ro.seen != nil {
		k.Normalizer = policy.Normalizer.Range()
	}
	if c.Trajectory {
		k.Obs, k.Reward, k.Done, k.NextObs = ro.Obs.Range(), ro.Reward.Range(), ro.Done.Range(), ro.NextObs.Range()
	}
	size, groups := r.Invocations(of.count * ro.env.ObsSize())
	k.LocalSizeX = size
	r.Dispatch(k.call(groups, 1, 1))
}

// failing closes the stepper if a stage fails, so that a loaded state begins with another.
func (h *hosted) failing(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
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

// open makes the stepper, and the host's views of the staging memory.
func (h *hosted) open(ctx context.Context) (err error) {
	if h.taking != [2]*halfStep{} { // a run that ended within a step goes on
		if err := h.close(); err != nil {
			return err
		}
	}
	if h.stepper != nil {
		return nil
	}
	for _, view := range []struct {
		of *engine.Tensor
		to *[]float32
	}{{h.chosen, &h.actions}, {h.arrived, &h.obs}, {h.final, &h.finals}, {h.gain, &h.gains}, {h.sum, &h.returns}} {
		if *view.to, err = engine.Mapped[float32](view.of); err != nil {
			return err
		}
	}
	if h.words, err = engine.Mapped[uint32](h.word); err != nil {
		return err
	}
	if h.done, err = engine.Mapped[uint32](h.flags); err != nil {
		return err
	}
	if h.copies != nil {
		if h.copies.read, err = engine.Mapped[uint32](h.copies.found); err != nil {
			return err
		}
	}
	h.step.Action, h.step.Obs, h.step.Final = h.actions, h.obs, h.finals
	if h.stepper, err = h.ro.env.newStepper(ctx, len(h.episodes), h.arrived.Engine().Seed()); err == nil && h.stepper == nil {
		err = &engine.NilError{What: "stepper"}
	}
	if _, ok := h.stepper.(*worlds); ok && h.ro.env.Seats() > 1 {
		err = fmt.Errorf("a world of envs.Worlds has one agent, and the Spec has %d Agents; want an envs.Stepper that knows them", h.ro.env.Seats())
	}
	if err == nil && h.ro.env.Halves != AtOnce {
		err = h.halve(ctx)
	}
	if _, ok := h.stepper.(Saver); err == nil && h.saved != nil && !ok {
		err = fmt.Errorf("%T cannot be saved, and the Spec has %d Saved bytes; want an envs.Saver, or 0", h.stepper, h.ro.env.Saved)
	}
	return err
}

// begin begins new episodes, if that is asked for or there are none.
func (h *hosted) begin(ctx context.Context, clock *engine.Clock, anew bool, firstCandidate int) error {
	if err := h.open(ctx); err != nil {
		return err
	}
	ro := h.ro
	if ro.cap != nil {
		var err error
		if h.caps, err = ro.cap.ReadUint32(ctx); err != nil {
			return err
		}
	}
	if h.begun && !anew {
		return errors.Join(h.take(), h.copies.settle())
	}
	time := 0
	if clock != nil {
		var err error
		if _, time, err = clock.Read(ctx); err != nil {
			return err
		}
	}
	var skipped []uint32
	if ro.skip != nil {
		var err error
		if skipped, err = ro.skip.ReadUint32(ctx); err != nil {
			return err
		}
	}
	window, stride, first, step := ro.draws(firstCandidate)
	for i := range h.episodes {
		world := i / ro.env.Seats()
		member := uint32(world / ro.cfg.Environments)
		drawer := member/window*stride + (member%window+first)*step
		rng := engine.NewRng(h.arrived.Engine().Seed(), ro.stream, drawer, uint32(world%ro.cfg.Environments), uint32(time))
		h.seeds[i], h.renew[i], h.episodes[i] = rng.Uint32(), true, hostedEpisode{}
		if skipped != nil && skipped[member] != 0 {
			h.renew[i], h.episodes[i].done = false, Truncated // its steps come after the end: all are void
		}
	}
	if err := h.reset(ctx); err != nil {
		return err
	}
	if err := h.trySave(); err != nil {
		return err
	}
	for i, e := range h.episodes {
		h.words[i], h.returns[i] = e.word(), e.ret
	}
	h.begun = true
	return errors.Join(h.copies.settle(), h.flush(), h.look(0))
}

// reset begins new episodes in the environments of renew.
func (h *hosted) reset(ctx context.Context) error {
	if err := h.stepper.Reset(ctx, h.renew, h.seeds, h.obs); err != nil {
		return err
	}
	for i, begins := range h.renew {
		if !begins {
			continue
		}
		h.episodes[i].count = 1
		if !finite(h.row(h.obs, i)) {
			return h.infinite(i)
		}
	}
	clear(h.renew)
	return nil
}

func (h *hosted) infinite(i int) error {
	return &OutsideError{Environment: i, Err: fmt.Errorf("the first observation of an episode is not finite: %.100v", h.row(h.obs, i))}
}

// row returns environment i's observation.
func (h *hosted) row(of []float32, i int) []float32 {
	o := h.ro.env.ObsSize()
	return of[i*o : (i+1)*o]
}

// section is a part of the environments: so many from one on.
type section struct{ first, count int }

// whole are all environments.
func (h *hosted) whole() section { return section{0, len(h.episodes)} }

// advance takes a step, or ends the rollout if all episodes are over.
func (h *hosted) advance(ctx context.Context) error {
	if h.prepare(h.whole()) {
		return engine.ErrEndBlock
	}
	step := h.step
	if err := h.stepper.Step(ctx, &step); err != nil {
		return err
	}
	if err := step.checkSlices(&h.step); err != nil {
		return fmt.Errorf("%T: %w", h.stepper, err)
	}
	return h.finish(ctx, h.whole())
}

// places returns the number of a member's environments, each counted as often as it has seats.
func (ro *Rollout) places() int { return ro.cfg.Environments * ro.env.Seats() }

// over reports whether the episode of environment i's world is over: those of all its seats.
func (h *hosted) over(i int) bool {
	seats := h.ro.env.Seats()
	for _, e := range h.episodes[i/seats*seats : (i/seats+1)*seats] {
		if e.done == 0 {
			return false
		}
	}
	return true
}

// prepare makes a step ready, and reports whether all episodes of a part of the environments are over.
func (h *hosted) prepare(of section) (over bool) {
	over = true
	begins := false // a new episode of the world
	for i := of.first; i < of.first+of.count; i++ {
		if i%h.ro.env.Seats() == 0 {
			begins = !h.step.Stay && h.over(i)
		}
		e := &h.episodes[i]
		h.step.Idle[i] = e.done != 0 && !begins
		over = over && h.step.Idle[i]
		if !h.step.Idle[i] && e.done != 0 {
			*e = hostedEpisode{count: e.count}
		}
		most := h.limit
		if h.caps != nil {
			if most = h.cap(i); most == 0 || h.limit > 0 && h.limit < most {
				most = h.limit
			}
		}
		h.step.Last[i] = most > 0 && e.steps+1 >= most
		h.step.Terminated[i], h.step.Truncated[i] = false, false
		if h.clip(i) {
			e.ret = float32(math.NaN()) // environments would not notice outputs of a network that are not finite
		}
	}
	return over
}

// finish takes note of a step that a part of the environments have taken.
func (h *hosted) finish(ctx context.Context, of section) error {
	broken := false
	for i := of.first; i < of.first+of.count; i++ {
		h.settle(i)
	}
	for i := of.first; i < of.first+of.count; i++ {
		if h.renew[i] && h.ro.env.Seats() > 1 {
			h.endWorld(i)
		}
		broken = broken || h.renew[i] && !h.step.Stay
		if h.episodes[i].done != 0 && !h.step.Idle[i] && !finite(h.row(h.obs, i)) {
			return h.infinite(i)
		}
	}
	if broken {
		if err := h.reset(ctx); err != nil {
			return err
		}
	}
	return h.flush()
}

// cap returns the step at which environment i's episodes are cut off; 0: none.
func (h *hosted) cap(i int) int { return int(h.caps[i/h.ro.places()/h.ro.share()]) }

// clip moves environment i's action into the space, and reports whether it was not a number.
func (h *hosted) clip(i int) (broken bool) {
	space := h.ro.env.Action
	words := h.ro.env.ActionWords()
	for k := range words {
		a := &h.actions[i*words+k]
		low, high := float32(0), float32(space.N-1)
		if !space.IsDiscrete() {
			low, high = space.Low[k], space.High[k]
		}
		if *a != *a {
			broken = true
			*a, _ = space.scale(k)
		}
		*a = min(max(*a, low), high)
	}
	return broken && !h.step.Idle[i]
}

// settle takes note of what a step did in environment i.
func (h *hosted) settle(i int) {
	e := &h.episodes[i]
	h.renew[i] = false
	if h.step.Idle[i] {
		h.done[i], h.gains[i] = uint32(e.done|Void), 0
		return
	}
	reward, ended := h.step.Reward[i], h.step.Ended(i)
	last := h.row(h.obs, i)
	if ended {
		last = h.row(h.finals, i)
	}
	good := isFinite(reward) && finite(last)
	if !isFinite(reward) {
		reward = 0
	}
	e.steps++
	e.ret += reward
	e.done = 0
	if h.step.Terminated[i] || !good {
		e.done |= Terminated
	}
	if h.step.Truncated[i] || h.limit > 0 && e.steps >= h.limit {
		e.done |= Truncated
	}
	if h.caps != nil && e.done == 0 && h.cap(i) > 0 && e.steps >= h.cap(i) {
		e.done = Truncated
	}
	done := e.done
	if !good {
		done |= Diverged
		clear(h.row(h.finals, i))
		if !ended {
			h.renew[i] = true
			h.seeds[i] = engine.Philox([2]uint32{h.seeds[i], e.count}, [4]uint32{1})[0]
			clear(h.row(h.obs, i))
		}
	}
	if ended && h.step.Stay {
		copy(h.row(h.obs, i), h.row(h.finals, i))
		if h.ro.env.Seats() > 1 { // others may go on
			clear(h.row(h.obs, i))
		}
	} else if ended {
		e.count++ // the Stepper began the next one
	}
	h.done[i], h.gains[i], h.returns[i], h.words[i] = uint32(done), reward*h.ro.options.RewardScale, e.ret, e.word()
}

// endWorld ends the episodes of all seats of a world in which one has diverged and its Stepper does not know.
func (h *hosted) endWorld(i int) {
	seats := h.ro.env.Seats()
	for k := i / seats * seats; k < (i/seats+1)*seats; k++ {
		h.renew[k], h.seeds[k] = true, h.seeds[i]
		if e := &h.episodes[k]; e.done == 0 {
			e.done = Terminated
			h.done[k], h.words[k] = uint32(Terminated), e.word()
			copy(h.row(h.finals, k), h.row(h.obs, k))
		}
	}
}

// word packs an episode for the device.
func (e hostedEpisode) word() uint32 { return uint32(e.steps)&maxEpisodeSteps | uint32(e.done)<<30 }

// flush shows the device what the host wrote.
func (h *hosted) flush() error {
	var errs []error
	for _, t := range []*engine.Tensor{h.arrived, h.final, h.gain, h.sum, h.word, h.flags} {
		errs = append(errs, t.Flush())
	}
	return errors.Join(errs...)
}

// finite reports whether all numbers are finite.
func finite(row []float32) bool {
	var sum float32
	for _, v := range row {
		sum += v - v
	}
	return sum == 0
}
