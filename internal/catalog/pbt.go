package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/rl"
)

// hybrids are the workflows of package hybrid that train others.
var hybrids = []Workflow{
	{
		Name: "pbt", Summary: "population based training of an agent or a search: the worst members become copies of the best and explore other hyperparameters",
		Source:   "M. Jaderberg et al., \"Population Based Training of Neural Networks\", 2017",
		settings: newPBT(hybrid.NewPBT),
	},
	{
		Name: "pbt-cso", Summary: "population based training whose losers move towards their winners' hyperparameters, as a competitive swarm",
		Source:   "B. Zheng et al., \"EvoRL\", 2025, section 5.2.3",
		settings: newPBT(hybrid.NewPBTCSO),
	},
	{
		Name: "emogi", Summary: "NSGA-II over agents in two objectives, such as playing styles: children of the front learn between selections",
		Source:   "R. Shen et al., \"Generating Behavior-Diverse Game AIs with Evolutionary Multi-Objective Deep Reinforcement Learning\", 2020",
		settings: newEMOGI,
	},
}

// pbtPopulation is EvoRL's.
const pbtPopulation = 32

// trainables returns the workflows that PBT can train: those with one objective, by which members can be compared, and
// with iterations that can be the same.
func (c *Catalog) trainables() []Workflow {
	return slices.DeleteFunc(slices.Concat(agents, guides, games, c.searches()), func(w Workflow) bool {
		switch of := w.Settings().(type) {
		case *search:
			return of.several()
		case *guided:
			return of.how.repeats == nil
		}
		return false
	})
}

// pbt holds the settings of population based training: the trained workflow's, and [pbt].
type pbt struct {
	Settings
	catalog *Catalog                // of the workflows that it can train
	over    string                  // the workflow's name
	space   map[string]hybrid.Prior // declared by the workflow
	err     error                   // error of space
	cfg     hybrid.PBTConfig
	new     pbtFunc
	agents  bool // it trains agents alone
}

// pbtFunc makes a workflow of package hybrid from another.
type pbtFunc func(context.Context, engine.Trainable, hybrid.PBTConfig) (*hybrid.PBT, error)

// newPBT makes the settings of PBT over its default workflow.
func newPBT(new pbtFunc) func(*Catalog) Settings {
	return func(c *Catalog) Settings {
		p := &pbt{catalog: c, cfg: hybrid.DefaultPBT(), new: new}
		p.train(p.cfg.Over)
		return p
	}
}

// newEMOGI makes the settings of EMOGI over its default workflow.
func newEMOGI(c *Catalog) Settings {
	p := &pbt{catalog: c, cfg: hybrid.DefaultEMOGI(), new: hybrid.NewEMOGI, agents: true}
	p.train(p.cfg.Over)
	return p
}

// trainables returns the workflows that it can train.
func (p *pbt) trainables() []Workflow {
	if p.agents {
		return agents
	}
	return p.catalog.trainables()
}

// Independent implements Settings: members compete.
func (p *pbt) Independent() bool { return false }

func (p *pbt) Composed() bool { return true }

// train installs the settings of a workflow, with its defaults; ok is false if PBT cannot train it.
func (p *pbt) train(over string) (ok bool) {
	all := p.trainables()
	at := slices.IndexFunc(all, func(w Workflow) bool { return w.Name == over })
	if at < 0 {
		return false
	}
	p.Settings, p.over, p.cfg.Over = all[at].Settings(), over, over
	p.adopt()
	return true
}

// adopt gives the workflow's settings the defaults of PBT.
func (p *pbt) adopt() {
	count, _ := p.Members()
	*count = pbtPopulation
	if of, ok := p.Settings.(*agent); ok && p.agents {
		of.slices = nil // EMOGI selects among all members on one device
	}
	p.space, p.err = hybrid.DefaultSearch(p.learner().Value)
	p.cfg.Search = maps.Clone(p.space)
	if of, ok := p.Settings.(*guided); ok {
		of.how.repeat()
	}
}

