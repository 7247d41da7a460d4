package hybrid

import "github.com/evorl/evorl/engine/config"

// PBTConfig are the settings of population based training. Over names the workflow in configurations; NewPBT is given
// the workflow itself.
type PBTConfig struct {
	Over string `doc:"Workflow that is trained, by emogi an agent; its sections become part of the configuration."`

	Warmup   int `min:"0" doc:"Iterations before the first exchange."`
	Interval int `min:"1" doc:"Iterations between exchanges."`
	Episodes int `min:"1" max:"65536" doc:"Evaluation episodes per member; the mean return is its fitness."`

	Exploit      Exploit     `doc:"Selection of the members that become copies, and of their parents: truncation, tournament, t_test."`
	Top          float64     `min:"0" max:"1" doc:"Fraction of the population that truncation copies from; at least the best member."`
	Bottom       float64     `min:"0" max:"1" doc:"Fraction of the population that truncation replaces; at least the worst member, unless 0."`
	Significance float64     `min:"0" below:"1" doc:"Significance level of t_test: probability that one of two equal members is replaced."`
	Objective    Objective   `doc:"Second objective, by non-dominated ranks: none, steadiness (minus the returns' deviation), coverage (states visited), styles."`
	ReturnLow    float64     `doc:"Return of a score of 0, of styles."`
	ReturnHigh   float64     `doc:"Return of a score of 1, of styles."`
	ActiveWeight float64     `min:"0" doc:"Weight of the share of steps with motion in the first objective of styles, besides the score."`
	LazyWeight   float64     `min:"0" doc:"Weight of the share of steps without motion in the second objective of styles, besides the score."`
	Renew        bool        `doc:"Parents of emogi play new evaluation episodes before each generation, so that luck in one does not keep them."`
	Crossover    Crossover   `doc:"Networks of emogi's children: best (the better parent's), layers (one parent's before a cut, the other's after it)."`
	Inherit      Inheritance `doc:"State that a replaced member copies: everything, or policy (fastpbrl: it keeps its own critics, replay and episodes)."`

	Explore  Explore `doc:"Change of a replaced member's hyperparameters: perturb, pb2 (a bandit on a time-varying Gaussian process)."`
	Perturb  float64 `min:"0" below:"1" doc:"perturb multiplies a replaced member's hyperparameters by 1 - perturb or 1 + perturb."`
	Resample float64 `min:"0" max:"1" doc:"Probability that perturb draws a hyperparameter from its prior instead."`

	// Search may be nil, which means DefaultSearch of the workflow's configuration.
	Search map[string]Prior `doc:"Priors of the searched hyperparameters, by name."`
}

// DefaultPBT has the settings of EvoRL's PBT-PPO (B. Zheng et al., 2025, table 5), with exchanges early enough for
// small problems, over PPO. The searched hyperparameters are declared by the workflow's configuration. The
// significance level is from M. Jaderberg et al., 2017.
func DefaultPBT() PBTConfig {
	return PBTConfig{
		Over: "ppo", Warmup: 20, Interval: 10, Episodes: 16,
		Top: 0.2, Bottom: 0.2, Perturb: 0.2, Significance: 0.05, ReturnHigh: 1, ActiveWeight: 1, LazyWeight: 1,
	}
}

// Validate checks constraints across fields.
func (c PBTConfig) Validate() error {
	switch {
	case c.Top+c.Bottom > 1:
		return config.Invalid("bottom", "top and bottom are %g and %g; want at most 1 together", c.Top, c.Bottom)
	case c.Exploit == TTest && c.Episodes < 2:
		return config.Invalid("episodes", "t_test needs the deviation of returns; want at least 2")
	case c.Exploit == TTest && c.Significance == 0:
		return config.Invalid("significance", "nothing is significant at 0; want more, such as 0.05")
	case c.Objective == Steadiness && c.Episodes < 2:
		return config.Invalid("episodes", "steadiness needs the deviation of returns; want at least 2")
	case c.Objective == Styles && !(c.ReturnLow < c.ReturnHigh):
		return config.Invalid("return_high", "scores are of returns from %g to %g; want return_low below return_high", c.ReturnLow, c.ReturnHigh)
	case c.Objective != NoObjective && c.Exploit != Truncation:
		return config.Invalid("exploit", "%v compares one objective, and there are two; want truncation", c.Exploit)
	}
	return nil
}

// samples reports whether single episodes' returns are needed, not only their means.
func (c PBTConfig) samples() bool { return c.Exploit == TTest || c.Objective != NoObjective }

