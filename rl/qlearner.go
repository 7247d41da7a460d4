package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// qLearner is the learner of DQN: every member has a network of action values, and its target.
type qLearner struct {
	cfg     DQNConfig
	shape   NetworkConfig
	scope   *engine.State
	clock   engine.Clock
	parts   learnerParts
	head    nn.Head // with exploration
	updates int     // per iteration

	network    *network
	target     *engine.Tensor // [P, row]
	noisy      *noisy         // nil: parameters have no noise
	normalizer *nn.Normalizer // nil: none

	start, end, epsilon  *engine.Tensor // [P]: of exploration
	interval, tau, share *engine.Tensor // [P]: see shaders/rl/dqn.glsl

	values, atValues     *engine.Tensor // [P, B, Out]: values at the observations, and the gradient with respect to them
	nextValues           *engine.Tensor // [P, B, Out]: the targets' values at the next observations
	nextChoices          *engine.Tensor // [P, B, Out]: the networks' values there; nil without double
	errors, loss, chosen *engine.Tensor // [P, B]
	gradient             *engine.Tensor // [1, P, 2 row], of noisy networks by means and deviations; fused, [1, P, row]; nil otherwise
	fused                int            // updates per dispatch; 0: an update is several dispatches

	rows struct{ loss, value, norm, refused, epsilon *engine.Tensor } // metrics [P]
}

func newQLearner(o *OffPolicy, parts learnerParts, c DQNConfig) (*qLearner, error) {
	if err := parts.oneActor(); err != nil {
		return nil, err
	}
	h, s := o.Hyper(), o.State().Sub("agent")
	q := &qLearner{cfg: c, shape: parts.network, scope: s, clock: o.Clock(), parts: parts}
	q.head = c.head(parts.env.Action.Size())
	q.start, q.end = h.Add("exploration_start", c.ExplorationStart), h.Add("exploration_end", c.ExplorationEnd)
	q.interval, q.tau = h.Add("target_interval", c.TargetInterval), h.Add("tau", c.Tau)
	rule := parts.optimizer
	rule.Epsilon, rule.MaxNorm = c.OptimizerEpsilon, c.MaxGradNorm
	mlp := q.shape.model(parts.env.ObsSize(), q.head.Outputs())
	var err error
	if q.updates, err = c.updates(); err != nil {
		return nil, err
	}
	if q.fused = fusesQ(o, parts, c, mlp); q.fused > 0 {
		s = s.Contiguous()
	}
	row := nn.Align(mlp.Size())
	if c.NoisyStd > 0 {
		q.noisy = newNoisy(s.Sub("noise"), q.clock, mlp, c.Members, c.NoisyStd)
		row *= 2
	}
	q.network, err = newNetwork(s.Sub("network"), mlp, row, agentConfig{
		members: c.Members, rows: parts.batch, optimizer: rule, rate: o.rates.of("learning_rate", h.Add("learning_rate", c.LearningRate)),
	})
	if err != nil {
		return nil, err
	}
	q.target = s.Tensor("target", engine.Float32, q.network.params().Dims()...)
	if q.shape.NormalizeObs {
		q.normalizer = nn.NewNormalizer(s, c.Members, parts.env.ObsSize())
	}
	if uint64(q.network.params().StackBytes()) > s.Engine().Device().Info().Limits.MaxStorageRange {
		q.fused = 0 // a kernel cannot bind all parameters
	}
	q.makeScratch(o.State().Sub("update"))
	q.network.optimizer.Follow(q.target, q.share)
	q.head.Noise = q.epsilon
	m := o.Metrics()
	q.rows.loss, q.rows.value = m.Row("loss/critic"), m.Row("value/mean")
	q.rows.norm, q.rows.refused, q.rows.epsilon = m.Row("gradient/norm"), m.Row("gradient/refused"), m.Row("exploration/epsilon")
	return q, s.Err()
}

func (q *qLearner) makeScratch(s *engine.State) {
	p, b, out := engine.Members(q.members()), engine.Axis("transition", q.parts.batch), engine.Axis("output", q.head.Outputs())
	q.epsilon, q.share = s.Scratch("epsilon", engine.Float32, p), s.Scratch("target_share", engine.Float32, p)
	q.values, q.nextValues = s.Scratch("values", engine.Float32, p, b, out), s.Scratch("next_values", engine.Float32, p, b, out)
	q.atValues = s.Scratch("gradient_at_values", engine.Float32, p, b, out)
	if q.cfg.Double {
		q.nextChoices = s.Scratch("next_choices", engine.Float32, p, b, out)
	}
	q.errors, q.loss = s.Scratch("errors", engine.Float32, p, b), s.Scratch("loss", engine.Float32, p, b)
	q.chosen = s.Scratch("chosen", engine.Float32, p, b)
	if q.noisy != nil || q.fused > 0 {
		q.gradient = s.Cleared("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", 1)}, q.network.params().Dims()...)...)
	}
	learned := q.network.params()
	if q.noisy != nil {
		learned = q.noisy.online
	}
	q.network.pass.Learn(s, learned)
}

func (q *qLearner) members() int { return q.cfg.Members }

// behaviour implements learner.
func (q *qLearner) behaviour() behaviour {
	p := &envs.Policy{Weights: q.network.weights(), Network: q.network.Model(), Head: q.head, ObsLimit: float32(q.shape.ObsLimit)}
	if q.normalizer != nil {
		p.Normalizer = q.normalizer.Values()
	}
	b := behaviour{policy: p, normalizer: q.normalizer}
	if q.noisy != nil {
		explorer := *p
		explorer.Weights = nn.Weights{Params: q.noisy.actor}
		b.explorer = &explorer
	}
	return b
}

// block implements learner.
func (q *qLearner) block(int) int { return 1 }

