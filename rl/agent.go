package rl

import (
	"context"
	"errors"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl/internal/lane"
)

// Agent holds, for M members, an actor and a critic, the head that turns the actor's outputs into actions, and the
// normalization of observations and rewards. Actor and critic have separate parameters and optimizers. An actor's
// parameters are a row as a search for policies (ec/problem) has them: the network's, then the head's.
//
// If they share layers (NetworkConfig.Shared), the critic is a branch of the actor's network (nn.Branch): its own layers follow in the actor's row, which
// one optimizer steps by the gradient of both losses. What acts reads the actor's part of a row, as without.
type Agent struct {
	cfg           NetworkConfig
	scope         *engine.State
	head          nn.Head
	actor, critic *network
	group         *optim.Group   // nil: the optimizers step separately
	normalizer    *nn.Normalizer // nil: none
	rewards       *rewardScale   // nil: none
	world         *worldStates   // that the critic sees; nil: it sees the observation
}

// agentConfig holds the settings of an agent.
type agentConfig struct {
	network      NetworkConfig
	members      int
	rows         int            // transitions of the largest minibatch
	horizon      int            // steps of a trajectory, for networks with memory: minibatches are of whole ones
	environments int            // per member, for critics with memory
	critic       nn.Shape       // of what the critic sees
	optimizer    optim.Config   // of the actor, and of the critic
	rate         *engine.Tensor // [M]: learning rate of both
	maxNorm      float64        // largest norm of the joint gradient of actor and critic; 0: no limit. ClipUp has its own
}

func newAgent(s *engine.State, env *envs.Environment, c agentConfig) (*Agent, error) {
	a := &Agent{cfg: c.network, scope: s, head: c.network.head(env.Action)}
	actor, critic := a.cfg.policyAndValue(env, a.head, c.critic)
	err := a.makeNetworks(s, actor, critic, c)
	if err != nil {
		return nil, err
	}
	if m := a.critic.memory; m != nil {
		if m.critic, err = newCriticMemory(s.Sub("critic"), env, a.critic, c); err != nil {
			return nil, err
		}
	}
	if c.optimizer.Rule != optim.ClipUp && !a.shares() { // its steps have a fixed length
		if a.group, err = optim.NewGroup(c.maxNorm, a.actor.optimizer, a.critic.optimizer); err != nil {
			return nil, err
		}
	}
	if a.cfg.NormalizeObs {
		a.normalizer = nn.NewNormalizer(s, c.members, env.ObsSize())
	}
	return a, s.Err()
}

// makeNetworks makes actor and critic.
func (a *Agent) makeNetworks(s *engine.State, actor, critic nn.Model, c agentConfig) (err error) {
	branch, shared := critic.(nn.Branch)
	if shared {
		if c.optimizer.Rule != optim.ClipUp {
			c.optimizer.MaxNorm = c.maxNorm
		}
		a.actor, a.critic, err = newBranched(s, branch, c)
		return err
	}
	if a.actor, err = newNetwork(s.Sub("actor"), actor, nn.Align(actor.Size()+a.head.Parameters()), c); err == nil {
		a.critic, err = newNetwork(s.Sub("critic"), critic, nn.Align(critic.Size()), c)
	}
	return err
}

// shares reports whether actor and critic share layers.
func (a *Agent) shares() bool { return a.cfg.Shared != ShareNone }

// learning returns the networks that learn with an optimizer each.
func (a *Agent) learning() []*network {
	if a.shares() {
		return []*network{a.actor}
	}
	return []*network{a.actor, a.critic}
}

// Actor returns the actors' parameters [M, row].
func (a *Agent) Actor() *engine.Tensor { return a.actor.params() }

// NetworkRows are the rows of a network of every member.
type NetworkRows struct {
	Rows   []*engine.Tensor // [M, row] each: the parameters, and the optimizer's moments of these
	Layers []int            // the float of a row at which each layer with parameters begins; a head's parameters follow those of the last
}

