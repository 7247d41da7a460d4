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

// PolicyConfig defines how a policy is evaluated.
type PolicyConfig struct {
	Episodes int  `min:"1" max:"65536" doc:"Episodes whose mean return is a candidate's fitness."`
	Common   bool `doc:"All candidates of a generation are evaluated with the same random numbers."`
	Group    int  `min:"0" max:"1048576" doc:"With common: consecutive candidates that have the same random numbers, other groups others; 0: all of a generation."`
	Sample   bool `doc:"Actions are sampled from the policy; otherwise the most likely are taken. The deviations of continuous actions are then searched too."`
	Bins     int  `min:"0" max:"256" doc:"Number of evenly spaced values of each continuous action; the network's outputs are their logits; 0: any value."`
	// Coevolution is for worlds of several agents. Consecutive candidates, as many as there are seats, play in the same worlds, one at each seat.
	Coevolution bool `doc:"Different candidates play the seats of a world, and each has the fitness of its own seat; otherwise a candidate plays all seats."`
	Cap         bool `doc:"Episodes are cut off at twice the mean episode length of the last generation."`

	Placement envs.Placement `doc:"Where a network's weights are stored during episodes: auto (the fastest), own, lanes, group, stream, stepped."`
}

// DefaultPolicy evaluates as EvoRL and EvoJAX do: one episode, most likely actions, and the same initial states for
// all candidates.
func DefaultPolicy() PolicyConfig { return PolicyConfig{Episodes: 1, Common: true} }

// Validate checks constraints across fields.
func (c PolicyConfig) Validate() error {
	if c.Bins == 1 {
		return config.Invalid("bins", "an action with 1 value leaves no choice; want 0, or at least 2")
	}
	if c.Group > 0 && !c.Common {
		return config.Invalid("group", "groups of %d candidates with random numbers in common, and policy.common = false; want 0, or common", c.Group)
	}
	return nil
}

// NetworkConfig describes the hidden part of the policy's network; inputs and outputs are the environment's.
type NetworkConfig struct {
	nn.Config

	OutputGain   float64       `min:"0" doc:"Factor of the initial weights of the output."`
	LogStd       float64       `min:"-10" max:"3" doc:"Initial log standard deviation of sampled continuous actions, in units of half the action range."`
	Squash       bool          `doc:"Continuous actions pass tanh, so they stay inside the action range."`
	NormalizeObs Normalization `doc:"Normalization of observations: none, virtual_batch (random steps before the search), running (all that candidates see)."`
	RandomSteps  int           `min:"1" max:"1000000" doc:"Steps of a virtual batch."`
	ObsLimit     float64       `above:"0" doc:"Normalized observations are clipped to this size."`

	VirtualBatchNorm int `min:"0" max:"65536" doc:"Observations of random steps by which every hidden layer is normalized (virtual batch normalization); 0: none."`
}

// DefaultNetwork is EvoRL's network for evolution strategies (B. Zheng et al., 2025, appendix B.1), two layers of 16,
// with tanh. The virtual batch of 10000 steps is EvoRL's, the limit of observations EvoJAX's (Y. Tang et al., 2022).
func DefaultNetwork() NetworkConfig {
	return NetworkConfig{
		Config:     nn.Config{Hidden: []int{16, 16}, Activation: nn.Tanh, Initializer: nn.LecunUniform, HiddenGain: 1},
		OutputGain: 1, LogStd: -1, Squash: true,
		RandomSteps: 10000, ObsLimit: 5,
	}
}

// Normalization is a method of normalizing a policy's observations.
type Normalization uint32

const (
	Unnormalized Normalization = iota
	VirtualBatch               // T. Salimans et al., 2017, section 2.1: by the moments of random steps before the search
	Running                    // H. Mania et al., 2018, algorithm 2: by the moments of all observations so far
)

var normalizationNames = [...]string{"none", "virtual_batch", "running"}

