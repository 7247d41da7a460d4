package catalog

// Run are the settings at the top of every configuration.
type Run struct {
	Workflow   string `required:"true" doc:"What learns: the name of a workflow."`
	Env        string `required:"true" doc:"Where it learns: the name of an environment; or what a search solves: the name of a problem."`
	Seed       uint32 `doc:"Seed of every random number of the run."`
	Iterations int    `min:"1" max:"2147483647" doc:"Iterations of the whole run."`
}

// Evaluation says when and how long the members are evaluated, apart from training.
type Evaluation struct {
	Every    int `min:"0" doc:"Iterations from one evaluation to the next; 0: only at the end."`
	Episodes int `min:"1" max:"65536" doc:"Episodes of each member."`
}

// Checkpoint says when the state is saved.
type Checkpoint struct {
	Every int  `min:"0" doc:"Iterations from one checkpoint to the next; 0: only at the end and when interrupted."`
	Keep  int  `min:"0" doc:"Checkpoints that are kept, the newest ones; 0: all."`
	Best  bool `doc:"Keep besides the state in which a member had the highest mean return of all evaluations, for evorl eval --best and evorl view --best."`
}

func defaultRun() Run { return Run{Iterations: 500} }

func defaultEvaluation() Evaluation { return Evaluation{Every: 20, Episodes: 16} }

func defaultCheckpoint() Checkpoint { return Checkpoint{Every: 50, Keep: 3, Best: true} }