// explore implements learner: it records epsilon, which changes with the environment steps, and the noise of
// parameters.
func (q *qLearner) explore(r *engine.Recorder) {
	if q.noisy != nil {
		q.noisy.act(r, q.network.params())
	}
	r.Dispatch(exploreKernel{
		Start: q.start.Range(), End: q.end.Range(), Clock: q.clock.Tensor().Range(), Epsilon: q.epsilon.Range(),
		Members: uint32(q.members()), Anneal: float32(float64(q.cfg.Environments) / float64(q.cfg.ExplorationSteps)),
	}.call(uint32(q.members()+63)/64, 1, 1))
}

// prepare implements learner.
func (q *qLearner) prepare(*engine.Recorder) {}

// update implements learner.
func (q *qLearner) update(r *engine.Recorder, u update) {
	b := u.batch
	online, target, choice := q.network.params(), q.target, q.network.params()
	if q.noisy != nil {
		q.noisy.learn(r, online, target, u.number, q.cfg.Double)
		online, target, choice = q.noisy.online, q.noisy.target, q.noisy.choice
	}
	q.network.Evaluate(r, nn.Weights{Params: target}, inputs(b.NextObs, nil), q.nextValues)
	if q.cfg.Double {
		q.network.Evaluate(r, nn.Weights{Params: choice}, inputs(b.NextObs, nil), q.nextChoices)
	}
	q.network.pass.Forward(r, nn.Weights{Params: online}, inputs(b.Obs, nil), q.values)
	q.recordLoss(r, u)
	b.Reprioritize(r, q.errors)
	gradient := q.network.pass.Gradient(r, q.atValues)
	if q.noisy != nil {
		q.noisy.back(r, gradient, q.gradient)
		gradient = q.gradient
	}
	q.network.optimizer.Record(r, gradient) // update of the targets
}

// recordLoss records the loss of a batch, the gradient with respect to the outputs, and the errors for priorities.
func (q *qLearner) recordLoss(r *engine.Recorder, u update) {
	b, size := u.batch, r.Workgroup()
	k := dqnLossKernel{
		Value: q.values.Range(), NextValue: q.nextValues.Range(), Action: b.Action.Range(), Reward: b.Reward.Range(), Factor: b.Factor.Range(),
		RewardScale: q.parts.rewardScale.Range(), Clock: q.clock.Tensor().Range(), Update: u.number.Range(),
		Interval: q.interval.Range(), Tau: q.tau.Range(), Share: q.share.Range(),
		AtValue: q.atValues.Range(), Error: q.errors.Range(), Loss: q.loss.Range(), Chosen: q.chosen.Range(),
		Rows: uint32(q.parts.batch), Actions: uint32(q.head.Size), Updates: uint32(q.updates), Huber: float32(q.cfg.Huber),
		Dueling: q.cfg.Dueling, LocalSizeX: size,
	}
	if q.cfg.Double {
		k.NextChoice = q.nextChoices.Range()
	}
	if b.Weight != nil {
		k.Weight = b.Weight.Range()
	}
	groups := (k.Rows + size - 1) / size
	if q.cfg.Atoms == 0 {
		r.Dispatch(k.call(groups, uint32(q.members()), 1))
		return
	}
	r.Dispatch(dqnCategoricalLossKernel{
		Value: k.Value, NextValue: k.NextValue, NextChoice: k.NextChoice, Action: k.Action, Reward: k.Reward, Factor: k.Factor, Weight: k.Weight,
		RewardScale: k.RewardScale, Clock: k.Clock, Update: k.Update, Interval: k.Interval, Tau: k.Tau, Share: k.Share,
		AtValue: k.AtValue, Error: k.Error, Loss: k.Loss, Chosen: k.Chosen,
		Rows: k.Rows, Actions: k.Actions, Updates: k.Updates, Dueling: k.Dueling, LocalSizeX: k.LocalSizeX,
		Atoms: uint32(q.cfg.Atoms), Low: float32(q.cfg.MinValue), High: float32(q.cfg.MaxValue),
	}.call(groups, uint32(q.members()), 1))
}

// init implements learner; targets begin as copies.
func (q *qLearner) init(ctx context.Context) error {
	params := q.network.params()
	values := make([]float32, params.Len())
	row := len(values) / q.members()
	for p := range q.members() {
		rng := engine.NewRng(q.scope.Engine().Seed(), q.scope.Stream("init"), uint32(p), 0, 0)
		q.network.Model().Init(values[p*row:][:row], q.shape.Initializer, q.shape.HiddenGain, q.shape.CriticGain, rng)
		if q.noisy != nil {
			q.noisy.init(values[p*row:][:row])
		}
	}
	err := errors.Join(params.WriteFloat32(ctx, values), q.target.WriteFloat32(ctx, values))
	if q.normalizer != nil {
		err = errors.Join(err, q.normalizer.Init(ctx))
	}
	return err
}

// inherit implements learner.
func (q *qLearner) inherit(r *engine.Recorder, source *engine.Tensor) {
	engine.Gather(r, source, q.network.params())
	engine.Renew(r, source, q.target, q.network.params())
	q.network.optimizer.Renew(r, source)
	if q.normalizer != nil {
		q.normalizer.Inherit(r, source)
	}
}

// recordMetrics implements learner.
func (q *qLearner) recordMetrics(r *engine.Recorder) {
	engine.Mean(r, q.rows.loss, q.loss, nil, 1)
	engine.Mean(r, q.rows.value, q.chosen, nil, 1)
	r.Copy(q.rows.norm, q.network.optimizer.Norm())
	engine.CopyCounts(r, q.rows.refused, q.network.optimizer.Refused())
	r.Copy(q.rows.epsilon, q.epsilon)
}