// Networks returns the rows of the actors and of the critics; if these share layers, one with the layers of both.
func (a *Agent) Networks() (all []NetworkRows) {
	for _, n := range a.learning() {
		rows, layers := NetworkRows{Rows: n.optimizer.Rows()}, n.Model().Layers()
		if branch, ok := a.critic.Model().(nn.Branch); ok {
			layers = append(layers, branch.Own()...)
		}
		for _, l := range layers {
			if len(l.Parameters()) > 0 {
				rows.Layers = append(rows.Layers, l.Weight)
			}
		}
		all = append(all, rows)
	}
	return all
}

// Policy returns the actor in the form that rollouts take.
func (a *Agent) Policy() *envs.Policy {
	return &envs.Policy{
		Weights: a.actor.weights(), Network: a.actor.Model(), Head: a.head,
		Normalizer: a.normalizerValues(), ObsLimit: float32(a.cfg.ObsLimit),
	}
}

// behaviour returns the policy and normalization for a collector.
func (a *Agent) behaviour() behaviour {
	return behaviour{policy: a.Policy(), normalizer: a.normalizer, rewards: a.rewards}
}

// Values records the critic's values [T, M, E] of a trajectory's observations and, unless next is nil, those of its next observations, these only
// where an episode ends and at the last step (nn.Inputs.Ends). Critics with memory go on from the trajectory before: call it once for each. Those that
// see the world (PPOConfig.CriticInput) see that of next observations, too.
func (a *Agent) Values(r *engine.Recorder, t *envs.Trajectory, values, next *engine.Tensor) {
	if a.world != nil {
		a.world.values(r, a, t, values, next)
		return
	}
	now, then := a.inputs(t, t.Obs), a.inputs(t, t.NextObs)
	then.Ends = t.Done
	w, m := a.critic.weights(), a.critic.memory
	if m != nil {
		m.critic.record(r, w, now, t, values)
		defer m.critic.pass.Release()
	} else {
		a.critic.Evaluate(r, w, now, values)
	}
	switch {
	case next == nil:
	case m != nil:
		m.critic.whole.Record(r, then, next)
	default:
		a.critic.Evaluate(r, w, then, next)
	}
}

// inputs returns observations of a trajectory as inputs of the networks.
func (a *Agent) inputs(t *envs.Trajectory, obs *engine.Tensor) nn.Inputs {
	return nn.Inputs{Parts: []*engine.Tensor{obs}, Element: t.Element(), Normalizer: a.normalizerValues(), Limit: float32(a.cfg.ObsLimit)}
}

// Step records an update of actor and critic with their gradients [splits, M, row]; if they share layers, with the actor's alone.
func (a *Agent) Step(r *engine.Recorder, actor, critic *engine.Tensor) {
	switch {
	case a.group != nil:
		a.group.Step(r, actor, critic)
	case a.shares():
		a.actor.optimizer.Step(r, actor)
	default:
		a.actor.optimizer.Step(r, actor)
		a.critic.optimizer.Step(r, critic)
	}
}

// init draws the members' initial parameters.
func (a *Agent) init(ctx context.Context) error {
	actor, critic := a.actor.params(), a.critic.params()
	members, actorRow, criticRow := actor.Size(engine.MemberAxis), actor.Size("parameter"), critic.Size("parameter")
	actors, critics := make([]float32, actor.Len()), make([]float32, critic.Len())
	if a.shares() {
		critics = actors
	}
	for p := range members {
		row := actors[p*actorRow : (p+1)*actorRow]
		rng := engine.NewRng(a.scope.Engine().Seed(), a.scope.Stream("init"), uint32(p), 0, 0)
		a.actor.Model().Init(row, a.cfg.Initializer, a.cfg.HiddenGain, a.cfg.ActorGain, rng)
		a.critic.Model().Init(critics[p*criticRow:(p+1)*criticRow], a.cfg.Initializer, a.cfg.HiddenGain, a.cfg.CriticGain, rng)
		for i := range a.head.Parameters() {
			row[a.headBase()+i] = float32(a.cfg.LogStd)
		}
	}
	err := errors.Join(actor.WriteFloat32(ctx, actors), critic.WriteFloat32(ctx, critics))
	if a.normalizer != nil {
		err = errors.Join(err, a.normalizer.Init(ctx))
	}
	if a.rewards != nil {
		err = errors.Join(err, a.rewards.init(ctx))
	}
	return err
}

