package rl

import (
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// TestFused: updates in one dispatch, with actor and critic apart, and in many give the same parameters, moments, losses and counts, and both leave a
// member alone if its gradient is not finite.
func TestFused(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
	if info := eng.Device().Info(); !info.Features.Has(vk.Int64 | vk.DeviceScope) {
		if strings.HasPrefix(info.Driver, "llvmpipe") {
			t.Fatalf("%s has the features %v; want 64-bit integers and atomics of device scope, with which updates are fused", info.Driver, info.Features)
		}
		t.Skip("the device has no 64-bit integers, or no atomics of device scope: updates are separate there")
	}
	for name, c := range map[string]func(*NetworkConfig, *PPOConfig) envs.Space{
		"categorical": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, n.Activation, n.LayerNorm, n.NormalizeObs, n.ObsLimit = []int{33}, nn.ELU, true, true, 1
			return envs.Discrete(3)
		},
		"gaussian": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, n.Activation = []int{7, 6}, nn.Swish
			c.ClipValue, c.NormalizeAdvantage, c.AnnealSteps, c.MaxGradNorm = false, false, 90, 0
			return envs.Symmetric(1, 1)
		},
		"state-dependent deviation": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, n.StateDependentStd, n.Squash, n.MinLogStd, n.MaxLogStd = []int{9}, true, true, -1, 0.5
			return envs.Symmetric(1, 1)
		},
		"sgd": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, c.Optimizer = []int{32, 9}, optim.SGD
			return envs.Symmetric(1)
		},
		"rmsprop": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, c.Optimizer = []int{7, 32}, optim.RMSProp
			c.OptimizerEpsilon = 0.1 // otherwise rounding decides the sign of steps
			return envs.Discrete(2)
		},
		"adamw": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, c.Optimizer = []int{3, 4}, optim.AdamW // no padding, which only separate updates decay
			return envs.Discrete(5)
		},
		"wide": func(n *NetworkConfig, c *PPOConfig) envs.Space {
			n.Hidden, n.Activation, n.LayerNorm = []int{32}, nn.ReLU, true
			c.Minibatches = 4
			return envs.Symmetric(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			network, cfg := DefaultNetwork(), DefaultPPO()
			cfg.Members, cfg.RolloutLength, cfg.Environments, cfg.Epochs, cfg.Minibatches = 3, 5, 3, 3, 2
			cfg.LearningRate = 1e-2
			action := c(&network, &cfg)
			g := newGradientCase(t, eng, 4, action, network, cfg)
			p := g.ppo
			const broken = 1 // the member
			advantage := append([]float64(nil), g.advantage...)
			for i := range advantage {
				if g.member(i) == broken {
					advantage[i] = math.NaN()
				}
			}
			write(t, p.estimates.advantage, advantage)
			write(t, p.Clock().Tensor(), []float64{11, 10}) // a third of the annealing
			actor, critic := p.agent.actor.optimizer, p.agent.critic.optimizer
			results := map[string]map[string][]float64{}
			patience := map[string]uint32{"apart": 20000} // otherwise they leave, unless they come at once
			for _, form := range []string{"separate", "fused", "fused, moments held", "apart", "apart, impatient"} {
				p.form.On, p.form.Held, p.form.Apart = form != "separate", form == "fused, moments held", strings.HasPrefix(form, "apart")
				p.form.Patience = patience[form]
				p.joint("params").write(t, g.params)
				for _, name := range []string{"optimizer/first_moment", "optimizer/second_moment", "optimizer/updates", "optimizer/refused"} {
					zero(t, p.joint(name).actor, p.joint(name).critic)
				}
				poison(t, p.actorLoss.Sums, p.criticLoss.Sums, actor.Norm())
				run(t, eng, p.recordUpdates)
				results[form] = map[string][]float64{
					"parameters":    p.joint("params").read(t),
					"first moments": p.joint("optimizer/first_moment").read(t), "second moments": p.joint("optimizer/second_moment").read(t),
					"norms": read(t, actor.Norm()), "updates": read(t, actor.Updates()), "refusals": read(t, actor.Refused()),
					"critic's updates": read(t, critic.Updates()), "critic's refusals": read(t, critic.Refused()),
					"actor losses": byMember(t, p.actorLoss.Sums, cfg.Members), "critic losses": byMember(t, p.criticLoss.Sums, cfg.Members),
				}
			}
			for what, want := range results["separate"] {
				n := len(want) / cfg.Members
				for m := range cfg.Members {
					if m == broken && what == "actor losses" {
						continue // not numbers
					}
					for form, result := range results {
						a, b := result[what][m*n:(m+1)*n], want[m*n:(m+1)*n]
						if d := deviation(a, b); !(d <= 5e-6) && deviation(b, make([]float64, len(b))) > 0 {
							t.Errorf("%s of member %d, %s: they deviate by %g of the largest of %d", what, m, form, d, n)
						}
					}
				}
			}
			for what, want := range results["fused"] {
				for _, form := range []string{"apart", "apart, impatient"} {
					for i, got := range results[form][what] {
						if got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
							t.Errorf("%s: element %d of %s is %g, and %g by one workgroup", form, i, what, got, want[i])
							break
						}
					}
				}
			}
			updates, row := float64(cfg.Epochs*cfg.Minibatches), p.joint("params").row()
			for form, r := range results {
				for m := range cfg.Members {
					made, refused := updates, 0.0
					if m == broken {
						made, refused = 0, updates
						if d := deviation(r["parameters"][m*row:(m+1)*row], g.memberParams(m)); d != 0 {
							t.Errorf("%s: the member without a finite gradient moved by %g", form, d)
						}
						if r["norms"][m] != -1 {
							t.Errorf("%s: the norm of a gradient that is not finite is %g; want -1", form, r["norms"][m])
						}
					} else if d := deviation(r["parameters"][m*row:(m+1)*row], g.memberParams(m)); !(d > 1e-3) {
						t.Errorf("%s: member %d moved by %g only", form, m, d)
					}
					if r["updates"][m] != made || r["refusals"][m] != refused {
						t.Errorf("%s: member %d made %g updates and refused %g; want %g and %g", form, m, r["updates"][m], r["refusals"][m], made, refused)
					}
				}
			}
		})
	}
}

// byMember is a tensor's values, one member after the other.
func byMember(t *testing.T, tensor *engine.Tensor, members int) []float64 {
	t.Helper()
	outer, _, inner, _ := tensor.Split(engine.MemberAxis)
	values := read(t, tensor)
	var out []float64
	for m := range members {
		for o := range outer {
			out = append(out, values[(o*members+m)*inner:(o*members+m+1)*inner]...)
		}
	}
	return out
}