// Exploit selects how PBT chooses the members that become copies, and their parents.
type Exploit uint32

const (
	// Truncation replaces the worst members by copies of random ones of the best.
	Truncation Exploit = iota
	// Tournament pairs every member with a random other one, and copies that one if its fitness is greater.
	Tournament
	// TTest is Tournament that requires the greater fitness to be significant by Welch's t-test of the episodes'
	// returns.
	TTest
)

var exploitNames = []string{"truncation", "tournament", "t_test"}

func (e Exploit) String() string { return config.NameOf(e, exploitNames[:]) }

// UnmarshalText parses a name: truncation, tournament or t_test.
func (e *Exploit) UnmarshalText(text []byte) error {
	return config.UnmarshalName(e, "exploit", exploitNames, text)
}

// MarshalText returns the name.
func (e Exploit) MarshalText() ([]byte, error) { return config.MarshalName(e, "exploit", exploitNames) }

// Crossover selects what networks EMOGI's children have of their parents.
type Crossover uint32

const (
	// BestCrossover makes both children of a pair copies of the better parent.
	BestCrossover Crossover = iota
	// LayerCrossover makes one child a copy of each parent, and gives it the other's layers from a cut on, with the optimizer's moments of these: actors and
	// critics alike.
	LayerCrossover
)

var crossoverNames = []string{"best", "layers"}

func (c Crossover) String() string { return config.NameOf(c, crossoverNames) }

// UnmarshalText parses a name: best or layers.
func (c *Crossover) UnmarshalText(text []byte) error {
	return config.UnmarshalName(c, "crossover", crossoverNames, text)
}

// MarshalText returns the name.
func (c Crossover) MarshalText() ([]byte, error) {
	return config.MarshalName(c, "crossover", crossoverNames)
}

// Explore selects how PBT changes the hyperparameters of replaced members.
type Explore uint32

const (
	// Perturbation multiplies them by factors, or draws them from their priors.
	Perturbation Explore = iota
	// PB2 chooses them by the upper confidence bounds of a time-varying Gaussian process.
	PB2
)

var exploreNames = []string{"perturb", "pb2"}

// UnmarshalText parses a name: perturb or pb2.
func (e *Explore) UnmarshalText(text []byte) error {
	return config.UnmarshalName(e, "explore", exploreNames, text)
}

// MarshalText returns the name.
func (e Explore) MarshalText() ([]byte, error) { return config.MarshalName(e, "explore", exploreNames) }

// Inheritance selects the state that a replaced member copies.
type Inheritance uint32

const (
	// Everything, except what is declared to be a member's own, such as its replay (engine.Tensor.Own).
	Everything Inheritance = iota
	// PolicyOnly copies the policy and the hyperparameters (engine.PolicyInheritor).
	PolicyOnly
)

var inheritanceNames = []string{"everything", "policy"}

// UnmarshalText parses a name: everything or policy.
func (i *Inheritance) UnmarshalText(text []byte) error {
	return config.UnmarshalName(i, "inherit", inheritanceNames, text)
}

// MarshalText returns the name.
func (i Inheritance) MarshalText() ([]byte, error) {
	return config.MarshalName(i, "inherit", inheritanceNames)
}

// Objective selects a second objective of members.
type Objective uint32

const (
	NoObjective Objective = iota
	// Steadiness is minus the standard deviation of an evaluation's returns.
	Steadiness
	// Coverage is the mean number of states that an evaluation's episodes visit, of those that the environment records (envs.Spec.Covers). Actions are
	// sampled in these episodes.
	Coverage
	// Styles makes two objectives of the score and of how much a member moves (H. Bai et al., "Lamarckian Platform", 2022, section V.A): the score plus
	// ActiveWeight times the share of steps with motion, and the score plus LazyWeight times the share of those without. The score is the mean return, 0 at
	// ReturnLow and 1 at ReturnHigh; motion is every action but the agent's StillAction. Actions are sampled.
	Styles
)

func (o Objective) String() string { return config.NameOf(o, objectiveNames[:]) }

var objectiveNames = []string{"none", "steadiness", "coverage", "styles"}

// UnmarshalText parses a name: none, steadiness, coverage or styles.
func (o *Objective) UnmarshalText(text []byte) error {
	return config.UnmarshalName(o, "objective", objectiveNames, text)
}

// MarshalText returns the name.
func (o Objective) MarshalText() ([]byte, error) {
	return config.MarshalName(o, "objective", objectiveNames)
}
