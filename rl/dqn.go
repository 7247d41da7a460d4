package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
	"github.com/evorl/evorl/vk"
)

// DQNConfig are the settings of DQN. Fields with the tag member are tensors [M] on the device, which PBT may vary. The
// replay's settings steps (n-step returns) and prioritized also belong to the algorithm.
type DQNConfig struct {
	OffPolicyConfig

	LearningRate   float64 `min:"0" max:"1" doc:"Step size of Adam, per member." member:"log_uniform 3e-5 3e-3"`
	TargetInterval float64 `min:"1" max:"1e6" doc:"Number of updates between updates of the target network, per member." member:""`
	Tau            float64 `min:"0" max:"1" doc:"Polyak coefficient of such an update; 1: copies. Per member." member:""`

	ExplorationStart float64 `min:"0" max:"1" doc:"Initial probability of a random action, per member." member:""`
	ExplorationEnd   float64 `min:"0" max:"1" doc:"Probability of a random action after exploration_steps, per member." member:"log_uniform 0.01 0.2"`
	ExplorationSteps int     `min:"1" max:"1073741824" doc:"Environment steps per member over which that probability changes linearly."`

	ExplorationLevels   int     `min:"1" max:"4096" doc:"Powers of epsilon, 1 to 1 + exploration_exponent, by which equal shares of the environments explore."`
	ExplorationExponent float64 `min:"0" max:"100" doc:"Largest of these powers, less 1 (Ape-X: 7), per member." member:""`

	Double  bool `doc:"The network, not its target, chooses the next action (H. van Hasselt et al., 2016)."`
	Dueling bool `doc:"The network outputs the state's value and advantages (Z. Wang et al., 2016)."`

	NoisyStd float64 `min:"0" max:"10" doc:"Initial deviation of the parameters' learned noise, times the square root of a layer's inputs; 0: no noise."`

	Atoms    int     `min:"0" max:"256" doc:"Atoms of the distribution of returns (M. G. Bellemare et al., 2017); 0: the network outputs values."`
	MinValue float64 `doc:"Lowest atom."`
	MaxValue float64 `doc:"Highest atom."`

	Huber            float64 `min:"0" doc:"Size of errors above which the loss is linear, without atoms; 0: always quadratic."`
	OptimizerEpsilon float64 `above:"0" doc:"Added to Adam's denominator."`
	MaxGradNorm      float64 `min:"0" doc:"Largest norm of the gradient, which is scaled down to it; 0: no limit."`
}

// DefaultDQN has the settings of CleanRL's dqn.py for classic control: an update every 10 steps, copied to the targets
// every 500 steps, epsilon from 1 to 0.05 over half of 500,000 steps. If atoms are requested, their range is as in
// its c51.py.
func DefaultDQN() DQNConfig {
	return DQNConfig{
		OffPolicyConfig: OffPolicyConfig{
			Members: 1, Environments: 1, RolloutLength: 10, UpdatesPerStep: 0.1, LearningStarts: 10000,
			Discount: 0.99, RewardScale: 1, Actors: 1,
		},
		LearningRate: 2.5e-4, TargetInterval: 50, Tau: 1, ExplorationStart: 1, ExplorationEnd: 0.05, ExplorationSteps: 250000,
		ExplorationLevels: 1, ExplorationExponent: 7,
		MinValue: -100, MaxValue: 100, OptimizerEpsilon: 1e-8,
	}
}

// DefaultDQNNetwork has the settings of CleanRL's dqn.py: layers of 120 and 84 with ReLU, PyTorch's initial weights.
func DefaultDQNNetwork() NetworkConfig {
	c := DefaultOffPolicyNetwork()
	c.Hidden = []int{120, 84}
	return c
}

// DefaultDQNReplay has the settings of CleanRL's dqn.py: 10,000 transitions and batches of 128. Its priorities are
// DefaultReplay's.
func DefaultDQNReplay() ReplayConfig {
	c := DefaultReplay()
	c.Capacity, c.Batch = 10000, 128
	return c
}

