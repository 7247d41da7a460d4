package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// qSequences is what DQN's networks with memory learn by: passes over the steps of a batch of sequences. The values of a step's next
// observation are those at the next step of the same pass, so targets and networks each pass over a sequence once.
type qSequences struct {
	cfg      SequenceConfig
	members  int
	batch    int            // sequences per member
	discount *engine.Tensor // [M]
	burn     *nn.Sequence   // over the steps that bring the memory up to date; nil: there are none
	ahead    *nn.Sequence   // of the targets over the steps that are learned from
	learn    *nn.Sequence   // of the networks over these

	unused         *engine.Tensor // [M, burn_in, B, Out]
	factor, weight *engine.Tensor // [M, steps + 1, B]: of bootstrapped values, of losses
}

func newQSequences(s *engine.State, net *network, discount *engine.Tensor, batch int, cfg SequenceConfig) (*qSequences, error) {
	q := &qSequences{cfg: cfg, members: discount.Len(), batch: batch, discount: discount, learn: net.sequence()}
	p, b := engine.Members(q.members), engine.Axis("sequence", batch)
	var err error
	if q.ahead, err = net.NewSequence(s.Sub("ahead"), cfg.Steps+1, batch); err != nil {
		return nil, err
	}
	if cfg.BurnIn > 0 {
		if q.burn, err = net.NewSequence(s.Sub("burn_in"), cfg.BurnIn, batch); err != nil {
			return nil, err
		}
		q.unused = s.Scratch("burn_in_outputs", engine.Float32, p, engine.Time(cfg.BurnIn), b, engine.Axis("output", net.Model().Outputs()))
	}
	q.factor = s.Scratch("factor", engine.Float32, p, engine.Time(cfg.Steps+1), b)
	q.weight = s.Scratch("weight", engine.Float32, p, engine.Time(cfg.Steps+1), b)
	return q, s.Err()
}

// begin records the burn-in by networks with the given weights, and returns the inputs of the steps that are learned from.
func (q *qSequences) begin(r *engine.Recorder, w nn.Weights, b SequenceBatch) nn.Inputs {
	in := inputs(b.Learn.Obs, nil)
	in.Memory = b.Memory
	if q.burn != nil {
		early := inputs(b.BurnIn.Obs, nil)
		early.Memory = b.Memory
		q.burn.Forward(r, w, early, b.BurnIn.Ends, q.unused)
		q.burn.Release()
		in.Memory, in.Begins = q.burn.Memory(), nn.Begins{Words: b.Begins}
	}
	return in
}

// transitions records the factors of bootstrapped values and the weights of losses, and returns the steps as a batch of transitions.
func (q *qSequences) transitions(r *engine.Recorder, b SequenceBatch) ReplayBatch {
	rows := (q.cfg.Steps + 1) * q.batch
	size, groups := r.Invocations(rows)
	r.Dispatch(sequenceFactorKernel{
		Done: b.Learn.Done.Range(), Discount: q.discount.Range(), Factor: q.factor.Range(), Weight: q.weight.Range(),
		Rows: uint32(rows), Scale: float32(q.cfg.Steps+1) / float32(q.cfg.Steps), LocalSizeX: size,
	}.call(groups, uint32(q.members), 1))
	return ReplayBatch{Action: b.Learn.Action, Reward: b.Learn.Reward, Factor: q.factor, Weight: q.weight}
}

// updateFromSequences records an update of networks with memory.
func (q *qLearner) updateFromSequences(r *engine.Recorder, u update) {
	s, b := q.sequences, u.sequences
	target, online := nn.Weights{Params: q.target}, q.network.weights()
	s.ahead.Forward(r, target, s.begin(r, target, b), b.Learn.Ends, q.nextValues)
	s.ahead.Release()
	s.learn.Forward(r, online, s.begin(r, online, b), b.Learn.Ends, q.network.outputs)
	q.recordLoss(r, u.number, s.transitions(r, b), s.batch, q.qLoss)
	s.learn.Backward(r, q.network.atOutputs, nn.SequenceGradients{Gradients: nn.Gradients{Params: s.learn.Into()}})
	q.network.optimizer.Step(r, s.learn.Into())
}
