package catalog

import (
	"context"

	"github.com/evorl/evorl/ec"
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
	check(d *config.Document, env *envs.Environment, options envs.Options) error
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
		{
			Name: "openes", Summary: "evolution strategy that follows an estimated gradient by an optimizer",
			Source: "T. Salimans et al., \"Evolution Strategies as a Scalable Alternative to Reinforcement Learning\", 2017",
			parts:  newSearch(ec.DefaultOpenES),
		},
		{
			Name: "vanilla-es", Summary: "canonical evolution strategy: the mean of the best candidates",
			Source: "P. Chrabaszcz, I. Loshchilov, F. Hutter, \"Back to Basics: Benchmarking Canonical Evolution Strategies for Playing Atari\", 2018",
			parts:  newSearch(ec.DefaultVanillaES),
		},
		{
			Name: "ars", Summary: "augmented random search: steps along the best directions, by the deviation of their rewards",
			Source: "H. Mania, A. Guy, B. Recht, \"Simple random search of static linear policies is competitive for reinforcement learning\", 2018",
			parts:  newSearch(ec.DefaultARS),
		},
		{
			Name: "pgpe", Summary: "policy gradients with parameter-based exploration: mean and deviations follow estimated gradients",
			Source: "F. Sehnke et al., \"Parameter-exploring policy gradients\", 2010",
			parts:  newSearch(ec.DefaultPGPE),
		},
		{
			Name: "snes", Summary: "separable natural evolution strategy",
			Source: "T. Schaul, T. Glasmachers, J. Schmidhuber, \"High Dimensions and Heavy Tails for Natural Evolution Strategies\", 2011",
			parts:  newSearch(ec.DefaultSNES),
		},
		{
			Name: "cma-es", Summary: "covariance matrix adaptation with negative weights",
			Source: "N. Hansen, \"The CMA Evolution Strategy: A Tutorial\", 2016",
			parts:  newSearch(ec.DefaultCMAES),
		},
		{
			Name: "sep-cma-es", Summary: "covariance matrix adaptation of a diagonal matrix",
			Source: "R. Ros, N. Hansen, \"A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity\", 2008",
			parts:  newSearch(ec.DefaultSepCMAES),
		},
		{
			Name: "cr-fm-nes", Summary: "cost-reduced fast-moving natural evolution strategy: a covariance matrix of a diagonal and one direction",
			Source: "M. Nomura, I. Ono, \"Fast Moving Natural Evolution Strategy for High-Dimensional Problems\", 2022",
			parts:  newSearch(ec.DefaultCRFMNES),
		},
		{
			Name: "cem", Summary: "cross-entropy method with decaying extra variance",
			Source: "A. Pourchot, O. Sigaud, \"CEM-RL: Combining evolutionary and gradient-based methods for policy search\", 2019",
			parts:  newSearch(ec.DefaultCEM),
		},
		{
			Name: "ga", Summary: "genetic algorithm",
			Source: "F. P. Such et al., \"Deep Neuroevolution\", 2017",
			parts:  newSearch(ec.DefaultGA),
		},
		{
			Name: "de", Summary: "differential evolution",
			Source: "R. Storn, K. Price, \"Differential Evolution - A Simple and Efficient Heuristic for Global Optimization over Continuous Spaces\", 1997",
			parts:  newSearch(ec.DefaultDE),
		},
		{
			Name: "shade", Summary: "differential evolution that adapts its parameters by the history of successes",
			Source: "R. Tanabe, A. Fukunaga, \"Success-history based parameter adaptation for Differential Evolution\", 2013",
			parts:  newSearch(ec.DefaultSHADE),
		},
		{
			Name: "pso", Summary: "particle swarm optimization",
			Source: "J. Kennedy, R. Eberhart, \"Particle Swarm Optimization\", 1995",
			parts:  newSearch(ec.DefaultPSO),
		},
		{
			Name: "cso", Summary: "competitive swarm optimizer",
			Source: "R. Cheng, Y. Jin, \"A Competitive Swarm Optimizer for Large Scale Optimization\", 2015",
			parts:  newSearch(ec.DefaultCSO),
		},
		{
			Name: "random-search", Summary: "candidates drawn about the beginning, the best of which is kept",
			Source: "the baseline",
			parts:  newSearch(ec.DefaultRandomSearch),
		},
		{
			Name: "map-elites", Summary: "the best candidate for every cell of a grid of behaviours",
			Source: "J.-B. Mouret, J. Clune, \"Illuminating search spaces by mapping elites\", 2015",
			parts:  newSearchOf(behaviour, ec.DefaultMAPElites),
		},
		{
			Name: "cvt-map-elites", Summary: "the best candidate for every cell of a centroidal Voronoi tessellation of behaviours",
			Source: "V. Vassiliades, K. Chatzilygeroudis, J.-B. Mouret, \"Using Centroidal Voronoi Tessellations to Scale Up MAP-Elites\", 2018",
			parts:  newSearchOf(behaviour, ec.DefaultCVTMAPElites),
		},
		{
			Name: "nsga-ii", Summary: "solutions of several objectives by non-dominated sorting and crowding distance",
			Source: "K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, \"A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II\", 2002",
			parts:  newSearchOf(objectives, ec.DefaultNSGA2),
		},
		{
			Name: "nsga-iii", Summary: "solutions of several objectives by non-dominated sorting and reference points",
			Source: "K. Deb, H. Jain, \"An Evolutionary Many-Objective Optimization Algorithm Using Reference-Point-Based Nondominated Sorting Approach\", 2014",
			parts:  newSearchOf(objectives, ec.DefaultNSGA3),
		},
		{
			Name: "moead", Summary: "solutions of several objectives, each the best of its own weights (MOEA/D)",
			Source: "Q. Zhang, H. Li, \"MOEA/D: A Multiobjective Evolutionary Algorithm Based on Decomposition\", 2007",
			parts:  newSearchOf(objectives, ec.DefaultMOEAD),
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