// Validate checks constraints across fields.
func (c DQNConfig) Validate() error {
	switch {
	case c.Atoms == 1:
		return config.Invalid("atoms", "a distribution of 1 atom is constant; want 0, or at least 2")
	case c.Atoms > 0 && !(c.MinValue < c.MaxValue):
		return config.Invalid("max_value", "%g is not above min_value, %g", c.MaxValue, c.MinValue)
	case c.NoisyStd > 0 && c.ExplorationLevels > 1:
		return config.Invalid("exploration_levels", "%d levels beside noise of the parameters; want 1 with noisy_std above 0", c.ExplorationLevels)
	case c.Atoms > 0 && c.Huber > 0:
		return config.Invalid("huber", "the loss of distributions is a cross-entropy without a threshold; want 0 with atoms")
	}
	if err := c.OffPolicyConfig.Validate(); err != nil {
		return err
	}
	return c.checkLevels(c.ExplorationLevels)
}

// checkAtoms checks that the loss of distributions (shaders/rl/dqn_categorical_loss.comp) takes an invocation no more loop iterations than software drivers
// make.
func (c DQNConfig) checkAtoms(info vk.Info, actions int) error {
	logit := 1 // iterations for a logit
	if c.Dueling {
		logit += actions
	}
	norms, projection := (actions+2)*(2*c.Atoms-1)*logit+actions, c.Atoms*(2*logit+actions)
	if n := norms + projection; c.Atoms > 0 && !info.Type.GPU() && n > engine.MaxIterations {
		return config.Invalid("atoms", "the loss of %d atoms of %d actions, dueling %v, takes %d loop iterations, and software drivers make %d; "+
			"want fewer atoms, 0, or dueling = false", c.Atoms, actions, c.Dueling, n, engine.MaxIterations)
	}
	return nil
}

// head returns the head that turns the network's outputs into actions.
func (c DQNConfig) head(actions int) nn.Head {
	return nn.Head{Kind: nn.EpsilonGreedy, Size: actions, Atoms: c.Atoms, Dueling: c.Dueling}
}

// Check implements Algorithm.
func (c DQNConfig) Check(with Parts) error {
	if err := with.checkEnvironment(); err != nil {
		return err
	}
	if !with.Env.Action.IsDiscrete() {
		return config.Invalid("env", "dqn needs discrete actions, and %q has actions %v; want an environment with discrete actions, "+
			"such as env = \"CartPole-v1\"", with.Env.Name, with.Env.Action)
	}
	if len(with.Network.CriticHidden) > 0 {
		return config.Invalid("network.critic_hidden", "dqn has one network, of hidden layers %v, and no critic besides; want []", with.Network.Hidden)
	}
	if err := with.Network.checkHead(with.Env.Action, false); err != nil {
		return err
	}
	network := with.Network.model(with.Env.Observation.Shape(), c.head(with.Env.Action.Size()).Outputs())
	switch {
	case network.Memory() == 0:
		if err := with.Sequences.checkUnused(network); err != nil {
			return err
		}
		return c.check("dqn", with, network)
	case c.NoisyStd > 0:
		return config.Invalid("dqn.noisy_std", "noise of the parameters of a network with memory, %v; want 0", network)
	}
	if err := c.checkArrivals("dqn", with, true); err != nil {
		return err
	}
	return c.checkSequences(with, network)
}

