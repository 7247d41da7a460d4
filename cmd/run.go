package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/progress"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// runsFolder contains the run directories that are not named by --out.
const runsFolder = "runs"

type runFlags struct {
	known      *evorl.Catalog
	device     string
	slice      string // KEY=VALUE of the slices of several devices; "": the configuration's
	seed       string
	set        []string
	iterations string
	out        string
	from       string
	resume     bool
	json       bool
	seeds      int
	watch      bool
	loose      bool
	cluster    clusterFlags
	line       lineFlags
}

func newRun(known *evorl.Catalog) *cobra.Command {
	f := &runFlags{known: known}
	cmd := &cobra.Command{
		Use:   "run [flags] CONFIG.toml",
		Short: "Run a configuration",
		Long: paragraphs(
			"Run a configuration and keep the results in a run directory: the configuration with all defaults, metrics (metrics.jsonl "+
				"and TensorBoard events), checkpoints and provenance. The best members are shown at the end.",
			"Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) finish the iteration and write a checkpoint; an iteration that takes more "+
				"than half a minute is abandoned. --resume continues from the newest checkpoint and ends with the same bits as an uninterrupted run; "+
				"only iterations may have changed. Without a CONFIG.toml it takes the run's own.",
			"--from begins a run with the state of another one: its networks, optimizers, normalizers, replays and environments, and its counts, which go on. "+
				"Settings may differ, such as learning rates, as long as every tensor keeps its shape. Without a CONFIG.toml it takes the other run's.",
			"Searches run on several devices: --device 0,1 or all. Each evaluates slices of the population (search.slice, 64 without one), and the run ends with the "+
				"same bits for every number of devices. So do agents and PBT of agents: each device computes slices of the members (members.slice, one for each "+
				"device without one). An agent with actors or a lag learns on the first device while the others act "+
				"(ppo.actors, ppo.lag).",
			"--cluster lets other machines do slices too, of searches, agents and PBT of agents, and act: evorl worker joins at the address that is shown.",
		),
		Example: "  evorl run configs/pbt.toml\n  evorl run --device nvidia --seed 7 --set ppo.learning_rate=1e-3 --out runs/fast configs/ppo.toml\n" +
			"  evorl run --resume --out runs/fast\n  evorl run --from runs/fast --set ppo.learning_rate=1e-4 --iterations 2000 --out runs/fine",
		Args: between(0, 1, "want one CONFIG.toml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args)
		},
	}
	addRunDevices(cmd, &f.device)
	cmd.Flags().StringVar(&f.seed, "seed", "", "seed `S` of every random number, instead of the configuration's")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "set a `KEY=VALUE` of the configuration, such as ppo.members=64 (repeatable)")
	cmd.Flags().StringVar(&f.iterations, "iterations", "", "`N` iterations in all, instead of the configuration's")
	cmd.Flags().StringVar(&f.out, "out", "", "run directory `DIR` (default runs/WORKFLOW-ENV-N with the next N)")
	cmd.Flags().StringVar(&f.from, "from", "", "begin with the state of the run in `DIR`, whose iterations count")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "continue the run in --out, or else the newest of its workflow and environment; "+
		"begin it when there is none")
	cmd.Flags().IntVar(&f.seeds, "seeds", 1, "`N` repetitions: members of one run where they are independent, else runs one after the other")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "serve a web page that follows the run, as evorl watch does")
	cmd.Flags().BoolVar(&f.loose, "loose", false, "let different devices share the run, whose results then depend on which device evaluated what")
	f.cluster.addRun(cmd)
	f.line.add(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "end with one line of JSON on standard output")
	return cmd
}

