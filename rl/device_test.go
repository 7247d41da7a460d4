package rl

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

func TestMain(m *testing.M) { vktest.Main(m) }

func open(t testing.TB) *vk.Device {
	t.Helper()
	return vktest.Device(t)
}

func lookup(t testing.TB, name string) *envs.Environment {
	t.Helper()
	env, err := envs.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// spaces is an environment that only gives sizes: for a learner without a rollout.
func spaces(obs int, action envs.Space) *envs.Environment {
	return &envs.Environment{Spec: envs.Spec{Name: "spaces", Observation: envs.Symmetric(make([]float32, obs)...), Action: action}}
}

// newLearner makes a PPO without rollouts, for a test that writes trajectories itself.
func newLearner(t testing.TB, eng *engine.Engine, env *envs.Environment, network NetworkConfig, cfg PPOConfig) *PPO {
	t.Helper()
	common, err := newOnPolicy(eng, env, "ppo", cfg, cfg.common())
	if err != nil {
		t.Fatal(err)
	}
	common.replays(network)
	p := &PPO{onPolicy: common, cfg: cfg, both: true}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.buildLearner(network); err != nil {
		t.Fatal(err)
	}
	p.minibatches.Stream = engine.Stream("minibatch") // of the permutations that the reference data were made with
	p.makeTrajectory(t)
	return p
}

// newIMPALALearner is newLearner of IMPALA.
func newIMPALALearner(t testing.TB, eng *engine.Engine, env *envs.Environment, network NetworkConfig, cfg IMPALAConfig) *IMPALA {
	t.Helper()
	common, err := newOnPolicy(eng, env, "impala", cfg, cfg.common())
	if err != nil {
		t.Fatal(err)
	}
	common.replays(network)
	p := &IMPALA{onPolicy: common, cfg: cfg}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.buildLearner(network); err != nil {
		t.Fatal(err)
	}
	p.makeTrajectory(t)
	return p
}

// makeTrajectory makes the tensors that a collector would write, and sets everything saved to its initial value.
func (o *onPolicy) makeTrajectory(t testing.TB) {
	t.Helper()
	tpe := []engine.Dim{engine.Time(o.common.RolloutLength), engine.Members(o.common.Members), engine.Environments(o.common.Environments)}
	tensor := func(name string, typ engine.DType, more ...engine.Dim) *engine.Tensor {
		return o.State().Sub("rollout").Scratch(name, typ, append(append([]engine.Dim(nil), tpe...), more...)...)
	}
	feature := engine.Axis("feature", o.env.ObsSize())
	o.minibatches.Trajectory = &envs.Trajectory{
		Obs: tensor("obs", engine.Float32, feature), Action: tensor("action", engine.Float32, engine.Axis("action", o.agent.head.Words())),
		LogProb: tensor("log_prob", engine.Float32), Reward: tensor("reward", engine.Float32), Done: tensor("done", engine.Uint32),
		NextObs: tensor("next_obs", engine.Float32, feature),
	}
	if h := o.agent.actor.Model().Memory(); h > 0 {
		beginMemory(o.State().Sub("rollout"), o.minibatches.Trajectory, o.common.Members, o.common.Environments, h)
	}
	if err := o.State().Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.Hyper().Init(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// run records and runs a program.
func run(t testing.TB, eng *engine.Engine, f func(*engine.Recorder)) {
	t.Helper()
	program, err := eng.Record("test", f)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, to *engine.Tensor, values []float64) {
	t.Helper()
	var err error
	if to.Type() == engine.Uint32 {
		words := make([]uint32, len(values))
		for i, v := range values {
			words[i] = uint32(v)
		}
		err = to.WriteUint32(t.Context(), words)
	} else {
		floats := make([]float32, len(values))
		for i, v := range values {
			floats[i] = float32(v)
		}
		err = to.WriteFloat32(t.Context(), floats)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, from *engine.Tensor) []float64 {
	t.Helper()
	out := make([]float64, from.Len())
	if from.Type() == engine.Uint32 {
		words, err := from.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range words {
			out[i] = float64(w)
		}
		return out
	}
	floats, err := from.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range floats {
		out[i] = float64(v)
	}
	return out
}

// poison fills tensors with what would show if it were read.
func poison(t testing.TB, tensors ...*engine.Tensor) {
	t.Helper()
	for _, to := range tensors {
		var err error
		if to.Type() == engine.Uint32 {
			err = to.WriteUint32(t.Context(), slices.Repeat([]uint32{math.Float32bits(float32(math.NaN()))}, to.Len()))
		} else {
			err = to.Fill(t.Context(), float32(math.NaN()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// deviation is the largest deviation of got from want, in proportion to the largest value wanted; NaN where one is.
func deviation(got, want []float64) float64 {
	worst, size := 0.0, 0.0
	for i, w := range want {
		size = max(size, math.Abs(w))
		worst = max(worst, math.Abs(got[i]-w))
	}
	return worst / size
}

// zero clears tensors.
func zero(t testing.TB, tensors ...*engine.Tensor) {
	t.Helper()
	for _, to := range tensors {
		if err := to.WriteBytes(t.Context(), make([]byte, 4*to.Len())); err != nil {
			t.Fatal(err)
		}
	}
}

// joint is a tensor of the actors and one of the critics, which tests take as one: a member's row is the actor's, then the critic's. If they share layers,
// critic is nil.
type joint struct{ actor, critic *engine.Tensor }

// jointPart is one of both, at a place of a member's row.
type jointPart struct {
	tensor *engine.Tensor
	at     int
}

func (j joint) parts() []jointPart {
	if j.critic == nil {
		return []jointPart{{j.actor, 0}}
	}
	return []jointPart{{j.actor, 0}, {j.critic, rowOf(j.actor)}}
}

// criticBase is where the parameters of an agent's critic are in a row of both.
func criticBase(a *Agent) int {
	if a.shares() {
		return 0
	}
	return rowOf(a.Actor())
}

// joint looks up a saved tensor of actors and critics.
func (o *onPolicy) joint(name string) joint {
	return joint{o.State().Lookup("agent/actor/" + name), o.State().Lookup("agent/critic/" + name)}
}

func (o *onPolicy) gradients() joint {
	if o.parts != nil {
		return joint{o.parts.actor.gradients, o.parts.critic.gradients}
	}
	if o.agent.shares() {
		return joint{o.agent.actor.pass.Into(), nil}
	}
	return joint{o.agent.actor.pass.Into(), o.agent.critic.pass.Into()}
}

// poisonGradient poisons the gradient of networks, except for the padding behind their parameters, which no kernel writes.
func poisonGradient(t *testing.T, n *network) {
	t.Helper()
	into := n.pass.Into()
	row, values := into.Size("parameter"), make([]float64, into.Len())
	for i := range values {
		if i%row < n.Model().Size() {
			values[i] = math.NaN()
		}
	}
	write(t, into, values)
}

// row is the number of elements of a member.
func (j joint) row() (n int) {
	for _, part := range j.parts() {
		n += rowOf(part.tensor)
	}
	return n
}

func rowOf(x *engine.Tensor) int {
	_, _, row, _ := x.Split(engine.MemberAxis)
	return row
}

// read is [M, row], of gradients the sums over their splits.
func (j joint) read(t testing.TB) []float64 {
	t.Helper()
	members := j.actor.Size(engine.MemberAxis)
	out := make([]float64, members*j.row())
	for _, part := range j.parts() {
		row := rowOf(part.tensor)
		for i, v := range read(t, part.tensor) {
			out[i/row%members*j.row()+part.at+i%row] += v
		}
	}
	return out
}

// write sets [M, row]; every split of gradients to the same.
func (j joint) write(t testing.TB, values []float64) {
	t.Helper()
	members := j.actor.Size(engine.MemberAxis)
	for _, part := range j.parts() {
		row, all := rowOf(part.tensor), make([]float64, part.tensor.Len())
		for i := range all {
			all[i] = values[i/row%members*j.row()+part.at+i%row]
		}
		write(t, part.tensor, all)
	}
}
