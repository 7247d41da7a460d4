package hybrid

import (
	"context"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
)

// hand computes slices beside the first device: another device of this process, or a worker elsewhere. One goroutine at a time calls do.
type hand interface {
	fmt.Stringer
	// do does a job, and returns the results of its tasks' operations. After an error the hand has nothing more.
	do(ctx context.Context, job sliceJob) ([][][]byte, error)
	// Leave ends the hand's part, unless it has left; cause is nil if it is no failure.
	Leave(cause error)
	// Note says, for those that look at the run, how many slices the hand has, and that it has done an iteration of them in the given time.
	Note(iteration, slices int, took time.Duration)
	// late reports whether the hand is given up when others have been done for long.
	late() bool
}

// workerHand is a worker elsewhere.
type workerHand struct{ *cluster.Hand }

func (w workerHand) String() string { return "worker " + w.Name() }

func (w workerHand) late() bool { return true }

func (w workerHand) do(ctx context.Context, job sliceJob) (results [][][]byte, err error) {
	data, err := encodeGob(job)
	if err != nil {
		return nil, err
	}
	if data, err = w.Do(ctx, data); err != nil {
		return nil, err
	}
	if err := decodeGob(data, &results); err != nil {
		return nil, fmt.Errorf("hybrid: what %v has done: %w", w, err)
	}
	return results, nil
}

// deviceHand is another device of this process. Slices begin on it, and their states move only if a device is lost.
type deviceHand struct {
	assistant
	of    *Slices
	index int // of the engine's devices
	name  string
}

// newDeviceHand makes a hand of one of the engine's devices.
func newDeviceHand(of *Slices, index int, build BuildSlice) *deviceHand {
	eng := of.State().Engine()
	return &deviceHand{of: of, index: index, name: eng.DeviceName(index),
		assistant: assistant{eng: eng.Slice(eng.Devices()[index], 0), build: build, bench: bench{worker: of.deviceName(index)}}}
}

func (d *deviceHand) String() string { return d.name }

func (d *deviceHand) late() bool { return false }

// Leave implements hand. Without a cause the device stays: it is the run that is given up.
func (d *deviceHand) Leave(cause error) {
	if cause == nil {
		return
	}
	s := d.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost[d.index] != nil {
		return
	}
	_ = d.keep(nil) // a lost device may refuse anything
	s.lost[d.index] = s.State().Engine().Lost(&engine.LostError{Device: d.index, Name: d.name,
		What: "computes members no more, and others compute its slices again from their last state on the host", Err: cause})
	if s.crew != nil {
		s.crew.Lost(d.index, cause)
	}
}

// Note implements hand.
func (d *deviceHand) Note(iteration, slices int, took time.Duration) {
	if d.of.crew != nil {
		d.of.crew.Note(d.index, iteration, slices, took)
	}
}

// takingPart returns the other devices that are not lost, and the workers that take part now.
func (s *Slices) takingPart() (all []hand) {
	s.mu.Lock()
	for _, d := range s.devices {
		if s.lost[d.index] == nil {
			all = append(all, d)
		}
	}
	s.mu.Unlock()
	if s.crew != nil {
		for _, h := range s.crew.Hands() {
			all = append(all, workerHand{h})
		}
	}
	return all
}

// Lost returns why devices of the engine take part no more (*engine.LostError), in their order.
func (s *Slices) Lost() (all []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.lost {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}
