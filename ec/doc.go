// Package ec holds evolutionary computation: algorithms that propose candidates and learn from their fitness.
//
// An algorithm is a value, its configuration, such as DefaultOpenES(). A Search evaluates its candidates by a Problem
// on the device; package problem has policies for any environment, benchmark functions, and user-defined functions in
// GLSL. With AskTell the caller evaluates candidates, in Go or elsewhere. Restart restarts converged searches with
// other population sizes (IPOP, BIPOP). All of these, and the hybrids, are built on Generation, an algorithm on the
// device.
//
//   - Isotropic normal distribution: OpenES, vanilla ES, ARS, random search.
//   - A deviation per coordinate: PGPE, SNES, Sep-CMA-ES, CEM.
//   - A covariance matrix: CMA-ES and xNES store all dim² elements; LM-MA-ES and CR-FM-NES only a few directions, for large dimensions.
//   - Population-based: genetic algorithms (GA), DE, SHADE, PSO, CSO.
//   - Several objectives: NSGA-II, NSGA-III, MOEA/D; package indicator measures fronts.
//   - Quality diversity: MAP-Elites, CVT-MAP-Elites.
//
// Fitness is maximised everywhere. Every tensor of a search leads with the member axis M: a member is an independent
// search with its own random numbers and hyperparameters, and many run at once. A search's candidates are the
// population, N.
//
// A generation is one recorded program: the strategy is asked, candidates are formed and evaluated window by window,
// their fitness is ranked (values that are not finite last), the best so far is kept, and the strategy is told. An
// algorithm's file holds its equations; strategy.go holds the interface.
package ec
