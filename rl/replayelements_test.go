package rl

import (
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// TestReplayElements: agents whose replays store bits, or bytes of the newest of three frames, have the memory that these need, and resume exactly.
func TestReplayElements(t *testing.T) {
	for _, of := range []struct {
		name          string
		element       nn.Element
		frames, words int
	}{{"bits", nn.Bits, 0, 1}, {"bytes in frames", nn.Bytes, 3, 1}} {
		t.Run(of.name, func(t *testing.T) {
			env := *lookup(t, "Acrobot-v1") // six features, of which this keeps little
			env.Observation.Element, env.Observation.Frames = of.element, of.frames
			make := func(t testing.TB, eng *engine.Engine) (*OffPolicy, error) {
				cfg, network, replay := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
				cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts, cfg.UpdatesPerStep = 2, 2, 10, 40, 0.1
				network.Hidden = []int{8}
				replay.Capacity, replay.Batch = 60, 16
				return NewDQN(t.Context(), eng, &env, cfg, Network(network), Replays(replay))
			}
			dev := open(t)
			o, err := make(t, engine.New(dev))
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			y := o.Replay()
			if n, rows := y.parts[0].obs.Len(), y.cfg.Capacity+y.ends.slots+y.own.lanes; n != 2*rows*of.words {
				t.Errorf("observations take %d words; want %d for each of %d", n, of.words, 2*rows)
			}
			w := workflow{of.name, func(t testing.TB, eng *engine.Engine) (counted, error) { return make(t, eng) }}
			w.resumes(t, dev)
		})
	}
}
