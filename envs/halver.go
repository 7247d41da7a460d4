package envs

import "context"

// Halving is whether environments that the host steps act in halves.
type Halving uint8

const (
	// AtOnce steps all environments at once.
	AtOnce Halving = iota
	// HalvesOnGPU steps them in halves if the device is a GPU. On a software driver device and environments share the processors, so that the
	// additional submissions cost more than working at once saves.
	HalvesOnGPU
	// InHalves steps them in halves if a rollout has enough of them.
	InHalves
)

// Halver is a Stepper that steps its environments in two halves, each while the device acts in the other one (Spec.Halves).
type Halver interface {
	Stepper
	// Halve is called once, before the first Reset or Load: the environments 0 … split-1 are half 0, the others half 1. If split is the number of
	// environments there are no halves: only Step is called.
	Halve(ctx context.Context, split int) error
	// Begin begins a step of a half's environments and returns without waiting for its end. s is as Step has it, of all environments and with the same
	// slices in every call, but only the half's elements count. Nothing is written to it before Wait. The other half may be taking a step itself.
	Begin(ctx context.Context, half int, s *Step) error
	// Wait waits for the end of the half's step and writes its results. Between Begin and Wait of one half, Reset may be called for environments of
	// the other one. Errors are as of Step, here or of Begin. Close may be called at any time.
	Wait(ctx context.Context, half int) error
}

// turns are the steps that halves of worlds take.
type turns struct {
	split  int
	halves [2]turn
}

// turn is a step of a half. It has slices of its own, since the device may be using those that it was given.
type turn struct {
	to    *Step // nil: there is no step
	own   Step
	ended chan error
}

func (w *worlds) Halve(_ context.Context, split int) error {
	w.split = split
	return nil
}

// of returns a half's worlds: first … end-1.
func (w *worlds) of(half int) (first, end int) {
	if half == 0 {
		return 0, w.split
	}
	return w.split, len(w.all)
}

func (w *worlds) Begin(_ context.Context, half int, s *Step) error {
	t, n := &w.halves[half], len(w.all)
	if t.ended == nil {
		t.ended = make(chan error, 1)
		t.own = Step{
			Action: make([]float32, len(s.Action)), Obs: make([]float32, len(s.Obs)), Final: make([]float32, len(s.Final)), Reward: make([]float32, n),
			Last: make([]bool, n), Idle: make([]bool, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
		}
	}
	t.to, t.own.Stay = s, s.Stay
	first, end := w.of(half)
	words := len(s.Action) / n
	copy(t.own.Action[first*words:end*words], s.Action[first*words:])
	copy(t.own.Last[first:end], s.Last[first:])
	copy(t.own.Idle[first:end], s.Idle[first:])
	go func() { t.ended <- w.step(&t.own, first, end) }()
	return nil
}

func (w *worlds) Wait(_ context.Context, half int) error {
	t, n := &w.halves[half], len(w.all)
	err, s, own := <-t.ended, t.to, &t.own
	if t.to = nil; err != nil {
		return err
	}
	size := len(s.Obs) / n
	first, end := w.of(half)
	for i := first; i < end; i++ {
		if own.Idle[i] {
			continue
		}
		s.Reward[i], s.Terminated[i], s.Truncated[i] = own.Reward[i], own.Terminated[i], own.Truncated[i]
		copy(s.Obs[i*size:(i+1)*size], own.Obs[i*size:])
		if own.Ended(i) {
			copy(s.Final[i*size:(i+1)*size], own.Final[i*size:])
		}
	}
	return nil
}

// end waits for all steps.
func (t *turns) end() {
	for i := range t.halves {
		if half := &t.halves[i]; half.to != nil {
			<-half.ended // its error is of what is given up
			half.to = nil
		}
	}
}
