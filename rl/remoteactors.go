package rl

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/envs"
)

// remoteActors fills the parts of a learner's rollouts with trajectories of actors on other devices and machines. An actor is told the weights, and the
// iteration in which a part of the environments acts with them. The trajectory comes back, with the state in which the environments are then. The learner keeps
// that: every other actor can go on from it, and the learner too, which acts what nobody has begun when it waits. Who acts has no influence on the numbers.
//
// With a lag, the weights of an iteration act in a later one: actors go on while the learner learns. A learner that waits for no slow actor (arrivals) takes
// the trajectories that come first instead; then the numbers depend on who acts. So they do where the state of environments cannot move (stays).
type remoteActors struct {
	learner apart
	of      *Collector
	stays   bool              // environments stay where they are (stayingparts.go)
	own     *place            // the learner's device, if environments stay
	acts    []*engine.Program // of each part, on the learner's device; nil: not recorded yet

	mu       sync.Mutex
	changed  chan struct{}            // closed at every change, and replaced
	run      int                      // counts the beginnings: results of earlier ones are dropped
	begun    bool                     // the parts have the states of this beginning
	before   int                      // steps of every environment before the first iteration
	weights  map[int]*behaviorWeights // by the iteration that acts with them
	parts    []*remotePart
	longest  time.Duration // that a part took lately
	patience time.Duration // see latePatience
	acted    []int         // parts that each of the engine's devices acted in the last iteration

	places []*place // other devices, and workers
	known  map[*cluster.Hand]bool
	failed []error // of places that are lost
	ctx    context.Context
	stop   context.CancelFunc
	all    sync.WaitGroup
}

// apart is a workflow that learns apart from its actors.
type apart interface {
	engine.Workflow
	collects() *Collector
	// again makes the workflow with another engine, to act or to compute gradients.
	again(ctx context.Context, eng *engine.Engine) (engine.Workflow, error)
}

// partTask is a part of the environments that is to act.
type partTask struct {
	run, part, iteration, steps int // steps: the clock's
	weights                     *behaviorWeights
	state                       [][]byte // nil: the place has it, or it stays where it is
	anew                        bool     // new episodes begin, in environments that stay where they are
	left                        []int    // parts whose environments the place has, and that others act now
}

// newRemoteActors makes actors on the engine's other devices, and lets workers of its crew act; nil: the engine has neither, or one part acts with the present
// weights, and the learner would only wait for it. A learner with arrivals has them on one device too, and acts itself.
func newRemoteActors(p apart, env *envs.Environment) *remoteActors {
	eng, c := p.State().Engine(), p.collects()
	n, alone := len(c.rollout.Parts()), len(eng.Devices()) == 1 && eng.Crew() == nil
	if (alone || n == 1 && c.lagged == nil) && c.arrivals == nil || env.SteppedByHost() && !env.KeepsEpisodes() || env.Seats() > 1 {
		return nil
	}
	a := &remoteActors{
		learner: p, of: c, acts: make([]*engine.Program, n), changed: make(chan struct{}), known: map[*cluster.Hand]bool{}, patience: latePatience,
		stays: env.KeepsEpisodes(), own: &place{},
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	for i, dev := range eng.Devices()[1:] {
		a.places = append(a.places, newDevicePlace(i+1, dev, p))
	}
	if crew := eng.Crew(); crew != nil {
		crew.Divided(n)
	}
	state := p.State()
	again := func(context.Context) error { a.reset(); return nil }
	state.OnZero(again)
	state.OnResume(again)
	state.OnInherit(func(r *engine.Recorder, _ *engine.Tensor) { a.recordReset(r) })
	state.OnClose(a.close)
	return a
}

// reset makes the actors begin anew from the learner's state.
func (a *remoteActors) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run, a.begun = a.run+1, false
	a.change()
}

// recordReset records that the actors begin anew, from members that became copies.
func (a *remoteActors) recordReset(r *engine.Recorder) {
	r.Host("actors begin anew", func(context.Context) error { a.reset(); return nil })
}

