package catalog

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
)

// Workflow describes something that learns.
type Workflow struct {
	Name    string
	Summary string // what it does, in a line
	Source  string // the paper
	parts   func() parts
}

// parts are the settings that one workflow has beside those of every run.
type parts interface {
	// sections are where they stand, holding defaults until they are decoded.
	sections() config.Sections
	// check says what the settings cannot say one by one, before any device work.
	check(d *config.Document, env *envs.Environment) error
	// build makes the workflow.
	build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error)
}

// Workflows lists what there is, in the order in which it is documented.
func Workflows() []Workflow {
	return []Workflow{
		{
			Name: "a2c", Summary: "advantage actor-critic, a population of independent agents at once",
			Source: "V. Mnih et al., \"Asynchronous Methods for Deep Reinforcement Learning\", 2016",
			parts:  newA2C,
		},
		{
			Name: "ppo", Summary: "proximal policy optimization, a population of independent agents at once",
			Source: "J. Schulman et al., \"Proximal Policy Optimization Algorithms\", 2017",
			parts:  newPPO,
		},
		{
			Name: "pbt", Summary: "population based training over PPO: the worst members become copies of the best and explore other hyperparameters",
			Source: "M. Jaderberg et al., \"Population Based Training of Neural Networks\", 2017",
			parts:  newPBT(hybrid.NewPBT),
		},
		{
			Name: "pbt-cso", Summary: "population based training over PPO whose losers move towards their winners' hyperparameters, as a competitive swarm",
			Source: "B. Zheng et al., \"EvoRL\", 2025, section 5.2.3",
			parts:  newPBT(hybrid.NewPBTCSO),
		},
	}
}

func workflow(name string) (Workflow, bool) {
	for _, w := range Workflows() {
		if w.Name == name {
			return w, true
		}
	}
	return Workflow{}, false
}

func workflowNames() []string {
	var names []string
	for _, w := range Workflows() {
		names = append(names, w.Name)
	}
	return names
}

// Section documents one section of a workflow's configuration; the keys at the top have the name "".
type Section struct {
	Name string       `json:"name"`
	Keys []config.Key `json:"keys"`
}

// Sections documents all keys of a workflow's configuration with their defaults, in TOML's order.
func (w Workflow) Sections() ([]Section, error) {
	var out []Section
	for _, s := range newConfig(w).Sections() {
		keys, err := config.Schema(s.Value)
		if err != nil {
			return nil, err
		}
		if s.Name == "pbt" {
			keys = append(keys, searchKeys(s.Value)...)
		}
		out = append(out, Section{s.Name, keys})
	}
	return out, nil
}