// choose trains the workflow named in the document or, if it names none, in a hybrid.PBTConfig among the values of With.
func (p *pbt) choose(d *config.Document, values []any) error {
	var chosen struct {
		Over string `doc:"Name the workflow that is trained."`
	}
	const key = "pbt.over"
	if err := choose(d, "pbt", &p.cfg, values, &chosen); err != nil {
		return err
	}
	if p.train(chosen.Over) {
		err := p.Settings.choose(d, values)
		p.adopt() // a choice has defaults of its own
		return err
	}
	if of, ok := p.catalog.Workflow(chosen.Over); ok {
		if p.agents {
			return d.Errorf(key, "%s is no agent, and emogi trains agents: want one, such as over = \"ppo\"", of.Name)
		}
		return d.Errorf(key, "%s", refusal(of))
	}
	if !d.Defined(key) {
		return d.Errorf(key, "unknown workflow %q: want an agent, a search or a hybrid of both, such as \"ppo\"", chosen.Over)
	}
	return (&Reader{}).unknown(d, key, "workflow", Names(p.trainables()))
}

// refusal returns the reason why PBT cannot train a workflow.
func refusal(of Workflow) string {
	if s, ok := of.Settings().(*search); ok && s.several() {
		return fmt.Sprintf("%s has several objectives, and members are compared by one: want a workflow of one, such as over = \"openes\"", of.Name)
	}
	if slices.ContainsFunc(populations, func(w Workflow) bool { return w.Name == of.Name }) {
		return fmt.Sprintf("the members of %s learn from each other, so that none can be copied alone: want an agent or a search, such as over = \"ppo\"", of.Name)
	}
	if slices.ContainsFunc(guides, func(w Workflow) bool { return w.Name == of.Name }) {
		return fmt.Sprintf("%s begins with generations of the archive alone, and PBT trains workflows whose iterations are the same: "+
			"want an agent, a search, erl or cem-rl, such as over = \"ppo\"", of.Name)
	}
	return fmt.Sprintf("%s trains other workflows and cannot be trained itself: want an agent or a search, such as over = \"ppo\"", of.Name)
}

// complete uses the declared search space if a value of With has none.
func (p *pbt) complete() {
	if p.cfg.Search == nil {
		p.cfg.Search = maps.Clone(p.space)
	}
}

func (p *pbt) Sections() config.Sections {
	return append(p.Settings.Sections(), config.Section{Name: "pbt", Value: &p.cfg})
}

// checkCoverage checks that coverage can be an objective.
func (p *pbt) checkCoverage(env *envs.Environment) error {
	if p.cfg.Objective != hybrid.Coverage {
		return nil
	}
	if _, ok := p.Settings.(*agent); !ok {
		return config.Invalid("pbt.objective", "coverage is of the episodes of agents, and %s has none: want none, or an agent such as over = \"ppo\"", p.over)
	}
	if env != nil && !env.Covers() {
		return config.Invalid("pbt.objective", "%q records no states that agents visit: want none, or an environment that does, such as \"FaultMaze-v0\"",
			env.Name)
	}
	return nil
}

// checkCrossover checks that networks can be crossed.
func (p *pbt) checkCrossover() error {
	switch {
	case p.cfg.Crossover == hybrid.BestCrossover:
	case !p.agents:
		return config.Invalid("pbt.crossover", "pbt's copies have one parent: want best, or workflow = \"emogi\"")
	case !slices.Contains([]string{"ppo", "a2c", "impala"}, p.over):
		return config.Invalid("pbt.crossover", "layers of %s are not crossed: want best, or over = \"ppo\", \"a2c\" or \"impala\"", p.over)
	}
	return nil
}

