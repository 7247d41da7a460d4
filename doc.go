// Package evorl trains populations of agents, by reinforcement learning, evolution and their hybrids, on any GPU.
//
// A [Config] selects a workflow, an environment or problem, and all settings. It comes from a TOML file ([Read],
// [Parse]) or from Go values ([New]), and every mistake in it is found before any device work. [Config.Build] makes
// its workflow for programs that drive it themselves, with package engine. [Start] runs a configuration in a run
// directory, which keeps metrics, checkpoints and provenance; [Resume] continues such a run, bit-identical to an
// uninterrupted one, and [StartFrom] begins another with its state; [Restore] loads its newest checkpoint to evaluate
// it or to read its policies.
//
//	cfg, err := evorl.Read("configs/pbt.toml", evorl.Set("seed=7"))
//	...
//	run, err := evorl.Start(ctx, dev, cfg, "runs/first")
//	...
//	defer run.Close()
//	err = run.Learn(ctx)
//	result, err := run.Result(ctx)
//
// [Workflows] and [Problems] list the names that a configuration can use, and package envs its environments. A program's
// own environments, strategies and problems are parts of a [Catalog], which [Use] gives to a configuration.
package evorl
