package envs

import (
	"errors"
	"fmt"
	"math"

	"github.com/evorl/evorl/engine/config"
)

// Options define the episode around an environment. The zero value is the environment as its Spec describes it, reset
// automatically.
type Options struct {
	// TimeLimit is the number of environment steps after which an episode is truncated; 0: the Spec's MaxSteps; NoTimeLimit: none.
	TimeLimit int `min:"-1" max:"1073741823" doc:"Environment steps after which an episode is truncated; 0: the environment's own limit, -1: none."`
	// ActionRepeat is the number of environment steps for which an action is repeated, with their rewards summed; 0:
	// 1. The time limit, the length of an episode and the steps of a run (engine.EnvSteps) count environment steps, as in EvoRL and Brax. Schedules
	// and learning_starts of agents count actions.
	ActionRepeat int `min:"0" max:"1000" doc:"Environment steps an action is kept for, their rewards summed; 0 is 1. Schedules of agents count actions."`
	// RewardScale multiplies the rewards that learners see; 0: 1. Episode returns stay in the environment's unit.
	RewardScale float32 `doc:"Factor of the rewards that agents learn from; returns, which are the fitness of searches, stay as they are. 0 is 1."`
	// SparseReward withholds rewards until the end of the episode and pays their sum there.
	SparseReward bool `doc:"Rewards are held back and paid as one sum at the episode's end."`
	// AutoReset defines what happens after the end of an episode.
	AutoReset AutoReset `doc:"After an episode's end: normal (a new one begins), fast (as normal, from the first initial state each time), disabled."`
	// Mapping defines how a device's lanes compute environments; the results of both forms differ by rounding.
	Mapping Mapping `doc:"Ant, Humanoid(Standup): lane (an environment per lane), cooperative (one per subgroup), by-device (cooperative if few on a GPU)."`
	// DrawEvaluations lets the policies of an Evaluator draw their actions, as learners do, instead of taking the most likely ones. It is [evaluation] draw.
	DrawEvaluations bool `toml:"-"`
}

// NoTimeLimit as Options.TimeLimit lets episodes run until they terminate.
const NoTimeLimit = -1

// AutoReset defines what happens after the end of an episode. The values are as of AUTO_RESET in
// shaders/envs/wrapper.glsl; the modes are among EvoRL's.
type AutoReset uint32

const (
	// Normal: the step that ends an episode also resets; its observation is the first of the next episode, and the
	// final one is kept beside it.
	Normal AutoReset = iota
	// Fast is Normal with the environment's first initial state every time.
	Fast
	// Disabled: the final state stays and further steps change nothing, until Reset.
	Disabled
)

var autoResetNames = [...]string{"normal", "fast", "disabled"}

func (a AutoReset) String() string { return config.NameOf(a, autoResetNames[:]) }

// UnmarshalText parses a mode's name: normal, fast or disabled.
func (a *AutoReset) UnmarshalText(text []byte) error {
	return config.UnmarshalName(a, "auto-reset mode", autoResetNames[:], text)
}

// MarshalText returns a mode's name.
func (a AutoReset) MarshalText() ([]byte, error) {
	return config.MarshalName(a, "auto-reset mode", autoResetNames[:])
}

// Done is a set of flags of a step, as in the word done of a trajectory.
type Done uint32

const (
	Terminated Done = 1 // the environment terminated: no bootstrapping
	Truncated  Done = 2 // the time limit was reached; may be combined with Terminated
	Void       Done = 4 // no transition: a step after the end with Disabled
	// Diverged is combined with Terminated: a robot's state left all bounds (beyond 1e10), or a state, an observation
	// or a reward was not finite. The next observation of such a step is 0, and so is a reward that is not finite.
	// The next episode begins as usual, and other environments are not affected. A policy that often causes it
	// exploits a flaw of the simulation.
	Diverged Done = 8
)

// Over reports whether the step ended an episode (or, with Void, came after the end).
func (d Done) Over() bool { return d&(Terminated|Truncated) != 0 }

