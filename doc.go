// Package evorl trains populations of agents, by reinforcement learning, evolution and their hybrids, on any GPU.
//
// A [Config] says what learns, where, and with which settings. It comes from a TOML file ([Read], [Parse]) or from Go values ([New]), and
// every mistake in it is found before any device work. [Config.Build] makes its workflow for a program that drives it by itself, with
// package engine. [Start] runs a configuration in a run directory, which keeps metrics, checkpoints and provenance; [Resume]
// continues such a run to the same bits that an uninterrupted one ends with; [Restore] loads its newest checkpoint to evaluate it or
// to read its policies.
//
//	cfg, err := evorl.Read("configs/pbt.toml", evorl.Set("seed=7"))
//	...
//	run, err := evorl.Start(ctx, engine.New(dev, engine.Seed(cfg.Run.Seed)), cfg, "runs/first")
//	...
//	defer run.Close()
//	err = run.Learn(ctx)
//	result, err := run.Result(ctx)
//
// [Workflows] and [Problems] list what a configuration can name, and package envs its environments.
package evorl