// UnmarshalText parses a normalization's name: none, virtual_batch or running.
func (n *Normalization) UnmarshalText(text []byte) error {
	return config.UnmarshalName(n, "normalization", normalizationNames[:], text)
}

// MarshalText returns a normalization's name.
func (n Normalization) MarshalText() ([]byte, error) {
	return config.MarshalName(n, "normalization", normalizationNames[:])
}

// policy is the search for a policy in an environment. A candidate is the parameters of its network, followed by
// its head's.
type policy struct {
	env     *envs.Environment
	options envs.Options
	network NetworkConfig
	cfg     PolicyConfig
	memory  int // approximate bytes of the candidates of a window
	slice   int // candidates of a slice; 0: none, windows are chosen by memory

	described described // for quality diversity; zero: no descriptors
	actor     *nn.Head  // the candidates' head; nil: derived from the environment
}

// windowBytes is enough to keep a device busy, and bounds the memory of larger populations.
const windowBytes = 64 << 20

// Policy makes the search for a policy in an environment a problem.
func Policy(env *envs.Environment, options envs.Options, network NetworkConfig, cfg PolicyConfig) ec.Problem {
	options.AutoReset = envs.Disabled
	return &policy{env: env, options: options, network: network, cfg: cfg, memory: windowBytes}
}

// Sliced implements ec.SlicedProblem.
func (p *policy) Sliced(candidates int) ec.Problem {
	of := *p
	of.slice = candidates
	return &of
}

// Parts are the settings that a search for policies is made of.
type Parts struct {
	Env     *envs.Environment
	Options envs.Options
	Network NetworkConfig
	Policy  PolicyConfig
}

// Check checks the settings against each other. It needs no device. Settings that do not suit the environment give
// a *SettingError.
func (with Parts) Check() error {
	env, cfg := with.Env, with.Policy
	if err := engine.Require(map[string]any{"environment": env}); err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	p := &policy{env: env, options: with.Options, network: with.Network, cfg: cfg}
	if err := errors.Join(config.Check(cfg), config.Check(with.Network)); err != nil {
		return err
	}
	if cfg.Bins > 0 && env.Action.IsDiscrete() {
		return &SettingError{"policy", "bins", fmt.Sprintf("the actions of %q are discrete already: want 0", env.Name)}
	}
	if err := p.checkNetwork(); err != nil {
		return err
	}
	if err := p.checkUnused(); err != nil {
		return err
	}
	if p.limit() <= 0 {
		return fmt.Errorf("problem: episodes in %q without a time limit might never end; set one", env.Name)
	}
	return nil
}

// checkUnused returns an error if a setting without effect is not its default.
func (p *policy) checkUnused() error {
	if scale := p.options.RewardScale; scale != 0 && scale != 1 {
		return &SettingError{"environment", "reward_scale", fmt.Sprintf("%g of a search, whose fitness is the return in the environment's own unit: want 1", scale)}
	}
	if usual := DefaultNetwork().LogStd; p.network.LogStd != usual && p.head().Parameters() == 0 {
		why := "are not sampled (policy.sample)"
		switch {
		case p.env.Action.IsDiscrete():
			why = "are discrete"
		case p.cfg.Bins > 0:
			why = "are discretized (policy.bins)"
		}
		return &SettingError{"network", "log_std", fmt.Sprintf("the actions of %q %s, and have no deviation: want the default, %g", p.env.Name, why, usual)}
	}
	return nil
}

// SettingError is a setting of a policy that does not suit its environment.
type SettingError struct {
	Section, Key string // "environment", "policy", "network" or "behaviour", and the key in it
	Message      string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("problem: %s.%s: %s", e.Section, e.Key, e.Message)
}

func (p *policy) Name() string { return p.env.Name }

func (p *policy) Objectives() int { return 1 }

func (p *policy) model() nn.Model {
	return p.network.Model(p.env.Observation.Shape(), p.head().Outputs(), nn.Float32)
}

// head returns the head of the candidates.
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

