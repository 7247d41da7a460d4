package evorl

import (
	"context"
	"fmt"
	"reflect"
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
		Source: "A. Pourchot, O. Sigaud, \"CEM-RL: Combining evolutionary and gradient-based methods for policy search\", 2019",
		parts:  newGuided("cem-rl", func() guide { c := DefaultCEMRL(); return &c }, ec.CandidateAlgorithms(), "ddpg", "sac", "td3"),
	},
	{
		Name: "erl", Summary: "evolution-guided reinforcement learning: agents learn from the episodes of a population, which their actors join",
		Source: "S. Khadka, K. Tumer, \"Evolution-Guided Policy Gradient in Reinforcement Learning\", 2018",
		parts:  newGuided("erl", func() guide { c := DefaultERL(); return &c }, ec.CandidateAlgorithms(), "ddpg", "sac", "td3"),
	},
	{
		Name: "pga-me", Summary: "MAP-Elites in which some candidates are elites moved along the gradient of agents' critics",
		Source: "O. Nilsson, A. Cully, \"Policy Gradient Assisted MAP-Elites\", 2021",
		parts:  newGuided("pga-me", func() guide { c := DefaultPGAME(); return &c }, ec.ArchiveAlgorithms(), "ddpg", "td3"),
	},
	{
		Name: "qd-pg", Summary: "MAP-Elites in which some candidates are elites moved along the gradient of a " +
			"critic of returns, others along that of a critic of novelty",
		Source: "T. Pierrot et al., \"Diversity Policy Gradient for Sample Efficient Quality-Diversity Optimization\", 2022",
		parts:  newGuided("qd-pg", func() guide { c := DefaultQDPG(); return &c }, ec.ArchiveAlgorithms(), "ddpg", "td3"),
	},
}

// ERLConfig is [erl]: the algorithms of the agents and of the search, and how they are combined.
type ERLConfig struct {
	Agent  string `doc:"Algorithm of the agents; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the populations; its section becomes part of the configuration."`
	hybrid.ERLConfig
}

// DefaultERL is hybrid.DefaultERL with TD3 and a genetic algorithm.
func DefaultERL() ERLConfig {
	return ERLConfig{Agent: "td3", Search: "ga", ERLConfig: hybrid.DefaultERL()}
}

func (c *ERLConfig) chosen() (agent, search *string) { return &c.Agent, &c.Search }

func (c *ERLConfig) repeat() { c.Warmup = 0 }

// dependent implements dependent: agents of one population learn from each other.
func (c *ERLConfig) dependent() bool { return c.Agents > 1 }

