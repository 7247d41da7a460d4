package problem

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// PolicyConfig is how a policy is evaluated.
type PolicyConfig struct {
	Episodes int  `min:"1" max:"65536" doc:"Episodes whose mean return is a candidate's fitness."`
	Common   bool `doc:"All candidates of a generation meet the same random numbers."`
	Sample   bool `doc:"Actions are sampled from the policy; else the likeliest are taken. The deviations of continuous ones are searched too."`
	Bins     int  `min:"0" max:"256" doc:"Values, evenly over its range, of each continuous action; the network's outputs are their logits; 0: any value."`
	Cap      bool `doc:"Episodes are cut short at twice the mean length of the last generation's."`

	Placement envs.Placement `doc:"Where a network's weights are during episodes: auto (the fastest), lane, subgroup, workgroup, streamed (memory)."`
}

// DefaultPolicy is EvoRL's and EvoJAX's way: one episode, likeliest actions, and the same initial states for all.
func DefaultPolicy() PolicyConfig { return PolicyConfig{Episodes: 1, Common: true} }

// Validate checks constraints across fields.
func (c PolicyConfig) Validate() error {
	if c.Bins == 1 {
		return config.Invalid("bins", "an action of 1 value is no choice; want 0, or at least 2")
	}
	return nil
}

// NetworkConfig describes the hidden part of the policy's network; inputs and outputs are the environment's.
type NetworkConfig struct {
	Hidden       []int          `min:"1" max:"8192" doc:"Units of each hidden layer."`
	Activation   nn.Activation  `doc:"Nonlinearity of hidden layers: linear, relu, tanh, elu, swish."`
	LayerNorm    bool           `doc:"Layer normalization before each activation."`
	Initializer  nn.Initializer `doc:"Initial weights: orthogonal, lecun_uniform, kaiming_uniform, fan_in_uniform."`
	HiddenGain   float64        `min:"0" doc:"Factor of the initial weights of hidden layers."`
	OutputGain   float64        `min:"0" doc:"Factor of the initial weights of the output."`
	LogStd       float64        `min:"-10" max:"3" doc:"Initial log standard deviation of sampled continuous actions, in units of half the action range."`
	Squash       bool           `doc:"Continuous actions pass tanh, so they stay inside the action range."`
	NormalizeObs Normalization  `doc:"Normalization of observations: none, virtual_batch (random steps before the search), running (all that candidates see)."`
	RandomSteps  int            `min:"1" max:"1000000" doc:"Steps of a virtual batch."`
	ObsLimit     float64        `above:"0" doc:"Normalized observations are clipped to this size."`
}

// DefaultNetwork is EvoRL's for evolution strategies (B. Zheng et al., 2025, appendix B.1): two layers of 16; with
// tanh. A virtual batch is EvoRL's 10000 steps, the limit of observations EvoJAX's (Y. Tang et al., 2022).
func DefaultNetwork() NetworkConfig {
	return NetworkConfig{
		Hidden: []int{16, 16}, Activation: nn.Tanh, Initializer: nn.LecunUniform, HiddenGain: 1, OutputGain: 1, LogStd: -1, Squash: true,
		RandomSteps: 10000, ObsLimit: 5,
	}
}

// Normalization is how a policy's observations are normalized.
type Normalization uint32

const (
	Unnormalized Normalization = iota
	VirtualBatch               // T. Salimans et al., 2017, section 2.1: by the moments of random steps before the search
	Running                    // H. Mania et al., 2018, algorithm 2: by the moments of all that candidates have seen
)

var normalizationNames = [...]string{"none", "virtual_batch", "running"}

// UnmarshalText reads a normalization by its name: none, virtual_batch or running.
func (n *Normalization) UnmarshalText(text []byte) error {
	return config.UnmarshalName(n, "normalization", normalizationNames[:], text)
}

// MarshalText writes a normalization's name.
func (n Normalization) MarshalText() ([]byte, error) {
	return config.MarshalName(n, "normalization", normalizationNames[:])
}

