package main

import "slices"

// folder holds the pages, their figures and the results of their runs.
const folder = "docs/algorithms"

// page is one algorithm's page, folder/NAME.md.
type page struct {
	name   string // of the workflow
	kind   string
	files  []string // sources with the equations; the first has the defaults
	config string   // of the run that is shown, in configs
	run    []string // further arguments of evorl run
	plot   []string // arguments of evorl plot; nil: the evaluations
	figure string   // suffix of the figure; empty: .svg
}

const (
	onPolicy   = "On-policy reinforcement learning"
	offPolicy  = "Off-policy reinforcement learning"
	gradients  = "Evolution strategies by estimated gradients"
	ranked     = "Evolution strategies by the best candidates"
	combined   = "Searches that combine candidates"
	qualities  = "Quality diversity"
	objectives = "Several objectives"
	hybrids    = "Hybrids of evolution and reinforcement learning"
)

// kinds is the order of the index.
var kinds = []string{onPolicy, offPolicy, gradients, ranked, combined, qualities, objectives, hybrids}

// training draws the returns of training episodes.
var training = []string{"--metric", "return"}

// scored draws the QD score of an archive.
var scored = []string{"--metric", "archive/qd_score", "--x", "iterations"}

var pages = []page{
	{name: "ppo", kind: onPolicy, config: "ppo-cartpole", run: iterations("400", "40"), plot: training,
		files: []string{"rl/ppo.go", "shaders/rl/internal/lane/policy_update.comp", "shaders/rl/loss.glsl"}},
	{name: "a2c", kind: onPolicy, config: "a2c-cartpole",
		files: []string{"rl/a2c.go", "rl/ppo.go", "shaders/rl/internal/lane/policy_update.comp"}},
	{name: "impala", kind: onPolicy, config: "impala-cartpole",
		files: []string{"rl/impala.go", "shaders/rl/vtrace.comp"}},

	{name: "dqn", kind: offPolicy, config: "dqn-cartpole", run: iterations("1000", "100"),
		files: []string{"rl/dqn.go", "shaders/rl/dqn.glsl", "shaders/rl/internal/lane/dqn_update.comp"}},
	{name: "ddpg", kind: offPolicy, config: "ddpg-pendulum", run: iterations("200", "20"), plot: training,
		files: []string{"rl/ddpg.go", "shaders/rl/internal/lane/deterministic_update.comp"}},
	{name: "td3", kind: offPolicy, config: "td3-pendulum", run: iterations("200", "20"), plot: training,
		files: []string{"rl/td3.go", "rl/ddpg.go", "shaders/rl/internal/lane/deterministic_update.comp"}},
	{name: "sac", kind: offPolicy, config: "sac-pendulum", run: iterations("200", "20"), plot: training,
		files: []string{"rl/sac.go", "rl/discretesac.go", "shaders/rl/internal/lane/soft_update.comp"}},
	{name: "redq", kind: offPolicy, config: "redq-pendulum", plot: training,
		files: []string{"rl/redq.go", "rl/sac.go", "shaders/rl/redq_target.comp", "shaders/rl/redq_actor.comp"}},

	{name: "openes", kind: gradients, config: "openes-pendulum",
		files: []string{"ec/openes.go", "shaders/ec/noise_sums.comp"}},
	{name: "ars", kind: gradients, config: "ars-pendulum", files: []string{"ec/ars.go", "shaders/ec/ars.comp"}},
	{name: "pgpe", kind: gradients, config: "pgpe-pendulum", files: []string{"ec/pgpe.go", "shaders/ec/pgpe.comp"}},

	{name: "vanilla-es", kind: ranked, config: "vanilla-es-pendulum",
		files: []string{"ec/vanillaes.go", "shaders/ec/noise_sums.comp"}},
	{name: "cem", kind: ranked, config: "cem-pendulum", files: []string{"ec/cem.go", "shaders/ec/cem.comp"}},
	{name: "snes", kind: ranked, config: "snes-pendulum", files: []string{"ec/snes.go", "shaders/ec/snes.comp"}},
	{name: "xnes", kind: ranked, config: "xnes-pendulum",
		files: []string{"ec/xnes.go", "shaders/ec/xnes_weigh.comp", "shaders/ec/xnes_shape.comp", "shaders/ec/xnes_step.comp"}},
	{name: "cr-fm-nes", kind: ranked, config: "cr-fm-nes-pendulum",
		files: []string{"ec/crfmnes.go", "shaders/ec/crfmnes_weights.comp", "shaders/ec/crfmnes_update.comp"}},
	{name: "cma-es", kind: ranked, config: "cma-es-pendulum",
		files: []string{"ec/cmaes.go", "ec/eigen.go", "shaders/ec/cma_mean.comp", "shaders/ec/cma_step.comp"}},
	{name: "sep-cma-es", kind: ranked, config: "sep-cma-es-pendulum",
		files: []string{"ec/sepcmaes.go", "shaders/ec/sep_path.comp", "shaders/ec/sep_cma.comp"}},
	{name: "lm-ma-es", kind: ranked, config: "lm-ma-es-pendulum",
		files: []string{"ec/lmmaes.go", "shaders/ec/lmmaes_mix.comp", "shaders/ec/lmmaes_update.comp"}},

	{name: "ga", kind: combined, config: "ga-pendulum",
		files: []string{"ec/ga.go", "ec/variation.go", "shaders/ec/vary.comp", "shaders/ec/mutation.glsl", "shaders/ec/crossover.glsl"}},
	{name: "de", kind: combined, config: "de-pendulum",
		files: []string{"ec/de.go", "shaders/ec/de_choose.comp", "shaders/ec/de_trial.comp"}},
	{name: "shade", kind: combined, config: "shade-pendulum",
		files: []string{"ec/shade.go", "ec/de.go", "shaders/ec/shade_learn.comp"}},
	{name: "pso", kind: combined, config: "pso-pendulum", files: []string{"ec/pso.go", "shaders/ec/pso.comp"}},
	{name: "cso", kind: combined, config: "cso-pendulum",
		files: []string{"ec/cso.go", "shaders/ec/cso.comp", "shaders/ec/cso_pair.comp"}},
	{name: "random-search", kind: combined, config: "random-search-pendulum",
		files: []string{"ec/randomsearch.go", "shaders/ec/initial.glsl"}},

	{name: "map-elites", kind: qualities, config: "map-elites-cartpole", plot: []string{"--archive"}, figure: ".png",
		files: []string{"ec/mapelites.go", "shaders/ec/elites_cell.comp", "shaders/ec/elites_enter.comp"}},
	{name: "cvt-map-elites", kind: qualities, config: "cvt-map-elites-cartpole", plot: []string{"--archive"}, figure: ".png",
		files: []string{"ec/cvt.go", "ec/mapelites.go", "shaders/ec/elites_cell.comp"}},

	{name: "nsga-ii", kind: objectives, config: "nsga-ii-zdt", run: iterations("250", "5"),
		files: []string{"ec/nsga2.go", "ec/dominance.go", "shaders/ec/dominance.comp", "shaders/ec/crowding.comp"}},
	{name: "nsga-iii", kind: objectives, config: "nsga-iii-dtlz", run: iterations("250", "5"),
		files: []string{"ec/nsga3.go", "shaders/ec/nsga3_normalize.comp", "shaders/ec/nsga3_niche.comp"}},
	{name: "moead", kind: objectives, config: "moead-dtlz", run: iterations("250", "5"),
		files: []string{"ec/moead.go", "shaders/ec/moead_mate.comp", "shaders/ec/moead_update.comp"}},

	{name: "pbt", kind: hybrids, config: "pbt", run: iterations("60", "5"),
		files: []string{"hybrid/pbtconfig.go", "hybrid/pbt.go", "hybrid/truncation.go", "hybrid/perturbation.go"}},
	{name: "pbt-cso", kind: hybrids, config: "pbt-cso-pendulum", run: iterations("60", "5"),
		files: []string{"hybrid/pbtconfig.go", "hybrid/swarm.go", "shaders/hybrid/swarm.comp"}},
	{name: "emogi", kind: hybrids, config: "pong-emogi", run: iterations("60", "10"), plot: []string{"--metric", "front/hypervolume"},
		files: []string{"hybrid/emogi.go", "hybrid/emogifront.go", "shaders/hybrid/emogi_settle.comp", "shaders/hybrid/emogi_mate.comp",
			"shaders/hybrid/emogi_breed.comp", "shaders/hybrid/emogi_cross.comp"}},
	{name: "self-play", kind: hybrids, config: "pong-self-play", plot: []string{"--metric", "opponents/win_rate"},
		run: []string{"--iterations", "24", "--set", "evaluation.every=12", "--set", "evaluation.episodes=16", "--set", "evaluation.best_episodes=0"},
		files: []string{"hybrid/selfplayconfig.go", "hybrid/selfplay.go", "hybrid/ratings.go", "shaders/envs/matches.comp",
			"shaders/hybrid/self_play_weights.comp", "shaders/hybrid/self_play_append.comp",
			"hybrid/leagueconfig.go", "hybrid/league.go", "shaders/hybrid/league_weights.comp", "shaders/hybrid/league_append.comp"}},
	{name: "erl", kind: hybrids, config: "erl-pendulum", run: iterations("30", "3"), plot: training,
		files: []string{"hybrid/erl.go", "hybrid/population.go"}},
	{name: "cem-rl", kind: hybrids, config: "cem-rl-pendulum", run: iterations("20", "2"), plot: training,
		files: []string{"hybrid/cemrl.go", "hybrid/cemrlmixing.go", "shaders/hybrid/learners.comp"}},
	{name: "pga-me", kind: hybrids, config: "pga-me-pendulum", plot: scored,
		files: []string{"hybrid/pgame.go", "hybrid/emitters.go", "rl/ascent.go"}},
	{name: "qd-pg", kind: hybrids, config: "qd-pg-pendulum", plot: scored,
		files: []string{"hybrid/qdpg.go", "hybrid/emitters.go", "shaders/hybrid/novelty.comp"}},
	{name: "dvd", kind: hybrids, config: "dvd-pendulum", plot: training,
		files: []string{"rl/dvd.go", "shaders/rl/diversity_gradient.comp"}},
	{name: "dvd-es", kind: hybrids, config: "dvd-es-swimmer", run: iterations("100", "5"),
		files: []string{"hybrid/dvdes.go", "hybrid/thompson.go", "shaders/hybrid/diverse_fitness.comp"}},
}

// iterations shortens a run, and evaluates it every so many iterations.
func iterations(count, every string) []string {
	return []string{"--iterations", count, "--set", "evaluation.every=" + every}
}

func lookup(name string) (page, bool) {
	i := slices.IndexFunc(pages, func(p page) bool { return p.name == name })
	if i < 0 {
		return page{}, false
	}
	return pages[i], true
}

func (p page) picture() string {
	if p.figure != "" {
		return p.name + p.figure
	}
	return p.name + ".svg"
}

// commands returns the arguments of evorl with which the figure is made.
func (p page) commands() (run, plot []string) {
	run = slices.Concat([]string{"run"}, p.run, []string{"configs/" + p.config + ".toml"})
	plot = p.plot
	if plot == nil {
		plot = []string{"--metric", "evaluation"}
	}
	return run, slices.Concat([]string{"plot"}, plot, []string{"RUN_DIR"})
}