// learner describes the agent's actor or critic to its loss.
func (a *Agent) learner(n *network) lane.Learner {
	l := lane.Learner{
		Network: n.Network, Pass: n.pass, Params: n.params(), Head: a.head, Normalizer: a.normalizerValues(), ObsLimit: float32(a.cfg.ObsLimit),
		Sequence: n.sequence(), Memory: n.firstMemory(),
	}
	if n == a.critic {
		l.Branch = a.shares()
		if a.world != nil {
			l.Normalizer = nil // states are normalized already
		}
	}
	return l
}

// headBase returns the offset of the head's parameters in an actor's row.
func (a *Agent) headBase() int { return a.actor.Model().Size() }

func (a *Agent) normalizerValues() *engine.Tensor {
	if a.normalizer == nil {
		return nil
	}
	return a.normalizer.Values()
}

// network holds the actors, or the critics, of all members, with their optimizer.
type network struct {
	*nn.Network
	pass      *nn.Pass // over a minibatch; nil of networks with memory. Of a critic that is a branch it is the actor's, and so is the optimizer
	memory    *memory  // of those; else nil
	optimizer *optim.Optimizer

	outputs, atOutputs *engine.Tensor // of the pass, and the loss gradient with respect to them; nil before learn
}

func newNetwork(s *engine.State, model nn.Model, row int, c agentConfig) (*network, error) {
	return newStack(s, model, 1, row, c)
}

// newStack makes, for every member, a stack of networks that share a row of the optimizer.
func newStack(s *engine.State, model nn.Model, networks, row int, c agentConfig) (*network, error) {
	rows := c.rows
	if model.Memory() > 0 {
		rows = 1 // sequences have room of their own
	}
	n := &network{}
	var err error
	if n.Network, err = nn.NewStack(s, model, c.members, networks, rows); err != nil {
		return nil, err
	}
	if model.Memory() > 0 {
		n.memory, err = newMemory(s, n.Network, c)
	} else {
		n.pass, err = n.NewPass(s, rows)
	}
	if err != nil {
		return nil, err
	}
	n.optimizer = optim.New(s, c.optimizer, c.rate, row)
	return n, s.Err()
}

// newBranched makes an actor with a critic that is a branch of it.
func newBranched(s *engine.State, branch nn.Branch, c agentConfig) (actor, critic *network, err error) {
	rows := c.rows
	if branch.Memory() > 0 {
		rows = 1 // sequences have room of their own
	}
	of := s.Sub("actor")
	actor, critic = &network{}, &network{}
	if actor.Network, err = nn.NewBranched(of, branch, c.members, rows); err != nil {
		return nil, nil, err
	}
	if critic.Network, err = nn.New(s.Sub("critic"), branch, c.members, rows); err != nil {
		return nil, nil, err
	}
	if branch.Memory() > 0 {
		actor.memory, err = newMemory(of, actor.Network, c)
	} else {
		actor.pass, err = actor.NewPass(of, rows)
	}
	if err != nil {
		return nil, nil, err
	}
	actor.optimizer = optim.New(of, c.optimizer, c.rate, nn.Align(branch.Size()))
	critic.pass, critic.optimizer = actor.pass, actor.optimizer
	if m := actor.memory; m != nil {
		critic.memory = &memory{sequence: m.sequence, batch: m.batch}
	}
	return actor, critic, s.Err()
}

// learn makes what the pass writes: outputs with the leading axes dims, and gradients of the parameters, which have the shape of params.
func (n *network) learn(s *engine.State, params *engine.Tensor, dims ...engine.Dim) {
	if n.memory != nil {
		n.memory.sequence.Learn(s, params)
	} else {
		n.pass.Learn(s, params)
	}
	dims = append(dims, engine.Axis("output", n.Model().Outputs()))
	n.outputs, n.atOutputs = s.Scratch("outputs", engine.Float32, dims...), s.Scratch("gradient_at_outputs", engine.Float32, dims...)
}

func (n *network) params() *engine.Tensor { return n.optimizer.Params() }

func (n *network) weights() nn.Weights { return nn.Weights{Params: n.params()} }