// NewDQN makes a workflow of deep Q-learning (V. Mnih et al., "Human-level control through deep reinforcement
// learning", 2015). With double, dueling, atoms, noisy networks (noise_std 0.5, epsilon 0) and a prioritized replay of
// n-step returns it is Rainbow (M. Hessel et al., "Rainbow: Combining Improvements in Deep Reinforcement Learning",
// 2018). A rollout uses one draw of the noise for all environments of a member. Init or a checkpoint must fill its
// state before the first Step. Close it after use.
//
// A network with memory learns from sequences of the replay (M. Hausknecht and P. Stone, "Deep Recurrent Q-Learning for Partially Observable
// MDPs", 2015), whose first steps only bring the memory up to date, from zeros or from the memory that acted there (S. Kapturowski et al.,
// "Recurrent Experience Replay in Distributed Reinforcement Learning", 2019); the loss is the mean over all other steps. Of R2D2, priorities,
// n-step returns and rescaled values are missing. Its first experience is by the exploring policy.
//
// Errors: settings out of range, an environment without discrete actions, *vk.OutOfMemoryError if the members need
// more memory than the device has (nothing is allocated then), and compiler errors of an environment given as GLSL.
func NewDQN(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg DQNConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultDQNNetwork(), append([]Option{Replays(DefaultDQNReplay()), Sequences(DefaultSequences())}, opts...))
	return newOffPolicy(ctx, "dqn", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newQLearner(o, parts, cfg)
	})
}

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
	target     *engine.Tensor // [M, row]
	sequences  *qSequences    // what a network with memory learns by; nil: it has none
	noisy      *noisy         // nil: parameters have no noise
	spread     *spread        // nil: all environments of a member explore with one epsilon
	normalizer *nn.Normalizer // nil: none

	start, end, epsilon *engine.Tensor // [M]: of exploration
	interval, tau       *engine.Tensor // [M]: see shaders/rl/dqn.glsl

	qLoss                   // of updates
	gradient *engine.Tensor // [1, M, 2 row]: by means and deviations of noisy networks; nil without
	form     *lane.Updates

	rows struct{ loss, value, norm, refused, epsilon *engine.Tensor } // metrics [M]
}

// qLoss is what the loss of a batch is computed from, and what it writes. With memory, B is also the steps of sequences, [steps + 1, B].
type qLoss struct {
	values      *engine.Tensor // [M, B, Out]: the networks' at the observations
	nextValues  *engine.Tensor // [M, B, Out]: the targets' at the next observations; with memory, at the observations
	nextChoices *engine.Tensor // [M, B, Out]: the networks' there; nil: the targets'

	atValues             *engine.Tensor // [M, B, Out]: the gradient
	errors, loss, chosen *engine.Tensor // [M, B]: errors for priorities; the value of the action taken
	share                *engine.Tensor // [M]: see shaders/rl/dqn.glsl
}

// newQLoss makes what a loss of rows [M, …] writes, in s.
func newQLoss(s *engine.State, values, nextValues, nextChoices, atValues *engine.Tensor, rows ...engine.Dim) qLoss {
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Scratch(name, engine.Float32, dims...) }
	return qLoss{
		values: values, nextValues: nextValues, nextChoices: nextChoices, atValues: atValues,
		errors: tensor("errors", rows...), loss: tensor("loss", rows...), chosen: tensor("chosen", rows...), share: tensor("target_share", rows[0]),
	}
}

