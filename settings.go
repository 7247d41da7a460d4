package evorl

// RunConfig holds the keys at the top level of every configuration.
type RunConfig struct {
	Workflow   string `required:"true" doc:"Name of the workflow that learns."`
	Env        string `required:"true" doc:"Name of the environment, or of the problem that a search solves; or a file that defines one: .glsl, .xml (MuJoCo)."`
	Seed       uint32 `doc:"Seed of all random numbers of the run."`
	Iterations int    `min:"1" max:"2147483647" doc:"Iterations of the whole run."`
}

// EvaluationConfig defines when members are evaluated, apart from training, and in how many episodes.
type EvaluationConfig struct {
	Every    int `min:"0" doc:"Iterations between evaluations; 0: only at the end."`
	Episodes int `min:"1" max:"65536" doc:"Episodes per member."`

	BestEpisodes int `min:"0" max:"65536" doc:"New episodes in which what was chosen as best is evaluated again, by evorl run, eval, view and export; 0: none."`
}

// CheckpointConfig defines when the state is saved, and how many checkpoints are kept.
type CheckpointConfig struct {
	Every int  `min:"0" doc:"Iterations between checkpoints; 0: only at the end and when interrupted."`
	Keep  int  `min:"0" doc:"Number of newest checkpoints that are kept; 0: all."`
	Best  bool `doc:"Also keep the state in which a member had the highest mean return of all evaluations, for evorl eval --best and evorl view --best."`
}

func defaultRun() RunConfig { return RunConfig{Iterations: 500} }

func defaultEvaluation() EvaluationConfig {
	return EvaluationConfig{Every: 20, Episodes: 16, BestEpisodes: 100}
}

func defaultCheckpoint() CheckpointConfig { return CheckpointConfig{Every: 50, Keep: 3, Best: true} }