// limit returns the maximum number of environment steps in an episode; 0 or less: unlimited.
func (p *policy) limit() int {
	if p.options.TimeLimit == 0 {
		return p.env.MaxSteps
	}
	return p.options.TimeLimit
}

// horizon returns the maximum number of actions in an episode.
func (p *policy) horizon() int {
	repeat := p.options.Repeat()
	return (p.limit() + repeat - 1) / repeat
}

// Check checks the arguments that the problem was made from.
func (p *policy) Check() error {
	if err := engine.Require(map[string]any{"environment": p.env}); err != nil {
		return err
	}
	return p.checkNetwork()
}

// checkNetwork checks what the sizes of candidates follow from.
func (p *policy) checkNetwork() error {
	if err := errors.Join(config.Check(p.cfg), config.Check(p.network), p.head().Check()); err != nil {
		return err
	}
	if err := p.model().Check(); err != nil {
		key := "hidden"
		switch {
		case p.network.Preset != nn.NoPreset:
			key = "preset"
		case len(p.network.Layers) > 0:
			key = "layers"
		}
		return &SettingError{"network", key, err.Error()}
	}
	if err := p.checkCoevolution(); err != nil {
		return err
	}
	return p.checkVirtual()
}

func (p *policy) Space(members int) ec.Space {
	dim := p.model().Size() + p.head().Parameters() + p.scales()
	return ec.Space{
		Members: members, Dim: dim, Matrices: matrices(p.model(), dim), Neurons: neurons(p.model(), dim),
		Parameters: parameters(p.model(), dim), DescriptorLow: p.described.low, DescriptorHigh: p.described.high,
	}
}

// layered is a network, as far as a search knows it.
type layered interface {
	Layers() []nn.Layer
	Size() int
}

// parameters returns the Parameters of an ec.Space. Those outside the network are one vector more.
func parameters(m layered, dim int) (all []nn.Parameter) {
	for _, l := range m.Layers() {
		all = append(all, l.Parameters()...)
	}
	if size := m.Size(); size < dim {
		all = append(all, nn.Parameter{Name: "head", At: size, Columns: dim - size})
	}
	return all
}

// matrices returns the Matrices of an ec.Space.
func matrices(m layered, dim int) []uint32 {
	of := make([]uint32, dim)
	matrix := uint32(0)
	for _, l := range m.Layers() {
		for _, p := range l.Parameters() {
			if p.Rows == 0 {
				continue
			}
			matrix++
			for k := range p.Len() {
				of[p.At+k] = matrix
			}
		}
	}
	return of
}

// neurons returns the Neurons of an ec.Space. Parameters outside the network are one vector more.
func neurons(m layered, dim int) []uint32 {
	of, tensor := make([]uint32, dim), uint32(0)
	add := func(at, count, rows int, vector uint32) {
		tensor++
		for k := range count {
			of[at+k] = tensor<<17 | vector<<16 | uint32(k%rows)
		}
	}
	for _, l := range m.Layers() {
		for _, p := range l.Parameters() {
			vector := uint32(0)
			if p.Rows == 0 {
				vector = 1
			}
			add(p.At, p.Len(), p.Columns, vector)
		}
	}
	if size := m.Size(); size < dim {
		add(size, dim-size, dim-size, 1)
	}
	return of
}

// Start implements ec.Problem: initial networks.
func (p *policy) Start(seed, stream uint32, members int) []float32 {
	model := p.model()
	size := model.Size()
	end := size + p.head().Parameters()
	dim := end + p.scales()
	all := make([]float32, members*dim)
	for m := range members {
		row := all[m*dim : (m+1)*dim]
		model.Init(row[:size], p.network.Initializer, p.network.HiddenGain, p.network.OutputGain, engine.NewRng(seed, stream, uint32(m), 0, 0))
		for i := range row[size:] {
			if row[size+i] = float32(p.network.LogStd); size+i >= end {
				row[size+i] = 1
			}
		}
	}
	return all
}