func newQLearner(o *OffPolicy, parts learnerParts, c DQNConfig) (*qLearner, error) {
	if err := parts.oneActor(); err != nil {
		return nil, err
	}
	c.Environments = o.cfg.Environments // the seats of an environment are environments
	h, s := o.Hyper(), o.State().Sub("agent")
	q := &qLearner{cfg: c, shape: parts.network, scope: s, clock: o.Clock(), parts: parts}
	q.head = c.head(parts.env.Action.Size())
	if err := c.checkAtoms(o.State().Engine().Device().Info(), q.head.Size); err != nil {
		return nil, err
	}
	q.start, q.end = h.Add("exploration_start", c.ExplorationStart), h.Add("exploration_end", c.ExplorationEnd)
	q.interval, q.tau = h.Add("target_interval", c.TargetInterval), h.Add("tau", c.Tau)
	rule := parts.optimizer
	rule.Epsilon, rule.MaxNorm = c.OptimizerEpsilon, c.MaxGradNorm
	mlp := q.shape.model(parts.env.Observation.Shape(), q.head.Outputs())
	var err error
	if q.updates, err = c.updates(); err != nil {
		return nil, err
	}
	plain := c.Atoms == 0 && c.NoisyStd == 0 && mlp.Memory() == 0 && (o.with.replay == nil || !o.with.replay.Prioritized) // priorities depend on the update before
	q.form = lane.PlanQ(parts.inLanes(o, plain), mlp, c.Double)
	s = q.form.Scope(s)
	row := nn.Align(mlp.Size())
	if c.NoisyStd > 0 {
		q.noisy = newNoisy(s.Sub("noise"), q.clock, mlp, c.Members, c.NoisyStd)
		row *= 2
	}
	learns := agentConfig{
		members: c.Members, rows: parts.batch, optimizer: rule, rate: o.rates.of("learning_rate", h.Add("learning_rate", c.LearningRate)),
	}
	if mlp.Memory() > 0 {
		learns.horizon = parts.sequences.Steps + 1
		learns.rows *= learns.horizon
	}
	if q.network, err = newNetwork(s.Sub("network"), mlp, row, learns); err != nil {
		return nil, err
	}
	if mlp.Memory() > 0 {
		if q.sequences, err = newQSequences(o.State().Sub("sequences"), q.network, o.discount, parts.batch, parts.sequences); err != nil {
			return nil, err
		}
	}
	q.target = s.Tensor("target", engine.Float32, q.network.params().Dims()...)
	if q.shape.NormalizeObs {
		q.normalizer = nn.NewNormalizer(s, c.Members, parts.env.ObsSize())
	}
	q.makeTensors(o.State().Sub("update"))
	q.form.Q(o.State().Sub("update"), mlp, lane.Q{
		Optimizer: q.network.optimizer, Target: q.target, Clock: q.clock, Interval: q.interval, Tau: q.tau, RewardScale: parts.rewardScale,
		Value: q.chosen, Loss: q.loss, Huber: c.Huber, Double: c.Double, Dueling: c.Dueling,
	})
	q.network.optimizer.Follow(q.target, q.share)
	q.head.Noise = q.epsilon
	if c.ExplorationLevels > 1 {
		exponent := h.Add("exploration_exponent", c.ExplorationExponent)
		q.spread = newSpread(o.State().Sub("spread"), c.ExplorationLevels, byPowers, q.epsilon, exponent, q.network.params())
	}
	m := o.Metrics()
	q.rows.loss, q.rows.value = m.Row("loss/critic"), m.Row("value/mean")
	q.rows.norm, q.rows.refused, q.rows.epsilon = m.Row("gradient/norm"), m.Row("gradient/refused"), m.Row("exploration/epsilon")
	return q, s.Err()
}

// makeTensors makes what an update computes.
func (q *qLearner) makeTensors(s *engine.State) {
	rows := []engine.Dim{engine.Members(q.members()), engine.Axis("transition", q.parts.batch)}
	if q.sequences != nil {
		rows = []engine.Dim{rows[0], engine.Time(q.parts.sequences.Steps + 1), engine.Axis("sequence", q.parts.batch)}
	}
	tensor := func(name string, dims ...engine.Dim) *engine.Tensor { return s.Scratch(name, engine.Float32, dims...) }
	learned := q.network.params()
	if q.noisy != nil {
		learned = q.noisy.online
		q.gradient = s.Cleared("gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", 1)}, q.network.params().Dims()...)...)
	}
	q.network.learn(s.Sub("network"), learned, rows...)
	var choices *engine.Tensor
	switch {
	case q.cfg.Double && q.sequences != nil:
		choices = q.network.outputs
	case q.cfg.Double:
		choices = tensor("next_choices", q.network.outputs.Dims()...)
	}
	q.qLoss = newQLoss(s, q.network.outputs, tensor("next_values", q.network.outputs.Dims()...), choices, q.network.atOutputs, rows...)
	q.epsilon = tensor("epsilon", rows[0])
}

// initialErrors implements initialLearner: the errors are those of double Q-learning in which networks and targets are what acted.
func (q *qLearner) initialErrors(s *engine.State, y *Replay) func(*engine.Recorder, nn.Weights, ReplayBatch) *engine.Tensor {
	rows := []engine.Dim{engine.Members(q.members()), engine.Axis("transition", y.own.slots.Len()/q.members())}
	values := func(name string) *engine.Tensor {
		return s.Scratch(name, engine.Float32, rows[0], rows[1], engine.Axis("output", q.network.Model().Outputs()))
	}
	of := newQLoss(s, values("values"), values("next_values"), nil, values("gradient_at_values"), rows...)
	return func(r *engine.Recorder, by nn.Weights, b ReplayBatch) *engine.Tensor {
		q.network.Evaluate(r, by, inputs(b.Obs, nil), of.values)
		q.network.Evaluate(r, by, inputs(b.NextObs, nil), of.nextValues)
		q.recordLoss(r, q.clock.Tensor(), b, 0, of) // there is no update
		return of.errors
	}
}