// EpisodeWord is an element of the tensor episode_step: the environment steps of the episode in the low 30 bits, the
// flags of its last step in the high two. After the step that ends an episode it keeps both until the next step.
type EpisodeWord uint32

// Steps returns the environment steps of the episode so far.
func (w EpisodeWord) Steps() int { return int(w & maxEpisodeSteps) }

// Done returns Terminated, Truncated, both or neither.
func (w EpisodeWord) Done() Done { return Done(w >> 30) }

// Repeat returns ActionRepeat with its default applied.
func (o Options) Repeat() int { return max(1, o.ActionRepeat) }

// MostActionRepeat returns the largest action repeat that an environment can have: the loops of a step are bounded.
func (s *Spec) MostActionRepeat() int { return max(1, maxIterations/(1+s.Iterations)) }

// resolved checks the options against a Spec and fills in the defaults.
func (o Options) resolved(spec Spec) (Options, error) {
	var errs []error
	if o.TimeLimit < NoTimeLimit || o.TimeLimit > maxEpisodeSteps {
		errs = append(errs, fmt.Errorf("TimeLimit is %d; want 1 to %d, 0 for the default, %d for none", o.TimeLimit, maxEpisodeSteps, NoTimeLimit))
	}
	if o.ActionRepeat < 0 || o.ActionRepeat > maxActionRepeat {
		errs = append(errs, fmt.Errorf("ActionRepeat is %d; want 1 to %d, 0 for the default", o.ActionRepeat, maxActionRepeat))
	}
	if most := spec.MostActionRepeat(); o.ActionRepeat > most {
		errs = append(errs, fmt.Errorf("ActionRepeat is %d; want at most %d for a step of so much work", o.ActionRepeat, most))
	}
	if f := float64(o.RewardScale); math.IsNaN(f) || math.IsInf(f, 0) {
		errs = append(errs, fmt.Errorf("RewardScale is %g; want a finite number", f))
	}
	if o.AutoReset == Fast && len(spec.Sets) > 0 {
		errs = append(errs, fmt.Errorf("AutoReset is %v in an environment that records what is met from episode to episode; want %v", o.AutoReset, Normal))
	}
	if spec.outside && (o.ActionRepeat > 1 || o.SparseReward) {
		errs = append(errs, fmt.Errorf("ActionRepeat is %d, and SparseReward %t; want neither where the host steps: a Stepper may have them",
			o.ActionRepeat, o.SparseReward))
	}
	if int(o.AutoReset) >= len(autoResetNames) {
		errs = append(errs, fmt.Errorf("AutoReset is %d; want 0 (normal) to %d (disabled)", uint32(o.AutoReset), len(autoResetNames)-1))
	}
	if int(o.Mapping) >= len(mappingNames) || o.Mapping == Cooperative && spec.cooperative == nil {
		errs = append(errs, fmt.Errorf("Mapping is %v; want by-device or lane or, for environments that have that form, cooperative", o.Mapping))
	}
	if err := errors.Join(errs...); err != nil {
		return Options{}, fmt.Errorf("envs: options of %q: %w", spec.Name, err)
	}
	if o.TimeLimit == 0 {
		o.TimeLimit = spec.MaxSteps
		if spec.MaxSteps == 0 {
			o.TimeLimit = NoTimeLimit
		}
	}
	if o.ActionRepeat == 0 {
		o.ActionRepeat = 1
	}
	if o.RewardScale == 0 {
		o.RewardScale = 1
	}
	return o, nil
}

// maxActionRepeat keeps one dispatch from running for seconds.
const maxActionRepeat = 1000

// constants returns the specialization constants of shaders/envs/wrapper.glsl for resolved options.
func (o Options) constants() wrapperConstants {
	c := wrapperConstants{actionRepeat: uint32(o.ActionRepeat), autoReset: uint32(o.AutoReset), sparseReward: o.SparseReward, rewardScale: o.RewardScale}
	if o.TimeLimit != NoTimeLimit {
		c.timeLimit = uint32(o.TimeLimit)
	}
	return c
}

type wrapperConstants struct {
	timeLimit, actionRepeat, autoReset uint32
	sparseReward                       bool
	rewardScale                        float32
}
