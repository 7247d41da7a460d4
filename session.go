package evorl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/records"
	"github.com/evorl/evorl/vk"
)

// Start begins a run on a device, in a new folder; an existing folder must be empty (else rundir.ErrNotEmpty). After an
// error nothing is left of the run, and the folder is removed, even if it existed.
func Start(ctx context.Context, dev *vk.Device, cfg *Config, path string, opts ...RunOption) (_ *Run, err error) {
	if err := checkArguments(dev, cfg); err != nil {
		return nil, err
	}
	r, err := newRun(dev, cfg, opts)
	if err != nil {
		return nil, err
	}
	if r.dir, err = rundir.Create(path); err != nil {
		return nil, err
	}
	dir := r.dir
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(), r.Close())
		}
	}()
	if err := r.build(ctx, func(w engine.Workflow) error { return cfg.Init(ctx, w) }); err != nil {
		return nil, err
	}
	if err := r.writeSource(); err != nil {
		return nil, err
	}
	if err := r.writeConfig(); err != nil {
		return nil, err
	}
	return r, r.open(ctx, 0)
}

// StartFrom begins a run, as Start does, with the state of another run's newest checkpoint: networks, optimizers, normalizers, replays, environments, and the
// counts of iterations and steps, which go on. Config.Run.Iterations therefore counts the other run's too, and must be more. Hyperparameters have cfg's values,
// but for those of which members have values of their own, as in PBT. Other settings may differ, too, as long as every tensor has the same name, type and
// shape.
func StartFrom(ctx context.Context, dev *vk.Device, cfg *Config, path, other string, opts ...RunOption) (*Run, error) {
	if err := checkArguments(dev, cfg); err != nil {
		return nil, err
	}
	from, err := rundir.Open(other)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Abs(from.Path())
	if err != nil {
		return nil, err
	}
	steps, err := checkpoint.Steps(from.Checkpoints())
	if err != nil {
		return nil, err
	}
	if n := len(steps); n > 0 && steps[n-1] >= int64(cfg.Run.Iterations) {
		return nil, cfg.document.Locate(config.Invalid("iterations", "%d iterations in all, of which the run in %s has done %d: want more",
			cfg.Run.Iterations, other, steps[n-1]))
	}
	load := func(w engine.Workflow, c *checkpoint.Checkpoint) error {
		if err := w.State().Load(ctx, c); err != nil {
			return err
		}
		return hybrid.Innermost(w).(interface{ Hyper() *engine.Hyper }).Hyper().Renew(ctx)
	}
	return startFrom(ctx, dev, cfg, path, rundir.Create, from, &rundir.Continued{Run: name}, load, opts...)
}