// config reads the configuration and applies the flags.
func (f *runFlags) config(ctx context.Context, args []string) (*evorl.Config, error) {
	options := []evorl.Option{evorl.Use(f.known), evorl.Context(ctx)}
	for _, text := range f.set {
		options = append(options, evorl.Set(text))
	}
	if f.slice != "" {
		options = append(options, evorl.Flag(f.shares(), f.slice))
	}
	if f.seed != "" {
		options = append(options, evorl.Flag("--seed", "seed="+f.seed))
	}
	if f.iterations != "" {
		options = append(options, evorl.Flag("--iterations", "iterations="+f.iterations))
	}
	var cfg *evorl.Config
	var err error
	switch {
	case len(args) == 1:
		cfg, err = evorl.Read(args[0], options...)
	case f.resume && f.out != "":
		if _, err := rundir.Open(f.out); err != nil {
			return nil, err
		}
		cfg, err = evorl.Stored(f.out, options...)
	case f.from != "":
		if _, err := rundir.Open(f.from); err != nil {
			return nil, err
		}
		cfg, err = evorl.Stored(f.from, options...)
	case f.resume:
		return nil, usagef("want a CONFIG.toml, or --out with the folder of the run to resume")
	default:
		return nil, usagef("want a CONFIG.toml, for example evorl run configs/pbt.toml")
	}
	var wrong *config.Error
	if err != nil && !errors.As(err, &wrong) {
		return nil, &configFileError{err}
	}
	if err != nil || !several(f.device) && f.cluster.address == "" {
		return cfg, err
	}
	if slice, _ := cfg.Value(cfg.ShareKey()); slice == "0" && f.slice == "" {
		if f.slice, err = f.defaultSlice(cfg); err != nil {
			return nil, err
		}
		return f.config(ctx, args)
	}
	if f.cluster.address != "" {
		if err := cfg.CheckClustered(f.cluster.config()); err != nil {
			return nil, usagef("--cluster %s: %v", f.cluster.address, err)
		}
		return cfg, nil
	}
	if err := cfg.CheckShared(); err != nil {
		return nil, usagef("--device %s: %v", f.device, err)
	}
	return cfg, nil
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(f.line.check(), f.cluster.check()); err != nil {
		return err
	}
	switch {
	case f.from != "" && (f.resume || cmd.Flags().Changed("seeds")):
		return usagef("--from begins one run: want it without --resume and --seeds")
	case len(args) == 0 && f.hasSeeds():
		return f.resumeSeeds(cmd)
	case cmd.Flags().Changed("seeds"):
		return f.runSeeds(cmd, args)
	}
	cfg, err := f.config(cmd.Context(), args)
	if err != nil {
		return err
	}
	return f.runOne(cmd, cfg)
}

// searchSlice is the slice of searches that several devices share, where the configuration has none, and machineSlices the number of slices of members that
// several machines share.
const (
	searchSlice   = 64
	machineSlices = 8
)

// defaultSlice is the setting of slices where the configuration has none: of searches searchSlice, and of members as many as give each device one slice, or
// machineSlices if other machines may join.
func (f *runFlags) defaultSlice(cfg *evorl.Config) (string, error) {
	if cfg.Divides() == rundir.Members {
		n, err := count(f.device)
		if f.cluster.address != "" {
			n = max(n, machineSlices)
		}
		return fmt.Sprintf("%s=%d", cfg.ShareKey(), (cfg.Members()+n-1)/n), err
	}
	return fmt.Sprintf("%s=%d", cfg.ShareKey(), searchSlice), nil
}

// shares returns the flag that shares the run.
func (f *runFlags) shares() string {
	if f.cluster.address != "" {
		return "--cluster"
	}
	return "--device"
}

