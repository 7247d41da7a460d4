package rl

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// SACConfig are the settings of SAC. Fields with the tag member are tensors [P] on the device, which PBT may vary.
type SACConfig struct {
	OffPolicyConfig

	ActorLearningRate       float64 `min:"0" max:"1" doc:"Step size of the actor's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	CriticLearningRate      float64 `min:"0" max:"1" doc:"Step size of the critics' optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	TemperatureLearningRate float64 `min:"0" max:"1" doc:"Step size of the temperature's optimizer, per member." member:"log_uniform 3e-5 3e-3"`
	Tau                     float64 `min:"0" max:"1" doc:"Share of the parameters that the targets take over at an update, per member." member:""`

	LearnTemperature bool    `doc:"The temperature is learned, so that the policy has the target entropy."`
	Temperature      float64 `above:"0" doc:"Weight of the entropy; where it is learned, at the beginning. Per member where it is not learned." member:""`
	TargetEntropy    float64 `doc:"Entropy, for each dimension of actions, that a learned temperature aims at, per member." member:"uniform -2 -0.2"`
}

// DefaultSAC is the paper's second version (T. Haarnoja et al., 2018, table 1): a learned temperature, begun at 1 as Stable-Baselines3 does; what
// it leaves open is CleanRL's. Priors are fastpbrl's (A. Flajolet et al., 2022).
func DefaultSAC() SACConfig {
	c := SACConfig{
		OffPolicyConfig:   defaultOffPolicy(),
		ActorLearningRate: 3e-4, CriticLearningRate: 3e-4, TemperatureLearningRate: 3e-4, Tau: 0.005,
		LearnTemperature: true, Temperature: 1, TargetEntropy: -1,
	}
	c.LearningStarts = 5000
	return c
}

// Fits implements Fitting.
func (c SACConfig) Fits(env *envs.Environment, network NetworkConfig, replay ReplayConfig) error {
	if !network.StateDependentStd {
		return config.Invalid("network.state_dependent_std", "the deviations of sac's actions are outputs of the actor; want true")
	}
	return c.fitsContinuous("sac", env, network, replay)
}

// sac is the learner of SAC.
type sac struct {
	*actorCritic
	cfg                   SACConfig
	nextStream, ownStream uint32 // of the random numbers of next actions, and of the actor's own

	temperature   *engine.Tensor   // [P], or learned: its logarithm [P, 4], of which the first counts
	optimizer     *optim.Optimizer // of the temperature's logarithm; nil: it is not learned
	group         *optim.Group     // of actor and temperature
	atLog         *engine.Tensor   // [1, P, 4]: gradient of the logarithm
	targetEntropy *engine.Tensor   // [P]

	atTwins, atLogProb       *engine.Tensor // [P, 2, B, A]: the gradient at actions; [P, B]: at log-probabilities
	actorRow, temperatureRow *engine.Tensor // metrics [P]
	entropyRow               *engine.Tensor
}

// NewSAC makes a workflow of soft actor-critic (T. Haarnoja et al., "Soft Actor-Critic Algorithms and Applications", 2018, algorithm 1), with
// log standard deviations that are the actor's outputs, from min_log_std to max_log_std. Init or a checkpoint must fill its state
// before the first Step. Close it after use.
//
// Errors: those of NewDDPG.
func NewSAC(ctx context.Context, eng *engine.Engine, env *envs.Environment, cfg SACConfig, opts ...Option) (*OffPolicy, error) {
	with := offPolicySettings(DefaultSACNetwork(), opts)
	return newOffPolicy(ctx, "sac", eng, env, cfg, cfg.OffPolicyConfig, with, func(o *OffPolicy, parts learnerParts) (learner, error) {
		return newSAC(o, parts, cfg)
	})
}