func (q *qLearner) members() int { return q.cfg.Members }

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
	if q.spread != nil {
		b.explorer, b.explorers = q.spread.policy(*p), q.spread.levels
	}
	return b
}

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
	if q.spread != nil {
		q.spread.record(r, q.network.params())
	}
}

func (q *qLearner) prepare(*engine.Recorder) {}

func (q *qLearner) many() *lane.Updates { return q.form }

func (q *qLearner) restart(r *engine.Recorder) {
	r.Fail(errors.New("rl: dqn does not restart; want ddpg, td3, or sac with continuous actions"))
}

// update implements learner: the loop of algorithm 1 of V. Mnih et al., 2015, from the sampled minibatch on.
func (q *qLearner) update(r *engine.Recorder, u update) {
	if q.sequences != nil {
		q.updateFromSequences(r, u)
		return
	}
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
	q.network.pass.Forward(r, nn.Weights{Params: online}, inputs(b.Obs, nil), q.network.outputs)
	q.recordLoss(r, u.number, b, 0, q.qLoss)
	b.Reprioritize(r, q.errors)
	gradient := q.network.pass.Gradient(r, q.network.atOutputs)
	if q.noisy != nil {
		q.noisy.back(r, gradient, q.gradient)
		gradient = q.gradient
	}
	q.network.optimizer.Step(r, gradient) // update of the targets
}

// recordLoss records the loss of a batch, the gradient with respect to the outputs, and the errors for priorities. ahead is how many rows
// after its own a transition has the values of its next observation.
func (q *qLearner) recordLoss(r *engine.Recorder, number *engine.Tensor, b ReplayBatch, ahead int, of qLoss) {
	size := r.Workgroup()
	k := dqnLossKernel{
		Value: of.values.Range(), NextValue: of.nextValues.Range(), Action: b.Action.Range(), Reward: b.Reward.Range(), Factor: b.Factor.Range(),
		RewardScale: q.parts.rewardScale.Range(), Clock: q.clock.Tensor().Range(), Update: number.Range(),
		Interval: q.interval.Range(), Tau: q.tau.Range(), Share: of.share.Range(),
		AtValue: of.atValues.Range(), Error: of.errors.Range(), Loss: of.loss.Range(), Chosen: of.chosen.Range(),
		Rows: uint32(of.errors.Len() / q.members()), Ahead: uint32(ahead), Actions: uint32(q.head.Size), Updates: uint32(q.updates), Huber: float32(q.cfg.Huber),
		Dueling: q.cfg.Dueling, LocalSizeX: size,
	}
	if of.nextChoices != nil {
		k.NextChoice = of.nextChoices.Range()
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
		Rows: k.Rows, Ahead: k.Ahead, Actions: k.Actions, Updates: k.Updates, Dueling: k.Dueling, LocalSizeX: k.LocalSizeX,
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

func (q *qLearner) policies() []*engine.Tensor {
	all := []*engine.Tensor{q.network.params()}
	if q.normalizer != nil {
		all = append(all, q.normalizer.Inherited()...)
	}
	return all
}

func (q *qLearner) renew(r *engine.Recorder, source *engine.Tensor) {
	engine.Renew(r, source, q.target, q.network.params())
	q.network.optimizer.Renew(r, source)
}

func (q *qLearner) recordMetrics(r *engine.Recorder) {
	engine.Mean(r, q.rows.loss, q.loss, nil, 1)
	engine.Mean(r, q.rows.value, q.chosen, nil, 1)
	r.Copy(q.rows.norm, q.network.optimizer.Norm())
	engine.CopyCounts(r, q.rows.refused, q.network.optimizer.Refused())
	r.Copy(q.rows.epsilon, q.epsilon)
}
