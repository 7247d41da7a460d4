// Package ec holds evolutionary computation: algorithms that propose candidates and learn from how fit they are.
//
// An algorithm is a value, its configuration, such as DefaultOpenES(). It is used by a Search, which evaluates its
// candidates by a Problem on the device, generation after generation; package problem has policies for any
// environment, known functions, and functions of one's own in GLSL. By AskTell the caller evaluates candidates, in Go
// or wherever else. Restart restarts searches that have converged, with other populations (IPOP, BIPOP). Generation
// is the algorithm on the device that all of these stand on, and hybrids too.
//
//   - Of a normal distribution that keeps its shape: OpenES, vanilla ES, ARS, random search.
//   - With a deviation for every number: PGPE, SNES, Sep-CMA-ES, CEM.
//   - With a covariance matrix: CMA-ES and xNES hold all of it, dim² numbers; LM-MA-ES and CR-FM-NES a few directions, for large dimensions.
//   - Of a population: genetic algorithms (GA), DE, SHADE, PSO, CSO.
//   - For several objectives: NSGA-II, NSGA-III, MOEA/D; package indicator measures fronts.
//   - For quality diversity: MAP-Elites, CVT-MAP-Elites.
//
// Fitness is maximised everywhere. Every tensor of a search has the members, M, as its first axis: a member is a
// search of its own, with its own random numbers and hyperparameters, so that many run at once. A search's candidates
// are the population, P.
//
// A generation is one recorded program: the strategy asks, its candidates are formed window by window and evaluated,
// their fitness is ranked (what is not finite is the worst), the best so far is kept, and the strategy is told. An
// algorithm's file holds its equations; strategy.go has its interface.
package ec
