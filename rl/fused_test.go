package rl

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// TestFused: the updates in one dispatch and those in many give the same parameters, moments, losses and counts, and both leave a member
// alone whose gradient is not finite.
func TestFused(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(6))
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
			write(t, p.advantage, advantage)
			write(t, p.Clock().Tensor(), []float64{11, 10}) // a third of the annealing
			tensors := map[string]*engine.Tensor{
				"parameters": p.agent.params, "first moments": p.State().Lookup("agent/optimizer/first_moment"), "second moments": p.State().Lookup("agent/optimizer/second_moment"),
				"norms": p.optimizer.Norm(), "updates": p.optimizer.Updates(), "refusals": p.optimizer.Refused(), "actor losses": p.actorLosses, "critic losses": p.criticLosses,
			}
			results := map[bool]map[string][]float64{}
			for _, p.fused = range []bool{false, true} {
				write(t, p.agent.params, g.params)
				zero(t, tensors["first moments"], tensors["second moments"], tensors["updates"], tensors["refusals"], p.gradient)
				poison(t, p.actorLosses, p.criticLosses, p.optimizer.Norm())
				run(t, eng, func(r *engine.Recorder) {
					if cfg.NormalizeAdvantage {
						p.recordMoments(r)
					}
					p.recordUpdates(r)
				})
				results[p.fused] = map[string][]float64{}
				for what, tensor := range tensors {
					results[p.fused][what] = read(t, tensor)
				}
			}
			for what, want := range results[false] {
				n := len(want) / cfg.Members
				for m := range cfg.Members {
					if m == broken && what == "actor losses" {
						continue // not numbers
					}
					a, b := member(results[true][what], tensors[what], m, cfg.Members), member(want, tensors[what], m, cfg.Members)
					if d := deviation(a, b); !(d <= 5e-6) && deviation(b, make([]float64, len(b))) > 0 {
						t.Errorf("%s of member %d: fused deviates by %g of the largest of %d", what, m, d, n)
					}
				}
			}
			updates := float64(cfg.Epochs * cfg.Minibatches)
			for fused, r := range results {
				for m := range cfg.Members {
					made, refused := updates, 0.0
					if m == broken {
						made, refused = 0, updates
						if d := deviation(member(r["parameters"], p.agent.params, m, cfg.Members), g.memberParams(m)); d != 0 {
							t.Errorf("fused %v: the member without a finite gradient moved by %g", fused, d)
						}
						if r["norms"][m] != -1 {
							t.Errorf("fused %v: the norm of a gradient that is not finite is %g; want -1", fused, r["norms"][m])
						}
					} else if d := deviation(member(r["parameters"], p.agent.params, m, cfg.Members), g.memberParams(m)); !(d > 1e-3) {
						t.Errorf("fused %v: member %d moved by %g only", fused, m, d)
					}
					if r["updates"][m] != made || r["refusals"][m] != refused {
						t.Errorf("fused %v: member %d made %g updates and refused %g; want %g and %g", fused, m, r["updates"][m], r["refusals"][m], made, refused)
					}
				}
			}
		})
	}
}

// member is one member's part of a tensor's values.
func member(values []float64, tensor *engine.Tensor, m, members int) []float64 {
	outer, _, inner, _ := tensor.Split(engine.MemberAxis)
	var out []float64
	for o := range outer {
		out = append(out, values[(o*members+m)*inner:(o*members+m+1)*inner]...)
	}
	return out
}