// startFrom begins a run in a new folder from another run's newest checkpoint, which load loads.
func startFrom(
	ctx context.Context, dev *vk.Device, cfg *Config, path string, create func(path string) (*rundir.Dir, error), other *rundir.Dir, of *rundir.Continued,
	load func(engine.Workflow, *checkpoint.Checkpoint) error, opts ...RunOption,
) (_ *Run, err error) {
	r, err := newRun(dev, cfg, opts)
	if err != nil {
		return nil, err
	}
	if r.dir, err = create(path); err != nil {
		return nil, err
	}
	dir := r.dir
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(), r.Close())
		}
	}()
	var refused []*checkpoint.CorruptError
	err = r.build(ctx, func(w engine.Workflow) (err error) {
		refused, err = checkpoint.Newest(other.Checkpoints(), func(c *checkpoint.Checkpoint) error {
			if err := w.State().Zero(ctx); err != nil {
				return err
			}
			return load(w, c)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range refused {
		r.warnings.addf("%v", c)
	}
	if r.from, _, err = r.workflow.Clock().Read(ctx); err != nil {
		return nil, err
	}
	r.done, r.provenance.Continues = r.from, of
	if err := r.writeSource(); err != nil {
		return nil, err
	}
	if err := r.open(ctx, r.from); err != nil {
		return nil, err
	}
	facts, err := r.facts()
	if err != nil {
		return nil, err
	}
	// Resume needs it, since the configuration does not tell where the run began.
	if _, err := r.workflow.State().Save(ctx, dir.Checkpoints(), r.from, checkpoint.Version(rundir.Version()), checkpoint.Provenance(facts),
		checkpoint.Before(r.settle)); err != nil {
		return nil, err
	}
	return r, r.writeConfig()
}

// Resume continues the run in a folder from its newest checkpoint, or from the beginning if there is none yet. The
// configuration must equal the folder's and the checkpoint's, except that the number of iterations may grow;
// otherwise the error is a *DifferenceError, and nothing is changed. Torn and altered checkpoints are skipped;
// Warnings names them, and a device other than the checkpoint's.
func Resume(ctx context.Context, dev *vk.Device, cfg *Config, path string, opts ...RunOption) (_ *Run, err error) {
	if err := checkArguments(dev, cfg); err != nil {
		return nil, err
	}
	r, err := newRun(dev, cfg, opts)
	if err != nil {
		return nil, err
	}
	if r.dir, err = rundir.Resume(path); err != nil {
		return nil, err
	}
	dir := r.dir
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	stored, err := Stored(path, Use(cfg.setup.Catalog()))
	if err != nil {
		return nil, err
	}
	if err := cfg.continues(stored, path); err != nil {
		return nil, err
	}
	var damaged *rundir.DamagedError
	if r.provenance, err = dir.ReadProvenance(); errors.As(err, &damaged) {
		r.warnings.addf("%v: it is begun anew", damaged)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := r.build(ctx, func(engine.Workflow) error { return nil }); err != nil {
		return nil, err
	}
	refused, err := checkpoint.Newest(dir.Checkpoints(), func(c *checkpoint.Checkpoint) error { return r.restore(ctx, c) })
	if errors.Is(err, checkpoint.ErrNone) && len(refused) == 0 {
		err = cfg.Init(ctx, r.workflow) // killed before the first checkpoint
	}
	if err != nil {
		return nil, err
	}
	for _, c := range refused {
		r.warnings.addf("%v", c)
	}
	if len(refused) > 0 {
		r.warnings.addf("the checkpoint before, of iteration %d, is used", r.from)
	}
	if stored.Run.Iterations != cfg.Run.Iterations {
		if err := r.writeConfig(); err != nil {
			return nil, err
		}
	}
	return r, r.open(ctx, r.from)
}

// checkArguments returns an error if there is no device or no configuration.
func checkArguments(dev *vk.Device, cfg *Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if err := engine.Require(map[string]any{"device": dev}); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	return nil
}

// newRun makes a run without a folder.
func newRun(dev *vk.Device, cfg *Config, opts []RunOption) (*Run, error) {
	r := &Run{cfg: cfg, began: time.Now()}
	return r, r.share(dev, opts)
}

// build makes and initialises the workflow with everything that the run will need. When ctx ends, it returns at once:
// kernel compilation cannot be stopped, so the rest ends in the background.
func (r *Run) build(ctx context.Context, begin func(engine.Workflow) error) error {
	type result struct {
		w   engine.Workflow
		err error
	}
	done := make(chan result, 1)
	go func() {
		w, err := r.cfg.prepared(ctx, r.eng)
		if err == nil {
			if err = begin(w); err != nil {
				err = errors.Join(err, w.Close())
			}
		} else { // some settings can be checked only against tensors
			err = r.cfg.explain(ctx, r.eng, err)
		}
		done <- result{w, err}
	}()
	select {
	case of := <-done:
		if of.err != nil {
			return of.err
		}
		r.workflow = of.w
		return ctx.Err()
	case <-ctx.Done():
		go func() {
			if of := <-done; of.err == nil {
				_ = of.w.Close() // the first error is the one reported
			}
		}()
		return ctx.Err()
	}
}

// restore loads a checkpoint into the workflow.
func (r *Run) restore(ctx context.Context, c *checkpoint.Checkpoint) (err error) {
	stored, err := r.cfg.of(c)
	if err != nil {
		return err
	}
	if err := r.cfg.continues(stored, r.Path()); err != nil {
		return err
	}
	info, facts := r.eng.Device().Info(), c.Manifest.Provenance
	if facts["device"] != info.Name || facts["driver"] != info.Driver {
		r.warnings.addf("it continues on %s with driver %s, and its checkpoint is from %s with driver %s: results differ by rounding from those of one device",
			info.Name, info.Driver, facts["device"], facts["driver"])
	}
	r.warnings.resuming = append(r.warnings.resuming, r.workflow.State().Lost()...)
	if len(r.provenance.Sessions) == 0 { // the provenance was damaged or lost
		r.provenance.Sessions = []rundir.Session{{
			Version: c.Manifest.Version, Device: facts["device"], Driver: facts["driver"], Binding: facts["binding"], To: c.Manifest.Step,
			Outcome: "known from a checkpoint alone",
		}}
	}
	if err := load(ctx, r.workflow, c); err != nil {
		return err
	}
	r.from, _, err = r.workflow.Clock().Read(ctx)
	r.done = r.from
	return err
}

// load loads a checkpoint into a workflow.
func load(ctx context.Context, w engine.Workflow, c *checkpoint.Checkpoint) error {
	if err := w.State().Zero(ctx); err != nil {
		return err
	}
	return w.State().Load(ctx, c)
}

// writeSource keeps the file of the environment or problem, if it is one.
func (r *Run) writeSource() error {
	of := r.cfg.setup.Source
	if of == nil {
		return nil
	}
	return r.dir.WriteSource(of.Name, of.Text)
}

func (r *Run) writeConfig() error {
	text, err := r.cfg.TOML()
	if err != nil {
		return err
	}
	return r.dir.WriteConfig(text)
}

// open opens the files that the run writes, to continue after the given number of iterations.
func (r *Run) open(ctx context.Context, done int) (err error) {
	if r.best, _, err = r.cfg.findBest(r.dir); err != nil {
		return err
	}
	if r.steps, err = engine.EnvSteps(ctx, r.workflow); err != nil {
		return err
	}
	files, last, cut, err := records.OpenFiles(r.dir, r.workflow, done, r.steps)
	if err != nil {
		return err
	}
	r.files = files
	for _, bad := range cut {
		r.warnings.addf("%v: cut off, with all that follows the checkpoint", bad)
	}
	if last != nil {
		r.before = last.Seconds
	}
	r.provenance.Workflow, r.provenance.Environment, r.provenance.Seed = r.cfg.Run.Workflow, r.cfg.Run.Env, uint64(r.cfg.Run.Seed)
	now, info := rundir.NewSession(), r.eng.Device().Info()
	now.Binding, now.Device, now.Driver, now.API, now.From = vk.BindingName, info.Name, info.Driver, info.API.String(), int64(done)
	if now.Workers = r.Workers(); now.Workers != nil {
		now.Divides = r.cfg.Divides()
	}
	switch now.Varies = r.cfg.Varies(); {
	case now.Varies != "":
	case r.loose:
		now.Varies = "devices that compute different bits share the run (--loose), so that it depends on which device computed what"
	case now.Workers != nil && r.cfg.setup.ActsOutside():
		now.Varies = "the environments cannot move, and begin new episodes where another device or worker goes on with them, so that it depends on who acts"
	}
	r.provenance.Sessions = append(r.provenance.Sessions, now)
	return r.dir.WriteProvenance(r.provenance)
}
