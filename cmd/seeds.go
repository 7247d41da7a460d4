package cmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
)

// runSeeds trains a configuration several times: as independent members of one run, or as several runs in one folder.
func (f *runFlags) runSeeds(cmd *cobra.Command, args []string) error {
	if f.seeds < 1 {
		return usagef("--seeds %d: want at least 1", f.seeds)
	}
	one := *f
	one.device, one.cluster.address = "", "" // the repetitions may be members that several devices share
	cfg, err := one.config(cmd.Context(), args)
	if err != nil {
		return err
	}
	if cfg.Independent() && (cfg.Members() == 1 || len(args) == 0) {
		f.set = append(f.set, fmt.Sprintf("%s=%d", cfg.MembersKey(), f.seeds))
		if cfg, err = f.config(cmd.Context(), args); err != nil {
			return err
		}
		return f.runOne(cmd, cfg)
	}
	if f.watch {
		return errWatchSeeds
	}
	s, err := evorl.NewSweep(cfg, f.seeds)
	if err != nil {
		return err
	}
	sweep := f.sweepFlags()
	return sweep.run(cmd, s, fmt.Sprintf("%s-%s-seeds", cfg.Run.Workflow, cfg.Run.Env))
}

// errWatchSeeds is the error of --watch where repetitions are separate runs.
var errWatchSeeds = usagef("--watch follows one run, and these are several: want evorl watch with the folder of one")

// hasSeeds reports whether --out contains runs of several seeds to resume.
func (f *runFlags) hasSeeds() bool {
	_, err := os.Stat(filepath.Join(f.out, evorl.SweepFile))
	return f.resume && f.out != "" && err == nil
}

// resumeSeeds resumes the runs in a given folder.
func (f *runFlags) resumeSeeds(cmd *cobra.Command) error {
	for _, name := range []string{"set", "seed", "iterations"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s: the runs of several seeds in %s are resumed with their own settings: want none", name, f.out)
		}
	}
	if f.watch {
		return errWatchSeeds
	}
	s, err := evorl.StoredSweep(f.out, evorl.Use(f.known))
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("seeds") && s.Config.Seeds != f.seeds {
		return usagef("--seeds %d: %s has %d", f.seeds, f.out, s.Config.Seeds)
	}
	return f.sweepFlags().run(cmd, s, "")
}

func (f *runFlags) sweepFlags() *sweepFlags {
	return &sweepFlags{known: f.known, device: f.device, loose: f.loose, out: f.out, resume: f.resume, json: f.json, line: f.line, cluster: f.cluster}
}
