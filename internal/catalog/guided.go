package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
)

// guides are the workflows of package hybrid that combine agents with a search.
var guides = []Workflow{
	{
		Name: "cem-rl", Summary: "a search in which some candidates learn by gradient descent with shared critics before all are evaluated",
		Source:   "A. Pourchot, O. Sigaud, \"CEM-RL: Combining evolutionary and gradient-based methods for policy search\", 2019",
		settings: newGuided("cem-rl", combineCEMRL, ec.CandidateAlgorithms(), "ddpg", "sac", "td3"),
	},
	{
		Name: "erl", Summary: "evolution-guided reinforcement learning: agents learn from the episodes of a population, which their actors join",
		Source:   "S. Khadka, K. Tumer, \"Evolution-Guided Policy Gradient in Reinforcement Learning\", 2018",
		settings: newGuided("erl", combineERL, ec.CandidateAlgorithms(), "ddpg", "sac", "td3"),
	},
	{
		Name: "pga-me", Summary: "MAP-Elites in which some candidates are elites moved along the gradient of agents' critics",
		Source:   "O. Nilsson, A. Cully, \"Policy Gradient Assisted MAP-Elites\", 2021",
		settings: newGuided("pga-me", combinePGAME, ec.ArchiveAlgorithms(), "ddpg", "td3"),
	},
	{
		Name: "qd-pg", Summary: "MAP-Elites in which some candidates are elites moved along the gradient of a " +
			"critic of returns, others along that of a critic of novelty",
		Source:   "T. Pierrot et al., \"Diversity Policy Gradient for Sample Efficient Quality-Diversity Optimization\", 2022",
		settings: newGuided("qd-pg", combineQDPG, ec.ArchiveAlgorithms(), "ddpg", "td3"),
	},
}

func combineERL() combination {
	c := hybrid.DefaultERL()
	return combination{
		cfg: &c, agent: &c.Agent, search: &c.Search, repeats: func() error { return c.Repeats() }, repeat: func() { c.Warmup = 0 },
		check:       func(with rl.Parts) error { return c.Check(with) },
		independent: func() bool { return c.Agents == 1 }, // agents of one population learn from each other
		build: func(ctx context.Context, g *guided, agents hybrid.AgentsFunc) (engine.Workflow, error) {
			of, err := agents()
			if err != nil {
				return nil, err
			}
			return workflowOf(hybrid.NewERL(ctx, of, g.search.algorithm(), c))
		},
	}
}

func combineCEMRL() combination {
	c := hybrid.DefaultCEMRL()
	return combination{
		cfg: &c, agent: &c.Agent, search: &c.Search, repeats: func() error { return c.Repeats() }, repeat: func() { c.Warmup = 0 },
		check: func(with rl.Parts) error { return checkCEMRL(c, with) },
		build: func(ctx context.Context, g *guided, agents hybrid.AgentsFunc) (engine.Workflow, error) {
			return workflowOf(hybrid.NewCEMRL(ctx, agents, g.search.algorithm(), c))
		},
	}
}

func checkCEMRL(c hybrid.CEMRLConfig, with rl.Parts) error {
	if c.ImportanceMixing && !slices.Contains(ec.NormalAlgorithms(), c.Search) {
		return config.Invalid("cem-rl.importance_mixing", "the density of the candidates of %s is not known; want false, or a search among %v",
			c.Search, ec.NormalAlgorithms())
	}
	if err := c.Check(with); err != nil {
		return err
	}
	if c.Agent == "sac" && c.CriticsFirst {
		return config.Invalid("cem-rl.critics_first", "the critics of sac learn from actors that learn; want false, or agent = \"td3\"")
	}
	if c.Agent == "sac" && with.Env.Action.IsDiscrete() {
		return config.Invalid("cem-rl.agent",
			"actors of sac with the discrete actions of %q do not share critics; want an environment with continuous actions", with.Env.Name)
	}
	return nil
}

func combinePGAME() combination {
	c := hybrid.DefaultPGAME()
	return combination{
		cfg: &c, agent: &c.Agent, search: &c.Search,
		check: func(with rl.Parts) error { return c.Check(with) },
		build: func(ctx context.Context, g *guided, agents hybrid.AgentsFunc) (engine.Workflow, error) {
			of, err := agents()
			if err != nil {
				return nil, err
			}
			return workflowOf(hybrid.NewPGAME(ctx, of, g.search.algorithm(), *g.search.descriptors(), c))
		},
	}
}

func combineQDPG() combination {
	c := hybrid.DefaultQDPG()
	return combination{
		cfg: &c, agent: &c.Agent, search: &c.Search,
		adapt: func(replay *rl.ReplayConfig) { replay.Shared = true }, // both agents of an archive learn from the same transitions
		check: func(with rl.Parts) error { return c.Check(with) },
		build: func(ctx context.Context, g *guided, agents hybrid.AgentsFunc) (engine.Workflow, error) {
			return workflowOf(hybrid.NewQDPG(ctx, agents, g.search.algorithm(), *g.search.descriptors(), c))
		},
	}
}

// combination is how a hybrid combines agents and a search: its section, and what can be said of that.
type combination struct {
	cfg           any                  // pointer to the section's value
	agent, search *string              // names of the algorithms in it
	check         func(rl.Parts) error // the section's Check
	build         func(ctx context.Context, g *guided, agents hybrid.AgentsFunc) (engine.Workflow, error)

	repeats     func() error           // the error of settings with which iterations differ; nil: they always do
	repeat      func()                 // sets defaults with which they do not
	adapt       func(*rl.ReplayConfig) // sets other defaults of the agents; nil: it has none
	independent func() bool            // nil: members are always repetitions
}

