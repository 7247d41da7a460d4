package evorl

// RunConfig are the keys at the top level of every configuration.
type RunConfig struct {
	Workflow   string `required:"true" doc:"What learns: the name of a workflow."`
	Env        string `required:"true" doc:"Where it learns: the name of an environment; or what a search solves: the name of a problem."`
	Seed       uint32 `doc:"Seed of every random number of the run."`
	Iterations int    `min:"1" max:"2147483647" doc:"Iterations of the whole run."`
}

// EvaluationConfig is when members are evaluated, apart from training, and in how many episodes.
type EvaluationConfig struct {
	Every    int `min:"0" doc:"Iterations from one evaluation to the next; 0: only at the end."`
	Episodes int `min:"1" max:"65536" doc:"Episodes of each member."`
}

// CheckpointConfig is when the state is saved, and how many checkpoints are kept.
type CheckpointConfig struct {
	Every int  `min:"0" doc:"Iterations from one checkpoint to the next; 0: only at the end and when interrupted."`
	Keep  int  `min:"0" doc:"Checkpoints that are kept, the newest ones; 0: all."`
	Best  bool `doc:"Also keep the state in which a member had the highest mean return of all evaluations, for evorl eval --best and evorl view --best."`
}

func defaultRun() RunConfig { return RunConfig{Iterations: 500} }

func defaultEvaluation() EvaluationConfig { return EvaluationConfig{Every: 20, Episodes: 16} }

func defaultCheckpoint() CheckpointConfig { return CheckpointConfig{Every: 50, Keep: 3, Best: true} }