// policy is the search for a policy in an environment: a candidate is the parameters of its network and, directly
// behind them, those of its head.
type policy struct {
	env     *envs.Environment
	options envs.Options
	network NetworkConfig
	cfg     PolicyConfig
	memory  int // about how many bytes the candidates of a window take

	described described // for quality diversity; nothing: candidates are not described
	actor     *nn.Head  // the head that candidates have; nil: the environment's
}

// windowBytes is so much that a device is busy, and no more for larger populations.
const windowBytes = 64 << 20

// Policy makes the search for a policy in an environment a problem.
func Policy(env *envs.Environment, options envs.Options, network NetworkConfig, cfg PolicyConfig) ec.Problem {
	options.AutoReset = envs.Disabled
	return &policy{env: env, options: options, network: network, cfg: cfg, memory: windowBytes}
}

// CheckPolicy validates the settings of a policy, before any device work. The error of a setting that
// does not suit the environment is a *SettingError.
func CheckPolicy(env *envs.Environment, options envs.Options, network NetworkConfig, cfg PolicyConfig) error {
	p := &policy{env: env, options: options, network: network, cfg: cfg}
	if err := errors.Join(config.Check(cfg), config.Check(network)); err != nil {
		return err
	}
	if cfg.Bins > 0 && env.Action.IsDiscrete() {
		return &SettingError{"policy", "bins", fmt.Sprintf("the actions of %q are discrete already: want 0", env.Name)}
	}
	if err := p.mlp().Check(); err != nil {
		return &SettingError{"network", "hidden", err.Error()}
	}
	if p.limit() <= 0 {
		return fmt.Errorf("problem: episodes in %q without a time limit might never end; set one", env.Name)
	}
	return nil
}

// SettingError is a setting of a policy that does not suit its environment.
type SettingError struct {
	Section, Key string // "policy", "network" or "behaviour", and the key in it
	Message      string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("problem: %s.%s: %s", e.Section, e.Key, e.Message)
}

// Name implements ec.Problem.
func (p *policy) Name() string { return p.env.Name }

// Objectives implements ec.Problem.
func (p *policy) Objectives() int { return 1 }

func (p *policy) mlp() nn.MLP {
	n := p.network
	return nn.MLP{In: p.env.ObsSize(), Out: p.head().Outputs(), Hidden: n.Hidden, Activation: n.Activation, LayerNorm: n.LayerNorm}
}

// head is what makes actions of the network's outputs.
func (p *policy) head() nn.Head {
	if p.actor != nil {
		return *p.actor
	}
	h := p.env.Action.Head()
	h.Squash = p.network.Squash
	switch {
	case h.Kind.Discrete():
	case p.cfg.Bins > 0:
		h.Kind, h.Bins = nn.Binned, p.cfg.Bins
	case !p.cfg.Sample:
		h.Kind = nn.Deterministic
	}
	return h
}

// limit is the most environment steps of an episode; not above 0 where there is none.
func (p *policy) limit() int {
	if p.options.TimeLimit == 0 {
		return p.env.MaxSteps
	}
	return p.options.TimeLimit
}

// horizon is the most actions of an episode.
func (p *policy) horizon() int {
	repeat := max(1, p.options.ActionRepeat)
	return (p.limit() + repeat - 1) / repeat
}

// Check checks what the problem was made from.
func (p *policy) Check() error { return engine.Require(map[string]any{"environment": p.env}) }

// Space implements ec.Problem.
func (p *policy) Space(members int) ec.Space {
	return ec.Space{Members: members, Dim: p.mlp().Size() + p.head().Parameters(), DescriptorLow: p.described.low, DescriptorHigh: p.described.high}
}

// Start implements ec.Problem: initial networks.
func (p *policy) Start(seed, stream uint32, members int) []float32 {
	mlp := p.mlp()
	size := mlp.Size()
	dim := size + p.head().Parameters()
	all := make([]float32, members*dim)
	for m := range members {
		row := all[m*dim : (m+1)*dim]
		mlp.Init(row[:size], p.network.Initializer, p.network.HiddenGain, p.network.OutputGain, engine.NewRng(seed, stream, uint32(m), 0, 0))
		for i := size; i < dim; i++ {
			row[i] = float32(p.network.LogStd)
		}
	}
	return all
}