func (c *ERLConfig) build(ctx context.Context, agents agentsFunc, search algorithmParts) (engine.Workflow, error) {
	of, err := agents()
	if err != nil {
		return nil, err
	}
	e, err := hybrid.NewERL(ctx, of, search.configured(), c.ERLConfig)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// CEMRLConfig is [cem-rl]: the algorithms that update the candidates and that search, and how they are combined.
type CEMRLConfig struct {
	Agent  string `doc:"Algorithm that updates the candidates; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the search; its section becomes part of the configuration."`
	hybrid.CEMRLConfig
}

// DefaultCEMRL is hybrid.DefaultCEMRL with TD3 and the cross-entropy method.
func DefaultCEMRL() CEMRLConfig {
	return CEMRLConfig{Agent: "td3", Search: "cem", CEMRLConfig: hybrid.DefaultCEMRL()}
}

func (c *CEMRLConfig) chosen() (agent, search *string) { return &c.Agent, &c.Search }

func (c *CEMRLConfig) repeat() { c.Warmup = 0 }

// Fits implements guide.
func (c *CEMRLConfig) Fits(members int, network rl.NetworkConfig, replay rl.ReplayConfig) error {
	if c.ImportanceMixing && !slices.Contains(ec.NormalAlgorithms(), c.Search) {
		return config.Invalid("cem-rl.importance_mixing", "the density of the candidates of %s is not known; want false, or a search among %v",
			c.Search, ec.NormalAlgorithms())
	}
	return c.CEMRLConfig.Fits(members, network, replay)
}

// suits implements choosy.
func (c *CEMRLConfig) suits(env *envs.Environment) error {
	if c.Agent == "sac" && c.CriticsFirst {
		return config.Invalid("cem-rl.critics_first", "the critics of sac learn from actors that learn; want false, or agent = \"td3\"")
	}
	if c.Agent == "sac" && env.Action.IsDiscrete() {
		return config.Invalid("cem-rl.agent",
			"actors of sac with the discrete actions of %q do not share critics; want an environment with continuous actions", env.Name)
	}
	return nil
}

func (c *CEMRLConfig) build(ctx context.Context, agents agentsFunc, search algorithmParts) (engine.Workflow, error) {
	w, err := hybrid.NewCEMRL(ctx, hybrid.AgentsFunc(agents), search.configured(), c.CEMRLConfig)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// PGAMEConfig is [pga-me]: the agents by whose critics candidates are improved, the archive, and how they are
// combined.
type PGAMEConfig struct {
	Agent  string `doc:"Algorithm of the agents; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the archives; its section becomes part of the configuration."`
	hybrid.PGAMEConfig
}

// DefaultPGAME is hybrid.DefaultPGAME with TD3 and MAP-Elites.
func DefaultPGAME() PGAMEConfig {
	return PGAMEConfig{Agent: "td3", Search: "map-elites", PGAMEConfig: hybrid.DefaultPGAME()}
}

func (c *PGAMEConfig) chosen() (agent, search *string) { return &c.Agent, &c.Search }

func (c *PGAMEConfig) build(ctx context.Context, agents agentsFunc, search algorithmParts) (engine.Workflow, error) {
	of, err := agents()
	if err != nil {
		return nil, err
	}
	w, err := hybrid.NewPGAME(ctx, of, search.configured(), *search.described(), c.PGAMEConfig)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// QDPGConfig is [qd-pg]: the agents by whose critics candidates are improved, the archive, and how they are combined.
type QDPGConfig struct {
	Agent  string `doc:"Algorithm of the agents; its sections become part of the configuration."`
	Search string `doc:"Algorithm of the archives; its section becomes part of the configuration."`
	hybrid.QDPGConfig
}

// DefaultQDPG is hybrid.DefaultQDPG with TD3 and MAP-Elites.
func DefaultQDPG() QDPGConfig {
	return QDPGConfig{Agent: "td3", Search: "map-elites", QDPGConfig: hybrid.DefaultQDPG()}
}

func (c *QDPGConfig) chosen() (agent, search *string) { return &c.Agent, &c.Search }

// adapt implements adapting: both agents of an archive learn from the same transitions.
func (c *QDPGConfig) adapt(replay *rl.ReplayConfig) { replay.Shared = true }

func (c *QDPGConfig) build(ctx context.Context, agents agentsFunc, search algorithmParts) (engine.Workflow, error) {
	w, err := hybrid.NewQDPG(ctx, hybrid.AgentsFunc(agents), search.configured(), *search.described(), c.QDPGConfig)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// guide is the section of a hybrid of agents and a search, a pointer to its settings.
type guide interface {
	// chosen returns the names of the algorithms.
	chosen() (agent, search *string)
	// Fits checks the settings against those of the agents. It needs no device. Errors are those of config.Invalid,
	// with the key from the top level.
	Fits(members int, network rl.NetworkConfig, replay rl.ReplayConfig) error
	build(ctx context.Context, agents agentsFunc, search algorithmParts) (engine.Workflow, error)
}

// repeating is a guide that PBT can train if its iterations are all the same.
type repeating interface {
	guide
	// Repeats returns the error of settings with which iterations differ, with the key from the top level.
	Repeats() error
	// repeat sets defaults with which they do not.
	repeat()
}

// choosy is a guide that does not suit every environment that the agents suit. Errors are those of Fits.
type choosy interface {
	suits(env *envs.Environment) error
}

// adapting is a guide whose agents have other defaults.
type adapting interface{ adapt(replay *rl.ReplayConfig) }

// agentsFunc makes the configured agents, with further options.
type agentsFunc func(...rl.Option) (*rl.OffPolicy, error)

// offPolicyParts are the settings of off-policy agents.
type offPolicyParts interface {
	trainable
	// shared returns the settings common to all of them.
	shared() (rl.NetworkConfig, rl.ReplayConfig)
	replays() *rl.ReplayConfig
	agents(context.Context, *engine.Engine, *envs.Environment, envs.Options, ...rl.Option) (*rl.OffPolicy, error)
}

// algorithmParts are the settings of a search.
type algorithmParts interface {
	trainable
	configured() ec.Algorithm
	// described returns the settings of the descriptors, or nil if the algorithm uses none.
	described() *problem.BehaviourConfig
}

// guided holds the settings of a hybrid of agents and a search: those of the agents, the section of the search's
// algorithm, and the hybrid's own.
type guided struct {
	offPolicyParts // the agents
	search         algorithmParts
	of             [2]string // the agent and the search whose sections these are
	name           string
	cfg            guide
	choices        [2][]Workflow
}

// newGuided makes the settings of a hybrid with its default agent and search. searchNames and agentNames are those that
// it supports.
func newGuided(name string, cfg func() guide, searchNames []string, agentNames ...string) func() parts {
	return func() parts {
		among := func(of []Workflow, names []string) []Workflow {
			return slices.DeleteFunc(slices.Clone(of), func(w Workflow) bool { return !slices.Contains(names, w.Name) })
		}
		g := &guided{name: name, cfg: cfg(), choices: [2][]Workflow{among(agents, agentNames), among(searches, searchNames)}}
		agent, search := g.cfg.chosen()
		g.of = [2]string{*agent, *search}
		g.take()
		return g
	}
}

// take installs the sections of the chosen agent and search, with their defaults. at is the index of an invalid
// choice; -1: none.
func (g *guided) take() (at int) {
	var found [2]parts
	for i, of := range g.choices {
		k := slices.IndexFunc(of, func(w Workflow) bool { return w.Name == g.of[i] })
		if k < 0 {
			return i
		}
		found[i] = of[k].parts()
	}
	g.offPolicyParts, g.search = found[0].(offPolicyParts), found[1].(algorithmParts)
	if of, ok := g.cfg.(adapting); ok {
		of.adapt(g.replays())
	}
	agent, search := g.cfg.chosen()
	*agent, *search = g.of[0], g.of[1]
	return -1
}

// choose selects the agent and the search named in the document or, if it names none, in a value of With.
func (g *guided) choose(d *config.Document, values []any) error {
	chosen := struct {
		Agent  string `doc:"Name the algorithm of the agents."`
		Search string `doc:"Name the algorithm of the populations."`
	}{g.of[0], g.of[1]}
	for _, v := range values {
		if of := reflect.Indirect(reflect.ValueOf(v)); of.IsValid() && of.Type() == reflect.TypeOf(g.cfg).Elem() {
			chosen.Agent, chosen.Search = of.FieldByName("Agent").String(), of.FieldByName("Search").String()
		}
	}
	if err := d.Peek(g.name, &chosen); err != nil {
		return err
	}
	g.of = [2]string{chosen.Agent, chosen.Search}
	at := g.take()
	if at < 0 {
		return nil
	}
	key, what := g.name+"."+[2]string{"agent", "search"}[at], [2]string{"agent", "search"}[at]
	if _, ok := (*Catalog)(nil).workflow(g.of[at]); ok {
		return d.Errorf(key, "%s does not serve as the %s of %s: want one of %v", g.of[at], what, g.name, names(g.choices[at]))
	}
	if !d.Defined(key) {
		return d.Errorf(key, "unknown %s %q: want one of %v", what, g.of[at], names(g.choices[at]))
	}
	return d.UnknownValue(key, what, names(g.choices[at]))
}

// complete implements composed.
func (g *guided) complete() {}

// dependent implements dependent.
func (g *guided) dependent() bool {
	of, ok := g.cfg.(dependent)
	return ok && of.dependent()
}

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

func (g *guided) section() string { return g.name }

func (g *guided) sections() config.Sections {
	of := g.offPolicyParts.sections()
	if behaviour := g.search.described(); behaviour != nil {
		of = append(of, config.Section{Name: "behaviour", Value: behaviour})
	}
	return append(of, g.search.learner(), config.Section{Name: g.name, Value: g.cfg})
}

func (g *guided) check(env *envs.Environment, options envs.Options) error {
	agent, search := g.cfg.chosen()
	for i, is := range []string{*agent, *search} {
		if is != g.of[i] {
			return config.Invalid(g.name+"."+[2]string{"agent", "search"}[i], "it is %q in a configuration made for %q: want a new configuration", is, g.of[i])
		}
	}
	if err := g.offPolicyParts.check(env, options); err != nil {
		return err
	}
	count, _ := g.members()
	network, replay := g.shared()
	if err := g.cfg.Fits(*count, network, replay); err != nil {
		return err
	}
	if of, ok := g.cfg.(choosy); ok {
		if err := of.suits(env); err != nil {
			return err
		}
	}
	if behaviour := g.search.described(); behaviour != nil {
		return keyed(behaviour.Fits(env))
	}
	return nil
}

// document adds the choices of agents and searches.
func (g *guided) document(keys []config.Key) ([]config.Key, error) {
	for i := range keys {
		switch keys[i].Name {
		case "agent":
			keys[i].Choices = names(g.choices[0])
		case "search":
			keys[i].Choices = names(g.choices[1])
		}
	}
	return keys, nil
}

func (g *guided) build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	return g.cfg.build(ctx, func(opts ...rl.Option) (*rl.OffPolicy, error) { return g.agents(ctx, eng, env, options, opts...) }, g.search)
}