func newSAC(o *OffPolicy, parts learnerParts, c SACConfig) (*sac, error) {
	if err := parts.oneActor(); err != nil {
		return nil, err
	}
	h, s, m := o.Hyper(), o.State(), o.Metrics()
	ac, err := newActorCritic(o, actorCriticConfig{
		learnerParts: parts, twins: 2, head: parts.network.head(parts.env.Action),
		actorRate: h.Add("actor_learning_rate", c.ActorLearningRate), criticRate: h.Add("critic_learning_rate", c.CriticLearningRate), tau: h.Add("tau", c.Tau),
	})
	if err != nil {
		return nil, err
	}
	ac.critics.optimizer.Follow(ac.targetCritics, ac.tau)
	a := &sac{actorCritic: ac, cfg: c, nextStream: s.Stream("next_action"), ownStream: s.Stream("own_action")}
	rate := h.Add("temperature_learning_rate", c.TemperatureLearningRate)
	a.targetEntropy = h.Add("target_entropy", c.TargetEntropy)
	if c.LearnTemperature {
		a.optimizer = optim.New(s.Sub("agent/temperature"), parts.optimizer, rate, 4)
		a.temperature = a.optimizer.Params()
		a.atLog = s.Sub("update").Scratch("temperature_gradient", engine.Float32, append([]engine.Dim{engine.Axis("split", 1)}, a.temperature.Dims()...)...)
		if a.group, err = optim.NewGroup(0, ac.actor.optimizer, a.optimizer); err != nil {
			return nil, err
		}
	} else {
		a.temperature = h.Add("temperature", c.Temperature)
	}
	p, b := engine.Members(a.members), engine.Axis("transition", a.batch)
	scratch := s.Sub("update")
	a.atTwins = scratch.Scratch("gradient_at_twins_actions", engine.Float32, p, nn.Networks(2), b, engine.Axis("action", a.head.Size))
	a.atLogProb = scratch.Scratch("gradient_at_log_prob", engine.Float32, p, b)
	a.actorRow, a.temperatureRow, a.entropyRow = m.Row("loss/actor"), m.Row("policy/temperature"), m.Row("policy/entropy")
	return a, s.Err()
}

// behaviour implements learner.
func (a *sac) behaviour() behaviour {
	return behaviour{policy: a.policy(a.head), normalizer: a.normalizer}
}

// block implements learner.
func (a *sac) block(int) int { return 1 }

// update implements learner: algorithm 1.
func (a *sac) update(r *engine.Recorder, u update) {
	a.actor.Evaluate(r, a.actor.weights(), inputs(u.batch.NextObs, nil), a.outputs)
	a.head.Sample(r, a.headBatch(u, a.nextStream), a.actions, a.logProb)
	a.descendCritics(r, u, a.temperature, a.cfg.LearnTemperature) // equations 5 and 6
	a.descendActor(r, u)
}

// descendActor records an update of the actor (equations 7 to 9) and, where it is learned, of the temperature (equation 18), by one sample of
// actions.
func (a *sac) descendActor(r *engine.Recorder, u update) {
	obs, b := u.batch.Obs, a.headBatch(u, a.ownStream)
	a.actor.pass.Forward(r, a.actor.weights(), inputs(obs, nil), a.outputs)
	a.head.Sample(r, b, a.actions, a.logProb)
	a.critics.pass.Forward(r, a.critics.weights(), inputs(obs, a.actions), a.values)
	k := softActorKernel{
		Value: a.values.Range(), LogProb: a.logProb.Range(), Temperature: a.temperature.Range(), Entropy: a.targetEntropy.Range(),
		AtValue: a.atValues.Range(), AtLogProb: a.atLogProb.Range(), Loss: a.actorRow.Range(), Applied: a.temperatureRow.Range(),
		Rows: uint32(a.batch), Dimensions: uint32(a.head.Size), LogTemperature: a.cfg.LearnTemperature, Workgroup: r.WorkgroupFor(a.batch),
	}
	if a.atLog != nil {
		k.AtLog = a.atLog.Range()
	}
	r.Dispatch(k.call(uint32(a.members), 1, 1))
	a.critics.pass.Backward(r, a.atValues, nn.Gradients{Inputs: []*engine.Tensor{nil, a.atTwins}})
	a.head.Backward(r, b, nn.HeadGradients{Action: a.atTwins, LogProb: a.atLogProb, Outputs: a.atOutputs})
	a.actor.pass.Backward(r, a.atOutputs, nn.Gradients{Params: a.actorGradient})
	if a.group != nil {
		a.group.Record(r, a.actorGradient, a.atLog)
		return
	}
	a.actor.optimizer.Record(r, a.actorGradient)
}

// recordMetrics implements learner.
func (a *sac) recordMetrics(r *engine.Recorder) {
	a.actorCritic.recordMetrics(r)
	engine.Mean(r, a.entropyRow, a.logProb, nil, -1)
}

// init implements learner.
func (a *sac) init(ctx context.Context) error {
	err := a.actorCritic.init(ctx)
	if a.optimizer == nil {
		return err
	}
	logs := make([]float32, 4*a.members)
	for p := range a.members {
		logs[4*p] = float32(math.Log(a.cfg.Temperature))
	}
	return errors.Join(err, a.temperature.WriteFloat32(ctx, logs))
}
