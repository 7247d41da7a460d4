package dmenvrpc

import (
	"context"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// world is a world of a Server: an environment on its device, and one agent. The server's mutex guards it.
type world struct {
	name    string
	batch   *envs.Batch
	served  *served
	creator *session // nil: its stream has ended
	joined  *session // nil: nobody

	seed    uint32 // of the next reset
	running bool   // within a sequence
	next    []float32
	last    seen
	others  []chan struct{} // resets of the world by others, which wait for the agent's next step
}

// restart makes the next sequence begin with a reset, from a seed or from the one that follows.
func (w *world) restart(seed *uint32) {
	w.running, w.next = false, nil
	if seed != nil {
		w.seed = *seed
	}
}

// interrupted lets resets of the world by others go on.
func (w *world) interrupted() {
	for _, c := range w.others {
		close(c)
	}
	w.others = nil
}

// step takes a step: of a sequence, or to its beginning.
// What is observed is in last then.
func (w *world) step(ctx context.Context, of *pb.StepRequest) (pb.EnvironmentStateType, error) {
	if len(w.others) > 0 {
		w.interrupted()
		w.last.reward = 0
		return pb.EnvironmentStateType_INTERRUPTED, nil
	}
	if !w.running {
		return pb.EnvironmentStateType_RUNNING, w.begin(ctx)
	}
	action, err := w.served.act(of.GetActions())
	if err != nil {
		return 0, &requestError{invalid, err}
	}
	var t envs.Transition
	if w.batch.Environment().Action.IsDiscrete() {
		t, err = w.batch.Step(ctx, []uint32{uint32(action[0])})
	} else {
		t, err = w.batch.StepContinuous(ctx, action)
	}
	if err != nil {
		return 0, err
	}
	state := pb.EnvironmentStateType_RUNNING
	w.last = seen{slices.Clone(t.NextObs), t.Reward[0]}
	if done := t.Done[0]; done.Over() {
		w.running, w.next = false, slices.Clone(t.Obs)
		if state = pb.EnvironmentStateType_INTERRUPTED; done&envs.Terminated != 0 {
			state = pb.EnvironmentStateType_TERMINATED
		}
	}
	return state, nil
}

// begin begins a sequence.
func (w *world) begin(ctx context.Context) error {
	if w.next == nil {
		obs, err := w.batch.Reset(ctx, w.seed)
		if err != nil {
			return err
		}
		w.next = slices.Clone(obs)
		w.seed = engine.Philox([2]uint32{w.seed, 0}, [4]uint32{1})[0]
	}
	w.last, w.next, w.running = seen{obs: w.next}, nil, true
	return nil
}