// change wakes all that wait.
func (a *remoteActors) change() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// wait waits, unlocked, until something has changed, or for a time.
func (a *remoteActors) wait(ctx context.Context, most time.Duration) error {
	changed, timer := a.changed, time.NewTimer(most)
	a.mu.Unlock()
	defer a.mu.Lock()
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// close ends the work of all places.
func (a *remoteActors) close() error {
	a.stop()
	a.all.Wait()
	for _, p := range a.acts {
		p.Free()
	}
	var errs []error
	for _, p := range a.places {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// collect fills the learner's rollouts with the trajectories of an iteration. It is a stage of the learner's program.
func (a *remoteActors) collect(ctx context.Context) error {
	iteration, steps, err := a.learner.Clock().Read(ctx)
	if err != nil {
		return err
	}
	if err := a.publish(ctx, iteration, steps); err != nil {
		return err
	}
	a.employ()
	if a.of.arrivals != nil {
		return a.collectFirst(ctx, iteration)
	}
	var results []*partResult
	_, err = a.await(ctx, iteration, func() bool {
		results = a.complete(iteration)
		return results != nil
	})
	if err != nil {
		return err
	}
	a.note(iteration, results)
	return errors.Join(a.settle(ctx, results), a.leaveOthers())
}

// await waits until the learner has enough for an iteration, and returns how long it did nothing: it acts what nobody has begun, and what is late.
func (a *remoteActors) await(ctx context.Context, iteration int, enough func() bool) (idle time.Duration, err error) {
	began := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for !enough() {
		patience := a.patience + lateFactor*a.longest - time.Since(began)
		t := a.take(nil, iteration, patience <= 0)
		if t == nil {
			since := time.Now()
			if err := a.wait(ctx, max(patience, time.Millisecond)); err != nil {
				return idle, err
			}
			idle += time.Since(since)
			continue
		}
		a.mu.Unlock()
		result, err := a.here(ctx, t)
		a.mu.Lock()
		if err != nil {
			return idle, err
		}
		a.done(t, result)
	}
	return idle, nil
}

// An actor that takes latePatience more than lateFactor times the longest that any has lately taken for a part is late: the learner acts for it, too.
const (
	latePatience = 15 * time.Second
	lateFactor   = 4
)

// complete takes what all parts did in an iteration; nil: some have not acted yet.
func (a *remoteActors) complete(iteration int) (results []*partResult) {
	for _, p := range a.parts {
		if p.next <= iteration {
			return nil
		}
	}
	for _, p := range a.parts {
		results = append(results, p.results[iteration])
		delete(p.results, iteration)
	}
	return results
}

// publish gives the present weights to those that act with them. At a beginning it also reads the past ones, and the states of the environments.
func (a *remoteActors) publish(ctx context.Context, iteration, steps int) error {
	a.mu.Lock()
	begun, version := a.begun, a.run<<32|iteration
	a.mu.Unlock()
	lag, past := 0, a.of.lagged
	learns, _ := actingTensors(a.of.acts())
	if past != nil {
		lag, learns = past.lag(), past.learns
	}
	all, err := readAll(ctx, learns)
	if err != nil {
		return err
	}
	weights := &behaviorWeights{version + lag, all}
	if begun {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.weights[iteration+lag] = weights
		delete(a.weights, iteration-1)
		if q := a.of.arrivals; q != nil {
			q.weights = weights
		}
		a.change()
		return nil
	}
	first := map[int]*behaviorWeights{iteration + lag: weights}
	for k := range lag {
		if all, err = readAll(ctx, past.of(k)); err != nil {
			return err
		}
		first[iteration+k] = &behaviorWeights{version + k, all}
	}
	parts, err := a.carried(ctx, iteration)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun, a.weights, a.parts, a.before = true, first, parts, steps-iteration*a.of.rollout.Horizon()
	if q := a.of.arrivals; q != nil {
		q.begin(weights, parts)
	}
	a.beginStaying()
	a.change()
	return nil
}

// carried returns the parts as the learner's tensors have them before an iteration.
func (a *remoteActors) carried(ctx context.Context, iteration int) (parts []*remotePart, err error) {
	next := slices.Repeat([]uint32{uint32(iteration)}, len(a.acts))
	if q := a.of.arrivals; q != nil {
		if next, err = q.rounds.ReadUint32(ctx); err != nil {
			return nil, err
		}
	}
	for i := range a.acts {
		state, err := readAll(ctx, a.of.rollout.Carried(i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, &remotePart{next: int(next[i]), held: -1, state: state, results: map[int]*partResult{}})
	}
	return parts, nil
}

// employ lets all places work that do not yet.
func (a *remoteActors) employ() {
	if crew := a.learner.State().Engine().Crew(); crew != nil {
		for _, h := range crew.Hands() {
			if !a.known[h] {
				a.known[h] = true
				a.places = append(a.places, newHandPlace(h))
			}
		}
	}
	for _, p := range a.places {
		if !p.works {
			p.works = true
			a.all.Go(func() { a.work(p) })
		}
	}
}

// work makes a place act as long as it can.
func (a *remoteActors) work(p *place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.ctx.Err() == nil {
		t := a.take(p, -1, false)
		if t == nil {
			_ = a.wait(a.ctx, time.Hour)
			continue
		}
		p.busy = true
		a.mu.Unlock()
		began := time.Now()
		result, err := p.act(a.ctx, t)
		if err != nil && a.stays {
			err = errors.Join(err, p.close()) // its environments end before others begin
		}
		a.mu.Lock()
		p.busy = false
		if err != nil {
			a.lose(p, t, err)
			return
		}
		result.by, result.took = p, time.Since(began)
		a.done(t, result)
	}
}

// lose notes that a place acts no more.
func (a *remoteActors) lose(p *place, t *partTask, err error) {
	p.lost = true
	if t.run == a.run && a.parts[t.part].next == t.iteration {
		a.parts[t.part].held = -1
	}
	a.abandon(p)
	if left := (*cluster.LeftError)(nil); a.ctx.Err() == nil && !errors.As(err, &left) { // the crew knows why its workers leave
		a.failed = append(a.failed, a.learner.State().Engine().Lost(&engine.LostError{Device: p.device, Name: p.name,
			What: "acts no more, and others act for it", Err: err}))
	}
	a.change()
}

// note tells who acted in an iteration, for those that look at the run.
func (a *remoteActors) note(iteration int, results []*partResult) {
	devices := len(a.learner.State().Engine().Devices())
	n, took, acted := map[*place]int{}, map[*place]time.Duration{}, make([]int, devices)
	for _, of := range results {
		n[of.by]++
		took[of.by] += of.took
	}
	acted[0] = n[nil]
	if crew := a.learner.State().Engine().Crew(); crew != nil {
		crew.Note(0, iteration, n[nil], took[nil])
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, p := range a.places {
		if i+1 < devices {
			acted[i+1] = n[p]
		}
		if !p.lost {
			p.note(iteration, n[p], took[p])
		}
	}
	a.acted = acted
}

// shares is Shared of the workflow.
func (a *remoteActors) shares() (parts int, done []int, lost []error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done = append(done, a.acted...); done == nil {
		done = make([]int, len(a.learner.State().Engine().Devices()))
	}
	return len(a.acts), done, slices.Clone(a.failed)
}