// runOne trains a configuration in one run.
func (f *runFlags) runOne(cmd *cobra.Command, cfg *evorl.Config) error {
	screen := cmd.ErrOrStderr()
	return withDevices(cmd.Context(), screen, f.device, func(ctx context.Context, devices []*vk.Device) error {
		path, resume, err := f.place(cfg)
		if err != nil {
			return err
		}
		begin := evorl.Start
		switch {
		case resume:
			begin = evorl.Resume
		case f.from != "":
			begin = f.startFrom
		}
		line := f.line.newLine(screen, "", cfg, devices, path)
		defer line.end()
		for _, text := range cfg.Warnings() {
			line.warn(text)
		}
		options := []evorl.RunOption{evorl.Beside(devices[1:]...)}
		if f.loose {
			options = append(options, evorl.Loose())
		}
		if f.cluster.address != "" {
			options = append(options, evorl.Clustered(f.cluster.config()))
		}
		s, err := begin(ctx, devices[0], cfg, path, options...)
		if err != nil {
			if f.out == "" && !resume {
				_ = os.Remove(path) // made for this run; with anything in it, it stays
			}
			line.clear()
			return cause(ctx, err)
		}
		if at := s.WorkersAddress(); at != "" {
			line.tellWorkers(cmd, at, s.WorkersKey())
		}
		if f.watch {
			page, err := servePage(cfg, path, firstDevice(f.device), 0)
			if err != nil {
				return closing(screen, err, s.Close)
			}
			defer func() { _ = page.Close() }() // it has only read
			line.tell("page", "page "+page.URL(), progress.Fact{Name: "url", Value: page.URL()})
		}
		defer holdSignals(ctx)()
		return closing(screen, f.learn(ctx, cmd, cfg, s, line), s.Close)
	})
}

// startFrom is evorl.Start with the state of the run of --from.
func (f *runFlags) startFrom(ctx context.Context, dev *vk.Device, cfg *evorl.Config, path string, options ...evorl.RunOption) (*evorl.Run, error) {
	return evorl.StartFrom(ctx, dev, cfg, path, f.from, options...)
}

// place returns the run directory, which it creates for a new run without --out, and whether it has a run to resume.
func (f *runFlags) place(cfg *evorl.Config) (path string, resume bool, err error) {
	path = f.out
	if path == "" && f.resume {
		path, err = evorl.NewestPath(runsFolder, cfg)
	}
	if path == "" && err == nil {
		path, err = evorl.NewPath(runsFolder, cfg)
	}
	if err != nil || !f.resume {
		return path, false, err
	}
	_, err = os.Stat(filepath.Join(path, rundir.ConfigFile))
	return path, err == nil, nil
}

// learnShown trains a run and shows progress and warnings.
func learnShown(ctx context.Context, screen io.Writer, s *evorl.Run, line *line) error {
	resuming := s.Warnings()
	for _, text := range resuming {
		line.warn(text)
	}
	line.begin(s)
	defer context.AfterFunc(ctx, func() {
		if onTerminal(screen) {
			fmt.Fprintf(line, "%v: finishing the iteration and writing a checkpoint (again to stop at once)\n", context.Cause(ctx))
		}
	})()
	err := s.Learn(ctx, line.show)
	line.end()
	for _, text := range s.Warnings()[len(resuming):] {
		line.warn(text)
	}
	return err
}

func (f *runFlags) learn(ctx context.Context, cmd *cobra.Command, cfg *evorl.Config, s *evorl.Run, line *line) error {
	screen := cmd.ErrOrStderr()
	learned := learnShown(ctx, screen, s, line)
	if learned != nil && ctx.Err() == nil {
		return learned
	}
	var given *engine.InterruptedError
	if errors.As(learned, &given) { // the state to show is lost
		fmt.Fprintf(screen, "evorl: %v in iteration %d, which was too long to finish; go on from iteration %d with: %s run --resume --out %s\n",
			context.Cause(ctx), given.Iteration, given.Saved, cmd.Root().Name(), s.Path())
		return cause(ctx, learned)
	}
	shown := s.Warnings()
	r, err := s.Result(context.WithoutCancel(ctx))
	for _, text := range s.Warnings() { // an episode that was cut off in the evaluation of the best makes its return wrong
		if !slices.Contains(shown, text) {
			line.warn(text)
		}
	}
	if err != nil {
		return errors.Join(cause(ctx, learned), err)
	}
	if f.json {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	} else {
		err = writeResult(cmd.OutOrStdout(), r)
	}
	if learned != nil {
		fmt.Fprintf(screen, "evorl: %v after %d of %d iterations; go on with: %s run --resume --out %s\n",
			context.Cause(ctx), r.Iterations, cfg.Run.Iterations, cmd.Root().Name(), s.Path())
		return errors.Join(cause(ctx, learned), err)
	}
	return err
}

// cause replaces the error of a cancelled context by its cause.
func cause(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
