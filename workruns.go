package evorl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/mirror"
	"github.com/evorl/evorl/internal/scratch"
)

// partEvery is how often a worker that does a whole run sends what it has done.
var partEvery = 2 * time.Second

// errand is a run that a worker does for a sweep elsewhere.
type errand struct {
	parts chan *wholePart // what was not sent yet
	stop  context.CancelFunc
	ended chan struct{} // closed at the end
	err   error         // why the worker cannot do it; read after ended
}

// wholeRuns does the runs of a sweep that it is given, one after the other, until the sweep ends.
func (w *remote) wholeRuns(ctx context.Context, hello *machines.Hello) (err error) {
	folder, err := scratch.New("evorl-worker-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if _, _, err := w.link.Join(ctx, w.name); err != nil {
		return err
	}
	var of *errand
	defer func() { of.end() }()
	var result []byte
	for done := 0; ; done++ {
		number, data, err := w.link.Next(ctx, w.name, done, result)
		if err != nil {
			return err
		}
		if number != done+1 {
			return fmt.Errorf("evorl: job %d of runs after job %d; want the next one", number, done)
		}
		var job wholeJob
		if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&job); err != nil {
			return fmt.Errorf("evorl: a run of a sweep: %w; want a coordinator of the same version of evorl", err)
		}
		if job.Name != "" {
			of.end()
			of = w.begin(ctx, hello, &job, filepath.Join(folder.Path(), fmt.Sprint(number)))
		}
		if of == nil {
			return errors.New("evorl: a sweep goes on with a run that it has not begun; want a coordinator of the same version of evorl")
		}
		part, err := of.next(ctx)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(part); err != nil {
			return err
		}
		result = b.Bytes()
	}
}

// begin begins or resumes a run in a folder. If it fails, the worker leaves, and others try: a device of the sweep's own has the last word.
func (w *remote) begin(ctx context.Context, hello *machines.Hello, job *wholeJob, folder string) *errand {
	ctx, stop := context.WithCancel(ctx)
	e := &errand{parts: make(chan *wholePart, 1), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		done, change, err := w.whole(ctx, e, hello, job, folder)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if e.err = err; err == nil {
			select {
			case e.parts <- &wholePart{Iteration: done, Done: true, Change: change}:
			case <-ctx.Done(): // nobody takes it
				e.err = context.Cause(ctx)
			}
		}
	}()
	return e
}

// whole does a run, and returns the number of its iterations that are done, and the last change of its folder.
func (w *remote) whole(ctx context.Context, e *errand, hello *machines.Hello, job *wholeJob, folder string) (done int, last *mirror.Change, err error) {
	trust := w.at.trust(hello.Signed(job.Config, job.Source, job.Proof))
	cfg, err := Parse("the run's configuration", job.Config, Use(w.known), Context(ctx), within(trust, job.Source))
	if err != nil {
		return 0, nil, err
	}
	begin, source := Start, mirror.NewSource(folder)
	if job.Stored != nil {
		begin = Resume
		if err := cfg.checkCopied(job.Stored); err != nil {
			return 0, nil, err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return 0, nil, err
		}
		if err := job.Stored.Apply(folder); err != nil {
			return 0, nil, err
		}
		if _, err := source.Change(); err != nil { // those files are known
			return 0, nil, err
		}
	}
	w.tell(fmt.Sprintf("%s: %s on %s, %d iterations", job.Name, cfg.Run.Workflow, cfg.Run.Env, cfg.Run.Iterations))
	run, err := begin(ctx, w.dev, cfg, folder)
	if err != nil {
		return 0, nil, err
	}
	told := time.Now()
	if err := source.Cut(); err != nil {
		return 0, nil, errors.Join(err, run.Close())
	}
	err = run.Learn(ctx, func(_ context.Context, r engine.Report) error {
		if len(e.parts) > 0 || time.Since(told) < partEvery { // the last one has not gone
			return nil
		}
		change, err := source.Change()
		if err == nil {
			e.parts <- &wholePart{Iteration: r.Iteration, Change: change}
			told = time.Now()
		}
		return err
	})
	if errors.Is(err, ErrNoFitness) {
		err = nil // the trial has no score
	}
	done = run.done
	if err = errors.Join(err, run.Close()); err != nil {
		return done, nil, err
	}
	last, err = source.Change()
	return done, last, errors.Join(err, os.RemoveAll(folder))
}

// checkCopied returns an error if a change of a run's folder, from another machine, has another configuration or other GLSL than the run: what decides what is
// executed comes from the configuration that was checked, not with its files.
func (c *Config) checkCopied(change *mirror.Change) error {
	for _, f := range change.Files {
		switch {
		case f.Name == rundir.ConfigFile:
			stored, err := Parse("the copied "+f.Name, f.Data, c.sameSource(), kept())
			if err != nil {
				return err
			}
			if err := c.continues(stored, f.Name); err != nil {
				return fmt.Errorf("evorl: a copied folder is of another run: %w", err)
			}
		case strings.HasSuffix(f.Name, SourceSuffix):
			if of := c.setup.Source; of == nil || f.Name != of.Name || !bytes.Equal(f.Data, of.Text) {
				return fmt.Errorf("evorl: a copied folder has %q, which is not the GLSL of the run: want the file that env names", f.Name)
			}
		}
	}
	return nil
}

// next waits for what the run has done.
func (e *errand) next(ctx context.Context) (*wholePart, error) {
	select {
	case part := <-e.parts:
		return part, nil
	case <-e.ended:
		select {
		case part := <-e.parts: // the last one
			return part, nil
		default:
			return nil, cmp.Or(e.err, errors.New("evorl: a sweep goes on with a run that is done; want a coordinator of the same version of evorl"))
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// end interrupts the run, and waits for its end.
func (e *errand) end() {
	if e != nil {
		e.stop()
		<-e.ended
	}
}