// workflowOf returns a workflow without a nil pointer in the interface.
func workflowOf[W engine.Workflow](w W, err error) (engine.Workflow, error) {
	if err != nil {
		return nil, err
	}
	return w, nil
}

// guided holds the settings of a hybrid of agents and a search: the agents', the section of the search's
// algorithm, and the hybrid's own.
type guided struct {
	*agent
	search  *search
	of      [2]string // the agent and the search whose sections these are
	name    string
	how     combination
	choices [2][]Workflow
}

// newGuided makes the settings of a hybrid with its default agent and search. searchNames and agentNames are those that
// it supports.
func newGuided(name string, how func() combination, searchNames []string, agentNames ...string) func(*Catalog) Settings {
	return func(*Catalog) Settings {
		among := func(of []Workflow, names []string) []Workflow {
			return slices.DeleteFunc(slices.Clone(of), func(w Workflow) bool { return !slices.Contains(names, w.Name) })
		}
		g := &guided{name: name, how: how(), choices: [2][]Workflow{among(agents, agentNames), among(searches, searchNames)}}
		g.of = [2]string{*g.how.agent, *g.how.search}
		g.take()
		return g
	}
}

// take installs the sections of the chosen agent and search, with their defaults. at is the index of an invalid
// choice; -1: none.
func (g *guided) take() (at int) {
	var found [2]Settings
	for i, of := range g.choices {
		k := slices.IndexFunc(of, func(w Workflow) bool { return w.Name == g.of[i] })
		if k < 0 {
			return i
		}
		found[i] = of[k].Settings()
	}
	g.agent, g.search = found[0].(*agent), found[1].(*search)
	g.slices = nil
	if g.how.adapt != nil {
		g.how.adapt(g.replay)
	}
	*g.how.agent, *g.how.search = g.of[0], g.of[1]
	return -1
}

// choose selects the agent and the search named in the document or, if it names none, in a value of With.
func (g *guided) choose(d *config.Document, values []any) error {
	var chosen struct {
		Agent  string `doc:"Name the algorithm of the agents."`
		Search string `doc:"Name the algorithm of the populations."`
	}
	if err := choose(d, g.name, g.how.cfg, values, &chosen); err != nil {
		return err
	}
	g.of = [2]string{chosen.Agent, chosen.Search}
	at := g.take()
	if at < 0 {
		return nil
	}
	key, what := g.name+"."+[2]string{"agent", "search"}[at], [2]string{"agent", "search"}[at]
	if _, ok := (*Catalog)(nil).Workflow(g.of[at]); ok {
		return d.Errorf(key, "%s does not serve as the %s of %s: want one of %v", g.of[at], what, g.name, Names(g.choices[at]))
	}
	if !d.Defined(key) {
		return d.Errorf(key, "unknown %s %q: want one of %v", what, g.of[at], Names(g.choices[at]))
	}
	return d.UnknownValue(key, what, Names(g.choices[at]))
}

func (g *guided) Independent() bool { return g.how.independent == nil || g.how.independent() }

func (g *guided) Composed() bool { return true }

// absent returns the reason why a section of other choices is not part of this one; "" if none has it.
func (g *guided) absent(section string) string {
	for i, of := range g.choices {
		if slices.ContainsFunc(of, func(w Workflow) bool { return w.Name == section }) {
			key := [2]string{"agent", "search"}[i]
			return fmt.Sprintf("[%s] is for [%s] %s = %q, and that is %q", section, g.name, key, section, g.of[i])
		}
	}
	return ""
}

func (g *guided) Sections() config.Sections {
	of := g.agent.Sections()
	if behaviour := g.search.descriptors(); behaviour != nil {
		of = append(of, config.Section{Name: "behaviour", Value: behaviour})
	}
	return append(of, g.search.learner(), config.Section{Name: g.name, Value: g.how.cfg})
}

func (g *guided) Check(env *envs.Environment, options envs.Options) error {
	for i, is := range []string{*g.how.agent, *g.how.search} {
		if is != g.of[i] {
			return config.Invalid(g.name+"."+[2]string{"agent", "search"}[i], "it is %q in a configuration made for %q: want a new configuration", is, g.of[i])
		}
	}
	if err := g.agent.Check(env, options); err != nil {
		return err
	}
	if err := g.how.check(g.parts(env)); err != nil {
		return err
	}
	if behaviour := g.search.descriptors(); behaviour != nil {
		return keyed(behaviour.Check(problem.Parts{Env: env}))
	}
	return nil
}

// document adds the choices of agents and searches.
func (g *guided) document(section string, keys []config.Key) ([]config.Key, error) {
	if section != g.name {
		return keys, nil
	}
	for i := range keys {
		switch keys[i].Name {
		case "agent":
			keys[i].Choices = Names(g.choices[0])
		case "search":
			keys[i].Choices = Names(g.choices[1])
		}
	}
	return keys, nil
}

func (g *guided) Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	return g.how.build(ctx, g, func(opts ...rl.Option) (*rl.OffPolicy, error) { return g.offPolicy(ctx, eng, env, options, opts...) })
}