func (p *pbt) Check(env *envs.Environment, options envs.Options) error {
	switch {
	case p.err != nil:
		return p.err
	case p.cfg.Over != p.over:
		return config.Invalid("pbt.over", "it is %q in a configuration made for %q: want a new configuration", p.cfg.Over, p.over)
	}
	if count, key := p.Members(); *count < 2 {
		return config.Invalid(key, "a population of %d has no other member to learn from: want at least 2", *count)
	}
	switch of := p.Settings.(type) {
	case *agent:
		if key := of.asynchronousKey(); key != "" {
			return config.Invalid(key, "nobody acts elsewhere for agents that become copies of each other: want false, or workflow = %q", of.name)
		}
	case *guided:
		if err := of.how.repeats(); err != nil {
			return err
		}
	case *selfPlay:
		if of.cfg.League {
			return config.Invalid("self-play.league", "pbt makes members copies of others, and those of a league have roles: want false, or workflow = \"self-play\"")
		}
	}
	if err := p.checkDivided(); err != nil {
		return err
	}
	if err := p.checkCoverage(env); err != nil {
		return err
	}
	if err := p.checkCrossover(); err != nil {
		return err
	}
	keys, err := p.memberFields()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Search)) {
		if err := checkSearch(name, p.cfg.Search[name], keys); err != nil {
			return err
		}
	}
	return p.Settings.Check(env, options)
}

// memberFields returns the keys that may be searched: the learner's and, only on request, the replay's.
func (p *pbt) memberFields() ([]config.Key, error) {
	keys, err := config.MemberFields(p.learner().Value)
	replay := replayOf(p.Settings)
	if replay == nil || err != nil {
		return keys, err
	}
	more, err := config.MemberFields(replay)
	for _, k := range more {
		if (k.Name == "batch_share") != replay.Prioritized { // which has exponents instead
			keys = append(keys, k)
		}
	}
	return keys, err
}

// replayOf returns the settings of a workflow's replay; nil: none.
func replayOf(of Settings) *rl.ReplayConfig {
	switch of := of.(type) {
	case *agent:
		return of.replay
	case *guided:
		return of.replay
	}
	return nil
}

// checkSearch checks the ends of a hyperparameter's prior against the range of its key.
func checkSearch(name string, prior hybrid.Prior, keys []config.Key) error {
	key := "pbt.search." + name
	at := slices.IndexFunc(keys, func(k config.Key) bool { return k.Name == name })
	if at < 0 {
		var known []string
		for _, k := range keys {
			known = append(known, k.Name)
		}
		return config.Unknown(key, "hyperparameter", known)
	}
	for _, end := range []struct {
		key   string
		value float64
	}{{"low", prior.Low}, {"high", prior.High}} {
		x := end.value
		if prior.Prior == hybrid.Horizon {
			x = -math.Expm1(-x)
		}
		if want := keys[at].Want(x); want != "" {
			return config.Invalid(key+"."+end.key, "%s of %g is out of range: want %s", name, x, want)
		}
	}
	return nil
}

// document completes the keys of [pbt] with the choices of workflows and the hyperparameters searched by default.
func (p *pbt) document(section string, keys []config.Key) ([]config.Key, error) {
	if section != "pbt" {
		return keys, nil
	}
	for i := range keys {
		if keys[i].Name == "over" {
			keys[i].Choices = Names(p.catalog.trainables()) // the section is PBT's, too
		}
	}
	searched, err := config.MemberFields(p.learner().Value)
	if err != nil {
		return nil, err
	}
	for _, k := range searched {
		if prior, ok := p.space[k.Name]; ok {
			keys = append(keys, config.Key{
				Name: "search." + k.Name, Type: "table", Doc: "Searched unless a configuration has searches of its own.",
				Default: fmt.Sprintf("{prior = %q, low = %g, high = %g}", prior.Prior, prior.Low, prior.High),
			})
		}
	}
	return keys, nil
}

func (p *pbt) Build(ctx context.Context, eng *engine.Engine, env *envs.Environment, options envs.Options) (engine.Workflow, error) {
	inner, err := p.Settings.Build(ctx, eng, env, options)
	if err != nil {
		return nil, err
	}
	over, ok := inner.(engine.Trainable)
	if !ok {
		return nil, errors.Join(fmt.Errorf("evorl: %s cannot be trained by PBT", inner.Describe().Workflow), inner.Close())
	}
	cfg := p.cfg
	if maps.Equal(cfg.Search, p.space) {
		cfg.Search = nil // its default: what the workflow declares and has in this environment
	}
	return p.new(ctx, over, cfg)
}
