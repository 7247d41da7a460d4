package rl

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// torchReference is a file of testdata that tools/reference/offpolicy_update.py wrote, which documents it.
type torchReference struct {
	Adam  struct{ Epsilon float64 }
	Draws struct{ Seed, Iteration uint32 }
	Cases []torchCase
}

type torchCase struct {
	Name, Distribution string
	Critics, Delay     int
	Discrete, Mixed    bool
	Double, Dueling    bool
	Huber, Weighted    bool
	Clipped            bool
	Epsilon            float64 // of Adam; 0: the file's
	WeightDecay        float64 `json:"weight_decay"`
	Actions, Atoms     int
	Range              []float64        // of the atoms
	MaxGradNorm        float64          `json:"max_grad_norm"`
	LogStd             []float64        `json:"log_std"`
	Sizes              map[string][]int // of each network, from inputs to outputs
	Hyper              map[string][]float64
	Initial            map[string]array
	Updates            []struct{ Batch, Noise, Expect map[string]array }
}

func readTorch(t *testing.T, name string) (ref torchReference) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+"_update.json"))
	if err == nil {
		err = json.Unmarshal(text, &ref)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (c torchCase) members() int { return len(c.Hyper["tau"]) + len(c.Hyper["lambda"]) }

// hidden are the hidden layers of its networks.
func (c torchCase) hidden() []int {
	for _, sizes := range c.Sizes {
		return sizes[1 : len(sizes)-1]
	}
	return nil
}

// aligned are rows of parameters as the device has them.
func (a array) aligned() (out []float64) {
	n := a.Shape[len(a.Shape)-1]
	for at := 0; at < len(a.Data); at += n {
		out = append(append(out, a.Data[at:at+n]...), make([]float64, nn.Align(n)-n)...)
	}
	return out
}

// timeFirst is a [M, T, E, …] array as [T, M, E, …].
func (a array) timeFirst() []float64 {
	p, steps := a.Shape[0], a.Shape[1]
	n := len(a.Data) / (p * steps)
	out := make([]float64, 0, len(a.Data))
	for t := range steps {
		for m := range p {
			out = append(out, a.Data[(m*steps+t)*n:][:n]...)
		}
	}
	return out
}

// torchCompare compares [M, …] values by member; relative to the largest of a member.
func torchCompare(t *testing.T, what string, members int, got, want []float64, tolerance float64) {
	t.Helper()
	n := len(want) / members
	if len(got) != len(want) {
		t.Fatalf("%s: %d values; want %d", what, len(got), len(want))
	}
	for m := range members {
		off := deviation(got[m*n:][:n], want[m*n:][:n])
		t.Logf("%s of member %d: deviation %.1e of the largest", what, m, off)
		if !(off <= tolerance) {
			t.Errorf("%s of member %d deviates by %g of the largest; want at most %g", what, m, off, tolerance)
		}
	}
}

// summed is a gradient [splits, M, …] added over its splits.
func summed(t *testing.T, gradient *engine.Tensor) []float64 {
	t.Helper()
	outer, members, row, _ := gradient.Split(engine.MemberAxis)
	out := make([]float64, members*row)
	for i, v := range read(t, gradient) {
		out[i%(outer*members*row)%len(out)] += v
	}
	return out
}

const (
	torchGradient = 2e-6 // deviations of a gradient
	torchParams   = 2e-6 // and of parameters after two updates
)

// TestTorchActorCritics compares updates of DDPG, TD3 and SAC with PyTorch's in float64: gradients, parameters, targets
// that follow.
func TestTorchActorCritics(t *testing.T) {
	for _, file := range []string{"deterministic", "sac"} {
		ref := readTorch(t, file)
		eng := engine.New(open(t), engine.Seed(ref.Draws.Seed))
		for _, c := range ref.Cases {
			if !c.Discrete {
				t.Run(c.Name, func(t *testing.T) { c.actorCritic(t, eng, ref) })
			}
		}
	}
}

func (c torchCase) actorCritic(t *testing.T, eng *engine.Engine, ref torchReference) {
	adam, network := optim.DefaultAdam, DefaultSACNetwork()
	if adam.Epsilon, network.Hidden = ref.Adam.Epsilon, c.hidden(); c.Epsilon > 0 {
		adam.Epsilon = c.Epsilon
	}
	obs := c.Sizes["actor"][0]
	actions := c.Sizes["critics"][0] - obs
	parts := learnerParts{
		env: spaces(obs, envs.Symmetric(make([]float32, actions)...)), network: network,
		batch: c.Updates[0].Batch["reward"].Shape[1], optimizer: adam,
	}
	o, batch := bareOffPolicy(t, eng, c.members(), parts, func(o *OffPolicy, parts learnerParts) (learner, error) {
		if c.LogStd != nil {
			parts.network.MinLogStd, parts.network.MaxLogStd = c.LogStd[0], c.LogStd[1]
			return newSAC(o, parts, SACConfig{LearnTemperature: true})
		}
		parts.network.StateDependentStd = false
		if c.Critics == 1 {
			return newDDPG(o, parts, DDPGConfig{})
		}
		cfg := TD3Config{PolicyDelay: float64(max(c.Delay, 1)), DelayTargets: true, TargetActor: c.Atoms == 0}
		if c.Atoms > 0 {
			cfg.CriticConfig = CriticConfig{Atoms: c.Atoms, MinValue: c.Range[0], MaxValue: c.Range[1], ClippedDouble: c.Clipped}
			cfg.WeightDecay = c.WeightDecay
		}
		return newTD3(o, parts, cfg, nil)
	})
	tensors, gradients := c.tensors(o.learner)
	for name, values := range c.Hyper {
		if name == "target_entropy" { // there for each dimension of actions
			values = append([]float64(nil), values...)
			for i := range values {
				values[i] /= float64(actions)
			}
		}
		write(t, o.Hyper().Lookup(name), values)
	}
	write(t, o.Clock().Tensor(), []float64{float64(ref.Draws.Iteration), 0})
	for name, x := range tensors {
		write(t, x, c.Initial[name].aligned())
	}
	number := o.State().Sub("test").Scratch("number", engine.Uint32, engine.Axis("count", 1))
	block := o.learner.block(len(c.Updates))
	for i, u := range c.Updates {
		for name, x := range map[string]*engine.Tensor{
			"obs": batch.Obs, "next_obs": batch.NextObs, "action": batch.Action, "reward": batch.Reward, "factor": batch.Factor,
		} {
			write(t, x, u.Batch[name].Data)
		}
		write(t, number, []float64{float64(i)})
		run(t, eng, func(r *engine.Recorder) {
			o.learner.prepare(r)
			o.learner.update(r, update{batch: batch, number: number, block: block, at: i % block})
		})
		compare := func(what string, got []float64, name string, tolerance float64) {
			want, ok := u.Expect[name]
			if !ok && i%block < block-1 {
				return // of what the delay leaves out
			}
			torchCompare(t, fmt.Sprintf("update %d: %s", i, what), c.members(), got, want.aligned(), tolerance)
		}
		if d, ok := o.learner.(*td3); ok && d.distribution != nil {
			torchCompare(t, "values", c.members(), read(t, d.chosen), u.Expect["value"].Data, torchGradient)
		}
		for name, x := range gradients {
			compare("gradient of "+name, summed(t, x), "gradient/"+name, torchGradient)
		}
		for name, x := range tensors {
			expected := "params/" + name
			if following, ok := strings.CutPrefix(name, "target_"); ok {
				expected = "target/" + following
			}
			compare(name, read(t, x), expected, torchParams)
		}
	}
}

// tensors are a learner's parameters and gradients by the reference's names. Its random numbers become the reference's.
func (c torchCase) tensors(l learner) (tensors, gradients map[string]*engine.Tensor) {
	var ac *actorCritic
	tensors = map[string]*engine.Tensor{}
	switch of := l.(type) {
	case *deterministic:
		ac, tensors["target_actor"] = of.actorCritic, of.targetActor
	case *td3:
		if ac = of.actorCritic; of.targetActor != nil {
			tensors["target_actor"] = of.targetActor
		}
		of.smoothing.stream = engine.Stream("next")
	case *sac:
		ac, tensors["log_temperature"] = of.actorCritic, of.temperature
		of.nextStream, of.ownStream = engine.Stream("next"), engine.Stream("own")
	}
	tensors["actor"], tensors["critics"], tensors["target_critics"] = ac.actor.params(), ac.critics.params(), ac.targetCritics
	return tensors, map[string]*engine.Tensor{"actor": ac.actor.pass.Into(), "critics": ac.critics.pass.Into()}
}

// TestTorchIMPALA compares updates of IMPALA with PyTorch's in float64: targets, advantages, gradients, clipping,
// parameters.
func TestTorchIMPALA(t *testing.T) {
	ref := readTorch(t, "impala")
	eng := engine.New(open(t), engine.Seed(ref.Draws.Seed))
	for _, c := range ref.Cases {
		t.Run(c.Name, func(t *testing.T) { c.impala(t, eng, ref) })
	}
}

func (c torchCase) impala(t *testing.T, eng *engine.Engine, ref torchReference) {
	in := c.Updates[0].Batch // and of all
	cfg, network := DefaultIMPALA(), DefaultNetwork()
	cfg.Members, cfg.RolloutLength, cfg.Environments = c.members(), in["reward"].Shape[1], in["reward"].Shape[2]
	cfg.Epochs, cfg.Minibatches = 1, 1
	cfg.MixValues, cfg.MaxGradNorm, cfg.OptimizerEpsilon = c.Mixed, c.MaxGradNorm, ref.Adam.Epsilon
	network.Hidden, network.Activation, network.Squash = c.hidden(), nn.ReLU, false
	sizes := c.Sizes["actor"]
	action := envs.Discrete(sizes[len(sizes)-1])
	if c.Distribution == "gaussian" {
		action = envs.Symmetric(make([]float32, sizes[len(sizes)-1])...)
	}
	p := newIMPALALearner(t, eng, spaces(sizes[0], action), network, cfg)
	// A member's row is the actor's, with what the head has of its own, and the critic's.
	assemble := func(parts map[string]array, prefix string) []float64 {
		row, critic := p.joint("params").row(), rowOf(p.agent.Actor())
		all := make([]float64, cfg.Members*row)
		for m := range cfg.Members {
			copy(all[m*row:], parts[prefix+"actor"].row(m))
			copy(all[m*row+critic:], parts[prefix+"critic"].row(m))
			if logStd, ok := parts[prefix+"log_std"]; ok {
				copy(all[m*row+p.agent.headBase():], logStd.row(m))
			}
		}
		return all
	}
	for name, values := range c.Hyper {
		write(t, p.Hyper().Lookup(name), values)
	}
	x := p.minibatches.Trajectory
	for name, to := range map[string]*engine.Tensor{
		"obs": x.Obs, "next_obs": x.NextObs, "action": x.Action, "reward": x.Reward, "log_prob": x.LogProb,
	} {
		write(t, to, in[name].timeFirst())
	}
	done, truncated := in["terminated"].timeFirst(), in["truncated"].timeFirst()
	for i := range done {
		done[i] = done[i]*float64(envs.Terminated) + truncated[i]*float64(envs.Truncated)
	}
	write(t, x.Done, done)
	p.joint("params").write(t, assemble(c.Initial, ""))
	for i, u := range c.Updates {
		poison(t, p.vtrace.target, p.vtrace.advantage)
		run(t, eng, p.recordUpdates)
		for what, got := range map[string][]float64{"v": read(t, p.vtrace.target), "advantage": read(t, p.vtrace.advantage)} {
			off := deviation(got, u.Expect[what].timeFirst())
			if t.Logf("update %d: %s: deviation %.1e of the largest", i, what, off); !(off <= torchParams) {
				t.Errorf("update %d: %s deviates by %g of the largest; want at most %g", i, what, off, torchParams)
			}
		}
		compare := func(what string, got, want []float64, tolerance float64) {
			torchCompare(t, fmt.Sprintf("update %d: %s", i, what), cfg.Members, got, want, tolerance)
		}
		norm := read(t, p.agent.actor.optimizer.Norm())
		compare("norm", norm, u.Expect["gradient/norm"].Data, torchGradient)
		compare("gradient", p.gradients().read(t), assemble(u.Expect, "gradient/"), torchGradient)
		compare("parameters", p.joint("params").read(t), assemble(u.Expect, "params/"), torchParams)
	}
}
