package catalog

import (
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// Config holds pointers to the settings that every workflow has.
type Config struct {
	Run         *RunConfig
	Environment *envs.Options
	Vary        *VaryConfig // nil: all members begin with the same hyperparameters
	Evaluation  *EvaluationConfig
	Checkpoint  *CheckpointConfig
}

// Sections returns pointers to all settings, in TOML's order.
func (s *Setup) Sections(c Config) config.Sections {
	out := append(config.Sections{{Name: "", Value: c.Run}}, s.sections(c.Environment)...)
	if c.Vary != nil {
		out = append(out, config.Section{Name: VarySection, Value: c.Vary})
	}
	return append(out, config.Section{Name: "evaluation", Value: c.Evaluation}, config.Section{Name: "checkpoint", Value: c.Checkpoint})
}

// DefaultEnvironment returns the defaults of [environment].
func DefaultEnvironment() envs.Options { return envs.Options{ActionRepeat: 1, RewardScale: 1} }

// RunConfig holds the keys at the top level of every configuration.
type RunConfig struct {
	Workflow   string `required:"true" doc:"Name of the workflow that learns."`
	Env        string `required:"true" doc:"Environment or problem: a name, a file (.glsl, .xml), gymnasium:…, pettingzoo:…, python:…, exec:…, dm_env_rpc://…."`
	Seed       uint32 `doc:"Seed of all random numbers of the run."`
	Iterations int    `min:"1" max:"2147483647" doc:"Iterations of the whole run."`
}

// EvaluationConfig defines when members are evaluated, apart from training, and in how many episodes.
type EvaluationConfig struct {
	Every    int  `min:"0" doc:"Iterations between evaluations; 0: only at the end."`
	Episodes int  `min:"1" max:"65536" doc:"Episodes per member."`
	Draw     bool `doc:"Actions are drawn, not the most likely ones: of ppo, a2c, impala, sac, redq, and searches with policy.sample."`

	BestEpisodes int `min:"0" max:"65536" doc:"New episodes in which what was chosen as best is evaluated again, by evorl run, eval, view and export; 0: none."`
}

// CheckpointConfig defines when the state is saved, and how many checkpoints are kept.
type CheckpointConfig struct {
	Every int  `min:"0" doc:"Iterations between checkpoints; about five minutes after one, the next is written anyway. 0: only at the end and when interrupted."`
	Keep  int  `min:"0" doc:"Number of newest checkpoints that are kept; 0: all."`
	Best  bool `doc:"Also keep the state in which a member had the highest mean return of all evaluations, for evorl eval --best and evorl view --best."`
}

// DefaultRun returns the defaults of the top level.
func DefaultRun() RunConfig { return RunConfig{Iterations: 500} }

// DefaultEvaluation returns the defaults of [evaluation].
func DefaultEvaluation() EvaluationConfig {
	return EvaluationConfig{Every: 20, Episodes: 16, BestEpisodes: 100}
}

// DefaultCheckpoint returns the defaults of [checkpoint].
func DefaultCheckpoint() CheckpointConfig { return CheckpointConfig{Every: 50, Keep: 3, Best: true} }

// VaryConfig is [vary], an optional section of agents and searches: hyperparameters with a value of its own for every member
// of its own from the beginning. A sweep makes it of trials that share a run.
type VaryConfig struct {
	Values map[string][]float64 `doc:"Values of hyperparameters, by name, such as learning_rate: one for each member."`
}
