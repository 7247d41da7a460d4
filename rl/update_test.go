package rl

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// updateReference is testdata/ppo_update.json, written by tools/reference/ppo_update.py, which documents it.
type updateReference struct {
	Sizes struct {
		Members, Steps, Environments, Obs int
		Hidden                            []int
		Epochs, Minibatches               int
	}
	Seed, Iteration uint32
	Adam            struct{ Epsilon float64 }
	Hyper           map[string][]float64
	Cases           []struct {
		Name, Distribution string
		Actions            int
		Activation         nn.Activation
		Input              map[string]array
		Expect             struct {
			Value, Advantage, Return array
			NextValue                array            `json:"next_value"`
			MinibatchLoss            map[string]array `json:"minibatch_loss"`
			FirstGradient            map[string]array `json:"first_gradient"`
			Params                   map[string]array
			First                    map[string]array `json:"adam_m"`
			Second                   map[string]array `json:"adam_v"`
		}
	}
}

type array struct {
	Shape []int
	Data  []float64
}

// row is the values of one member in a [M, …] array.
func (a array) row(p int) []float64 {
	n := len(a.Data) / a.Shape[0]
	return a.Data[p*n : (p+1)*n]
}

// TestUpdate compares one whole update, values to parameters, with the float64 reference given the same data.
func TestUpdate(t *testing.T) {
	text, err := os.ReadFile("testdata/ppo_update.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref updateReference
	if err := json.Unmarshal(text, &ref); err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(ref.Seed))
	for _, c := range ref.Cases {
		t.Run(c.Name, func(t *testing.T) {
			cfg, network := DefaultPPO(), DefaultNetwork()
			cfg.Members, cfg.RolloutLength, cfg.Environments = ref.Sizes.Members, ref.Sizes.Steps, ref.Sizes.Environments
			cfg.Epochs, cfg.Minibatches = ref.Sizes.Epochs, ref.Sizes.Minibatches
			cfg.MaxGradNorm, cfg.OptimizerEpsilon = ref.Hyper["max_grad_norm"][0], ref.Adam.Epsilon
			network.Hidden, network.Activation = ref.Sizes.Hidden, c.Activation
			action := envs.Discrete(c.Actions)
			if c.Distribution != "categorical" {
				action = envs.Symmetric(make([]float32, c.Actions)...)
			}
			p := newLearner(t, eng, spaces(ref.Sizes.Obs, action), network, cfg)
			a, trajectory, estimates := p.agent, p.minibatches.Trajectory, p.estimates

			worst := 0.0
			compare := func(what string, got, want []float64, tolerance float64) {
				t.Helper()
				d := deviation(got, want)
				if !(d <= tolerance) {
					t.Errorf("%s deviates by %g of its largest value; want at most %g", what, d, tolerance)
				}
				worst = max(worst, d)
			}
			members := func(what string, got, want []float64, tolerance float64) {
				t.Helper()
				for m := range cfg.Members {
					n := len(want) / cfg.Members
					compare(fmt.Sprintf("%s of member %d", what, m), got[m*n:(m+1)*n], want[m*n:(m+1)*n], tolerance)
				}
			}
			// A member's parts lie in one row.
			assemble := func(parts map[string]array) []float64 {
				row, criticBase := p.joint("params").row(), rowOf(a.Actor())
				all := make([]float64, cfg.Members*row)
				for m := range cfg.Members {
					copy(all[m*row:], parts["actor"].row(m))
					copy(all[m*row+criticBase:], parts["critic"].row(m))
					if !a.head.Kind.Discrete() {
						copy(all[m*row+a.headBase():], parts["log_std"].row(m))
					}
				}
				return all
			}
			in := c.Input
			p.joint("params").write(t, assemble(in))
			for tensor, name := range map[*engine.Tensor]string{
				p.Hyper().Lookup("learning_rate"): "learning_rate", p.estimates.discount: "discount", p.estimates.lambda: "gae_lambda", p.actorLoss.Clip: "clip_epsilon",
				p.actorLoss.EntropyWeight: "entropy_weight", p.criticLoss.Weight: "value_weight",
			} {
				write(t, tensor, ref.Hyper[name])
			}
			write(t, p.Clock().Tensor(), []float64{float64(ref.Iteration), 0})
			write(t, trajectory.Obs, in["obs"].Data)
			write(t, trajectory.NextObs, in["next_obs"].Data)
			write(t, trajectory.Reward, in["reward"].Data)
			done := make([]float64, len(in["reward"].Data))
			for i := range done {
				done[i] = in["terminated"].Data[i]*float64(envs.Terminated) + in["truncated"].Data[i]*float64(envs.Truncated)
			}
			write(t, trajectory.Done, done)
			taken, squashed := in["pre_tanh"]
			if !squashed {
				taken = in["action"]
			}
			write(t, trajectory.Action, taken.Data)
			// The reference has log-probabilities of tanh(u); here they are of u.
			logProb := append([]float64(nil), in["log_prob"].Data...)
			if squashed {
				for i, u := range taken.Data {
					logProb[i/c.Actions] += 2 * (math.Ln2 - u - math.Log1p(math.Exp(-2*u)))
				}
			}
			write(t, trajectory.LogProb, logProb)

			poison(t, estimates.value, estimates.nextValue, estimates.advantage, estimates.target, p.actorLoss.Sums, p.criticLoss.Sums)
			run(t, eng, func(r *engine.Recorder) {
				estimates.Record(r, a, trajectory)
				p.minibatches.recordMoments(r)
				p.recordGradients(r, 1)
			})
			compare("value", read(t, estimates.value), c.Expect.Value.Data, 2e-6)
			next, wantNext := read(t, estimates.nextValue), slices.Clone(c.Expect.NextValue.Data)
			for i := range next {
				if last := len(next) - cfg.Members*cfg.Environments; done[i] == 0 && i < last { // the value of the step after it
					next[i], wantNext[i] = 0, 0
				}
			}
			compare("next value", next, wantNext, 2e-6)
			compare("advantage", read(t, estimates.advantage), c.Expect.Advantage.Data, 2e-6)
			compare("return", read(t, estimates.target), c.Expect.Return.Data, 2e-6)
			members("first gradient", p.gradients().read(t), assemble(c.Expect.FirstGradient), 2e-6)

			losses := func(update int) {
				t.Helper()
				want := c.Expect.MinibatchLoss
				actor, critic := read(t, p.actorLoss.Sums), read(t, p.criticLoss.Sums)
				n := cfg.Members
				at := func(name string) []float64 { return want[name].Data[update*n : (update+1)*n] }
				weighted := make([]float64, n)
				for m := range n {
					weighted[m] = critic[m] * ref.Hyper["value_weight"][m]
				}
				// The actor's loss is a mean of advantages of deviation 1 that nearly cancel, so its deviation is absolute.
				for m, d := range actor[:n] {
					compare(fmt.Sprintf("actor loss %d", update), []float64{1 + d - at("actor")[m]}, []float64{1}, 1e-6)
				}
				// The reference's entropy of the squashed Gaussian is the Gaussian's, as here.
				compare(fmt.Sprintf("entropy %d", update), actor[n:2*n], at("entropy"), 1e-6)
				compare(fmt.Sprintf("critic loss %d", update), weighted, at("critic"), 1e-6)
			}
			losses(0)
			t.Logf("largest deviation up to the first gradient %.1e", worst)
			first, second := p.joint("optimizer/first_moment"), p.joint("optimizer/second_moment")
			last := cfg.Epochs*cfg.Minibatches - 1
			const afterwards = 5e-6 // the updates, at learning rates to 0.05, widen the first differences
			for _, p.form.On = range []bool{false, true} {
				p.joint("params").write(t, assemble(in))
				zero(t, first.actor, first.critic, second.actor, second.critic, a.actor.optimizer.Updates(), a.critic.optimizer.Updates())
				poison(t, p.actorLoss.Sums, p.criticLoss.Sums, a.actor.optimizer.Norm())
				run(t, eng, p.recordUpdates)
				losses(last)
				compare("gradient norm", read(t, a.actor.optimizer.Norm()), c.Expect.MinibatchLoss["grad_norm"].Data[last*cfg.Members:], 1e-6)
				members("parameters", p.joint("params").read(t), assemble(c.Expect.Params), afterwards)
				members("first moments", first.read(t), assemble(c.Expect.First), afterwards)
				members("second moments", second.read(t), assemble(c.Expect.Second), afterwards)
			}
			t.Logf("largest deviation after the whole update %.1e", worst)
		})
	}
}
