package hybrid

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
)

// PBTConfig are the settings of population based training.
type PBTConfig struct {
	Warmup   int `min:"0" doc:"Iterations before the first exchange."`
	Interval int `min:"1" doc:"Iterations from one exchange to the next."`
	Episodes int `min:"1" max:"65536" doc:"Evaluation episodes of each member whose mean return is its fitness."`

	Exploit      Exploit     `doc:"How members are chosen that become copies, and of whom: truncation, tournament, t_test."`
	Top          float64     `min:"0" max:"1" doc:"Share of the population that truncation copies from; at least the best member."`
	Bottom       float64     `min:"0" max:"1" doc:"Share of the population that truncation replaces; at least the worst member, unless 0."`
	Significance float64     `min:"0" below:"1" doc:"Probability at which t_test would replace one of two equal members."`
	Objective    Objective   `doc:"A second objective beside the return, for non-dominated ranks (MO-PBT): none, steadiness (minus the deviation of returns)."`
	Inherit      Inheritance `doc:"What a replaced member takes over: everything, or policy (fastpbrl: critics, replay and episodes stay its own)."`

	Explore  Explore `doc:"How a replaced member's hyperparameters move: perturb, pb2 (a bandit of a Gaussian process that changes with time)."`
	Perturb  float64 `min:"0" below:"1" doc:"perturb multiplies a replaced member's hyperparameters by 1 - perturb or 1 + perturb."`
	Resample float64 `min:"0" max:"1" doc:"Probability that perturb draws a hyperparameter anew instead."`

	// Search is DefaultSearch of the workflow's configuration where it is nil.
	Search map[string]Prior `doc:"The hyperparameters that are searched, by name."`
}

// DefaultPBT is EvoRL's PBT-PPO (B. Zheng et al., 2025, table 5), with exchanges early enough for small problems. What is searched is what
// the workflow's configuration declares. The significance is that of M. Jaderberg et al., 2017.
func DefaultPBT() PBTConfig {
	return PBTConfig{
		Warmup: 20, Interval: 10, Episodes: 16,
		Top: 0.2, Bottom: 0.2, Perturb: 0.2, Significance: 0.05,
	}
}

// Validate checks constraints across fields.
func (c PBTConfig) Validate() error {
	switch {
	case c.Top+c.Bottom > 1:
		return config.Invalid("bottom", "top and bottom are %g and %g; want at most 1 together", c.Top, c.Bottom)
	case c.Exploit == TTest && c.Episodes < 2:
		return config.Invalid("episodes", "t_test compares the deviations of returns, and of one episode there is none; want at least 2")
	case c.Exploit == TTest && c.Significance == 0:
		return config.Invalid("significance", "it is 0, where nothing is significant; want more, such as 0.05")
	case c.Objective == Steadiness && c.Episodes < 2:
		return config.Invalid("episodes", "steadiness is minus the deviation of returns, and of one episode there is none; want at least 2")
	case c.Objective != NoObjective && c.Exploit != Truncation:
		return config.Invalid("exploit", "%v compares one objective, and there are two; want truncation", c.Exploit)
	}
	return nil
}

// samples reports whether the returns of single episodes are wanted, not their means alone.
func (c PBTConfig) samples() bool { return c.Exploit == TTest || c.Objective == Steadiness }

// Exploit is how PBT chooses the members that become copies, and of whom.
type Exploit uint32

const (
	// Truncation copies random ones of the best members over the worst.
	Truncation Exploit = iota
	// Tournament lets every member meet a random other one, and copies that where its fitness is greater.
	Tournament
	// TTest is Tournament where the greater fitness is significant by Welch's t-test of the episodes' returns.
	TTest
)

var exploitNames = []string{"truncation", "tournament", "t_test"}

func (e Exploit) String() string {
	if int(e) < len(exploitNames) {
		return exploitNames[e]
	}
	return fmt.Sprintf("Exploit(%d)", uint32(e))
}

// UnmarshalText reads a way to exploit by its name: truncation, tournament or t_test.
func (e *Exploit) UnmarshalText(text []byte) error {
	return config.UnmarshalName(e, "exploit", exploitNames, text)
}

// MarshalText writes its name.
func (e Exploit) MarshalText() ([]byte, error) { return config.MarshalName(e, "exploit", exploitNames) }

// Explore is how PBT moves the hyperparameters of replaced members.
type Explore uint32

const (
	// Perturbation multiplies them by factors, or draws them anew.
	Perturbation Explore = iota
	// PB2 chooses them by the upper confidence bounds of a time-varying Gaussian process.
	PB2
)

var exploreNames = []string{"perturb", "pb2"}

// UnmarshalText reads a way to explore by its name: perturb or pb2.
func (e *Explore) UnmarshalText(text []byte) error {
	return config.UnmarshalName(e, "explore", exploreNames, text)
}

// MarshalText writes its name.
func (e Explore) MarshalText() ([]byte, error) { return config.MarshalName(e, "explore", exploreNames) }

// Inheritance is what a member takes over that becomes a copy.
type Inheritance uint32

const (
	// Everything but what is declared to be a member's own, such as its replay (engine.Tensor.Own).
	Everything Inheritance = iota
	// PolicyOnly is the policy and the hyperparameters (engine.Heir).
	PolicyOnly
)

var inheritanceNames = []string{"everything", "policy"}

// UnmarshalText reads what is inherited by its name: everything or policy.
func (i *Inheritance) UnmarshalText(text []byte) error {
	return config.UnmarshalName(i, "inherit", inheritanceNames, text)
}

// MarshalText writes its name.
func (i Inheritance) MarshalText() ([]byte, error) {
	return config.MarshalName(i, "inherit", inheritanceNames)
}

// Objective is what members are compared by beside their mean return.
type Objective uint32

const (
	NoObjective Objective = iota
	// Steadiness is minus the standard deviation of an evaluation's returns.
	Steadiness
)

var objectiveNames = []string{"none", "steadiness"}

// UnmarshalText reads an objective by its name: none or steadiness.
func (o *Objective) UnmarshalText(text []byte) error {
	return config.UnmarshalName(o, "objective", objectiveNames, text)
}

// MarshalText writes its name.
func (o Objective) MarshalText() ([]byte, error) {
	return config.MarshalName(o, "objective", objectiveNames)
}
