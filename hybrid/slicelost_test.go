package hybrid

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// dying is a slice on a device that fails in the middle of an iteration: when its commands are submitted, and nobody has waited for them.
type dying struct {
	engine.Trainable
	fails func(iteration int) error
}

func (d dying) Step(ctx context.Context, iteration int) (*vk.Ticket, error) {
	ticket, err := d.Trainable.Step(ctx, iteration)
	return ticket, errors.Join(err, d.fails(iteration))
}

// beside makes the kind's workflow in slices of two members on the test's device and others, of which one fails in a way.
func (k sliced) beside(t *testing.T, failing *vk.Device, fails func(iteration int) error, others ...*vk.Device) engine.Workflow {
	t.Helper()
	eng := engine.New(open(t), engine.Seed(7), engine.Beside(append([]*vk.Device{failing}, others...)...))
	s, err := NewSlices(t.Context(), eng, slicedMembers, 2, func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
		w, err := k.build(ctx, eng, members)
		if err == nil && eng.Device() == failing {
			w = dying{w, fails}
		}
		return w, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return k.over(t, s)
}

var errInjected = errors.New("injected")

// TestSlicesLost: members in slices end with the same bits as on one device if another one fails: in the middle of an iteration, by its closing or an error,
// with or without a copy of its states on the host, or at once; and also resumed after that. The device is reported once.
func TestSlicesLost(t *testing.T) {
	const iterations, fault, kept = 4, 2, 3
	type failure struct {
		closes, atOnce bool // the device is closed, and not in an iteration but before the first; else an error is injected
		copies         bool // of states, at times
		another        bool // a third device, which has one of the slices
	}
	for _, c := range []struct {
		kind     sliced
		failures []failure
	}{
		{sliced{"ppo", slicedPPO, nil, true}, []failure{{closes: true, copies: true}, {closes: true, atOnce: true, copies: true}}},
		{sliced{"td3", slicedTD3(true), nil, true}, []failure{{closes: true, copies: true}}},
		{sliced{"pbt over ppo", slicedPPO, often(t, rl.DefaultPPO(), Truncation), true}, []failure{{another: true}}},
	} {
		t.Run(c.kind.name, func(t *testing.T) {
			alone := c.kind.open(t, 1, 2)
			initialized(t, alone)
			steps(t, alone, 0, iterations)
			want := digest(t, alone)
			for _, f := range c.failures {
				failing, cause := vktest.Open(t), errInjected
				if f.closes {
					cause = vk.ErrClosed
				}
				if f.atOnce {
					if err := failing.Close(); err != nil {
						t.Fatal(err)
					}
				}
				var others []*vk.Device
				if f.another {
					others = append(others, open(t))
				}
				w := c.kind.beside(t, failing, func(iteration int) error {
					switch {
					case iteration != fault || f.atOnce:
						return nil
					case f.closes:
						return failing.Close()
					}
					return errInjected
				}, others...)
				s, dir := Innermost(w).(*Slices), t.TempDir()
				initialized(t, w)
				for i := range iterations {
					if !f.copies {
						s.homed, s.homing = time.Now(), time.Hour
					}
					if i == kept {
						if _, err := w.State().Save(t.Context(), dir, kept); err != nil {
							t.Fatal(err)
						}
					}
					steps(t, w, i, i+1)
					if _, here := s.Count(); (here[1] > 0) != (i < fault && !f.atOnce) {
						t.Errorf("%+v: after iteration %d the devices have %v slices", f, i, here)
					}
				}
				if got := digest(t, w); got != want {
					t.Errorf("%+v: it ends with %s; want %s, as one device", f, got, want)
				}
				var of *engine.LostError
				if lost := s.Lost(); len(lost) != 1 || !errors.As(lost[0], &of) || of.Device != 1 || !errors.Is(of, cause) ||
					!strings.HasPrefix(of.Error(), "device 1 (") {
					t.Errorf("%+v: lost: %v; want device 1, once, by %v", f, lost, cause)
				}
				if err := alone.State().Zero(t.Context()); err != nil {
					t.Fatal(err)
				}
				load(t, alone, dir, kept)
				steps(t, alone, kept, iterations)
				if got := digest(t, alone); got != want {
					t.Errorf("%+v: resumed, it ends with %s; want %s", f, got, want)
				}
			}
		})
	}
}

// TestSlicesEnd: without its first device a run ends with the error of that device, which is not taken for another one's.
func TestSlicesEnd(t *testing.T) {
	first := vktest.Open(t)
	s, err := NewSlices(t.Context(), engine.New(first, engine.Seed(7), engine.Beside(open(t))), slicedMembers, 2, slicedPPO)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	initialized(t, s)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(t.Context(), 0); !errors.Is(err, vk.ErrClosed) || len(s.Lost()) != 0 {
		t.Errorf("without the first device: %v, lost %v; want %v, and no other device lost", err, s.Lost(), vk.ErrClosed)
	}
}
