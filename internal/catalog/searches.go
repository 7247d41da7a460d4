package catalog

import "github.com/evorl/evorl/ec"

// searches are the workflows of package ec: each is one algorithm, on policies or on problems.
var searches = []Workflow{
	{
		Name: "openes", Summary: "evolution strategy in which an optimizer follows an estimated gradient",
		Source:   "T. Salimans et al., \"Evolution Strategies as a Scalable Alternative to Reinforcement Learning\", 2017",
		settings: newSearch(ec.DefaultOpenES),
	},
	{
		Name: "vanilla-es", Summary: "canonical evolution strategy: the mean of the best candidates",
		Source:   "P. Chrabaszcz, I. Loshchilov, F. Hutter, \"Back to Basics: Benchmarking Canonical Evolution Strategies for Playing Atari\", 2018",
		settings: newSearch(ec.DefaultVanillaES),
	},
	{
		Name: "ars", Summary: "augmented random search: steps along the best directions, scaled by the deviation of their rewards",
		Source:   "H. Mania, A. Guy, B. Recht, \"Simple random search of static linear policies is competitive for reinforcement learning\", 2018",
		settings: newSearch(ec.DefaultARS),
	},
	{
		Name: "pgpe", Summary: "policy gradients with parameter-based exploration: mean and deviations follow estimated gradients",
		Source:   "F. Sehnke et al., \"Parameter-exploring policy gradients\", 2010",
		settings: newSearch(ec.DefaultPGPE),
	},
	{
		Name: "snes", Summary: "separable natural evolution strategy",
		Source:   "T. Schaul, T. Glasmachers, J. Schmidhuber, \"High Dimensions and Heavy Tails for Natural Evolution Strategies\", 2011",
		settings: newSearch(ec.DefaultSNES),
	},
	{
		Name: "cma-es", Summary: "covariance matrix adaptation with negative weights",
		Source:   "N. Hansen, \"The CMA Evolution Strategy: A Tutorial\", 2016",
		settings: newSearch(ec.DefaultCMAES),
	},
	{
		Name: "sep-cma-es", Summary: "covariance matrix adaptation of a diagonal matrix",
		Source:   "R. Ros, N. Hansen, \"A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity\", 2008",
		settings: newSearch(ec.DefaultSepCMAES),
	},
	{
		Name: "lm-ma-es", Summary: "limited-memory matrix adaptation: a covariance matrix of a few directions",
		Source:   "I. Loshchilov, T. Glasmachers, H.-G. Beyer, \"Large Scale Black-Box Optimization by Limited-Memory Matrix Adaptation\", 2019",
		settings: newSearch(ec.DefaultLMMAES),
	},
	{
		Name: "xnes", Summary: "exponential natural evolution strategy",
		Source:   "T. Glasmachers et al., \"Exponential Natural Evolution Strategies\", 2010",
		settings: newSearch(ec.DefaultXNES),
	},
	{
		Name: "cr-fm-nes", Summary: "cost-reduced fast-moving natural evolution strategy: a covariance matrix of a diagonal and one direction",
		Source:   "M. Nomura, I. Ono, \"Fast Moving Natural Evolution Strategy for High-Dimensional Problems\", 2022",
		settings: newSearch(ec.DefaultCRFMNES),
	},
	{
		Name: "cem", Summary: "cross-entropy method with decaying extra variance",
		Source:   "A. Pourchot, O. Sigaud, \"CEM-RL: Combining evolutionary and gradient-based methods for policy search\", 2019",
		settings: newSearch(ec.DefaultCEM),
	},
	{
		Name: "ga", Summary: "genetic algorithm",
		Source:   "F. P. Such et al., \"Deep Neuroevolution\", 2017",
		settings: newSearch(ec.DefaultGA),
	},
	{
		Name: "de", Summary: "differential evolution",
		Source:   "R. Storn, K. Price, \"Differential Evolution - A Simple and Efficient Heuristic for Global Optimization over Continuous Spaces\", 1997",
		settings: newSearch(ec.DefaultDE),
	},
	{
		Name: "shade", Summary: "differential evolution that adapts its parameters to the history of successes",
		Source:   "R. Tanabe, A. Fukunaga, \"Success-history based parameter adaptation for Differential Evolution\", 2013",
		settings: newSearch(ec.DefaultSHADE),
	},
	{
		Name: "pso", Summary: "particle swarm optimization",
		Source:   "J. Kennedy, R. Eberhart, \"Particle Swarm Optimization\", 1995",
		settings: newSearch(ec.DefaultPSO),
	},
	{
		Name: "cso", Summary: "competitive swarm optimizer",
		Source:   "R. Cheng, Y. Jin, \"A Competitive Swarm Optimizer for Large Scale Optimization\", 2015",
		settings: newSearch(ec.DefaultCSO),
	},
	{
		Name: "random-search", Summary: "random candidates around the start, of which the best is kept",
		Source:   "the baseline",
		settings: newSearch(ec.DefaultRandomSearch),
	},
	{
		Name: "map-elites", Summary: "the best candidate for every cell of a grid of behaviours",
		Source:   "J.-B. Mouret, J. Clune, \"Illuminating search spaces by mapping elites\", 2015",
		settings: newSearchOf(behaviour, ec.DefaultMAPElites),
	},
	{
		Name: "cvt-map-elites", Summary: "the best candidate for every cell of a centroidal Voronoi tessellation of behaviours",
		Source:   "V. Vassiliades, K. Chatzilygeroudis, J.-B. Mouret, \"Using Centroidal Voronoi Tessellations to Scale Up MAP-Elites\", 2018",
		settings: newSearchOf(behaviour, ec.DefaultCVTMAPElites),
	},
	{
		Name: "nsga-ii", Summary: "solutions of several objectives by non-dominated sorting and crowding distance",
		Source:   "K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, \"A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II\", 2002",
		settings: newSearchOf(objectives, ec.DefaultNSGA2),
	},
	{
		Name: "nsga-iii", Summary: "solutions of several objectives by non-dominated sorting and reference points",
		Source:   "K. Deb, H. Jain, \"An Evolutionary Many-Objective Optimization Algorithm Using Reference-Point-Based Nondominated Sorting Approach\", 2014",
		settings: newSearchOf(objectives, ec.DefaultNSGA3),
	},
	{
		Name: "moead", Summary: "solutions of several objectives, each the best for its own weights (MOEA/D)",
		Source:   "Q. Zhang, H. Li, \"MOEA/D: A Multiobjective Evolutionary Algorithm Based on Decomposition\", 2007",
		settings: newSearchOf(objectives, ec.DefaultMOEAD),
	},
}
