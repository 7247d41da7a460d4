package evorl

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/internal/mirror"
	"github.com/evorl/evorl/vk"
)

// Listening calls f with the address by which workers elsewhere (Work) join a sweep that is Clustered, and the key that they are to trust, "" if it signs
// nothing.
func Listening(f func(address, key string)) RunOption { return func(o *runOptions) { o.listening = f } }

// Told calls f, from one goroutine at a time, with what happens to runs of a sweep that workers elsewhere do, each time in one line.
func Told(f func(text string)) RunOption { return func(o *runOptions) { o.told = f } }

// wholeJob tells a worker to do a run, or to go on with the one that it does. Its result is a wholePart.
type wholeJob struct {
	Name                  string         // of the run's folder; "": go on
	Config, Source, Proof []byte         // as Hello has them
	Stored                *mirror.Change // the folder of a run that was begun; nil: it begins
}

// wholePart is what a run elsewhere has done since the last one.
type wholePart struct {
	Iteration int
	Done      bool // there is no more
	Change    *mirror.Change
}

// sweepHands are the workers elsewhere that do whole runs of a sweep.
type sweepHands struct {
	crew *cluster.Crew
	host *machines.Host
	mu   sync.Mutex
	told func(text string)
}

func newSweepHands(m *meeting, key *machines.Key, base *Config, dev *vk.Device, o runOptions) (*sweepHands, error) {
	s := &sweepHands{crew: cluster.NewCrew(), told: o.told}
	run := machines.Run{Name: m.name, Digest: "runs", Seed: base.Run.Seed, Iterations: base.Run.Iterations, Loose: o.loose, Divides: rundir.Runs, Whole: true,
		Key: key, Identity: machines.IdentityOf(dev.Info()), Status: s.crew.Status}
	s.crew.Open()
	var err error
	if s.host, err = machines.Serve(m.conn, run, s.crew, machines.Timing{}); err != nil {
		s.crew.Close()
		return nil, fmt.Errorf("evorl: %w", err)
	}
	return s, nil
}

// close ends the part of the workers; complete tells them that there are no more runs.
func (s *sweepHands) close(complete bool) {
	if complete {
		s.host.Finish()
	}
	s.crew.Close()
	s.host.Close()
}

// each calls f with every worker that takes part, and with those that join until over is closed.
func (s *sweepHands) each(over <-chan struct{}, f func(sweepPlace)) {
	known := map[*cluster.Hand]bool{}
	for {
		for _, h := range s.crew.Hands() {
			if !known[h] {
				known[h] = true
				f(handPlace{s, h})
			}
		}
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *sweepHands) tell(format string, args ...any) {
	if s.told != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told(fmt.Sprintf(format, args...))
	}
}

// do makes a worker begin or resume a run. The run's folder here follows the worker's, and can be resumed anywhere from the newest checkpoint that came.
func (s *sweepHands) do(ctx context.Context, h *cluster.Hand, of *sweepRun) (err error) {
	done, begun, err := of.stands()
	if err != nil || done {
		return err
	}
	lock := rundir.Renew // what a worker that left has sent before its run began is removed
	if begun {
		lock = rundir.Resume
	}
	dir, err := lock(of.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	name := filepath.Base(of.folder)
	job, err := s.job(of.cfg, name)
	if err == nil && begun {
		job.Stored, err = mirror.NewSource(of.folder).Change()
	}
	if err != nil {
		return err
	}
	s.tell("%s: worker %s does this run", name, h.Name())
	for {
		part, err := s.part(ctx, h, job)
		if err == nil && part.Change != nil {
			err = s.take(h, of, part.Change)
		}
		if err != nil {
			if left := (*cluster.LeftError)(nil); errors.As(err, &left) {
				s.tell("%s: worker %s takes part no more, another one goes on: %v", name, h.Name(), left)
			}
			return err
		}
		if part.Done {
			s.tell("%s: worker %s has done it, to iteration %d", name, h.Name(), part.Iteration)
			return of.check(part.Iteration)
		}
		job = &wholeJob{}
	}
}

// job returns the job of a run.
func (s *sweepHands) job(cfg *Config, name string) (job *wholeJob, err error) {
	job = &wholeJob{Name: name}
	if job.Config, err = cfg.TOML(); err != nil {
		return nil, err
	}
	if of := cfg.setup.Source; of != nil {
		job.Source = of.Text
	}
	job.Proof, err = s.host.Sign(job.Config, job.Source)
	return job, err
}

// part gives a worker a job, and waits for what it has done.
func (s *sweepHands) part(ctx context.Context, h *cluster.Hand, job *wholeJob) (*wholePart, error) {
	began := time.Now()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(job); err != nil {
		return nil, err
	}
	data, err := h.Do(ctx, b.Bytes())
	if err != nil {
		h.Leave(nil) // unless it has left with a cause of its own
		return nil, err
	}
	part := &wholePart{}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(part); err != nil {
		return nil, dismiss(h, fmt.Errorf("what it has done of a run: %w", err))
	}
	h.Note(part.Iteration-1, 1, time.Since(began))
	return part, nil
}

// take makes the change of a worker's folder in the run's folder here.
func (s *sweepHands) take(h *cluster.Hand, of *sweepRun, change *mirror.Change) error {
	if err := of.cfg.checkCopied(change); err != nil {
		return dismiss(h, err)
	}
	err := change.Apply(of.folder)
	if refused := (*mirror.RefusedError)(nil); errors.As(err, &refused) {
		return dismiss(h, err)
	}
	return err
}

// dismiss makes a worker leave that has sent what is wrong, so that others do its run.
func dismiss(h *cluster.Hand, cause error) error {
	h.Leave(cause)
	return &cluster.LeftError{Worker: h.Name(), Cause: cause}
}

// CheckClustered returns an error if workers elsewhere cannot take part in the sweep: there is one run, which is not Divided, or they do not execute the
// environment, as Config.CheckClustered has it.
func (s *Sweep) CheckClustered(at ClusterConfig) error {
	if !s.Divided() && len(s.Trials)*s.runs() == 1 {
		return s.oneRun()
	}
	return s.Base.document.Locate(s.Base.setup.CheckWithin(at.ofRun(s.Base)))
}

// oneRun is the error of a sweep in which there is nothing for several machines to do.
func (s *Sweep) oneRun() error {
	if key := s.Base.ShareKey(); key != "" {
		return fmt.Errorf("the sweep is one run, and has no slices that machines could share: want %s in the configuration, or in set = [\"%[1]s=8\"] of the sweep",
			key)
	}
	return errors.New("the sweep is one run, which one machine does: want a sweep without --cluster")
}

// Divided reports whether the runs of the sweep have slices, or actors, so that several machines share each (Clustered), one run after the other. Otherwise
// each does whole runs.
func (s *Sweep) Divided() bool {
	switch of := s.Base.setup; {
	case of.Acts():
		return true
	case of.DividesGradients():
		return false // among the devices of one machine
	case of.Slices() != nil:
		return of.Slices().Slice > 0
	}
	key := s.Base.ShareKey()
	slice, _ := s.Base.Value(key)
	return key != "" && slice != "0"
}
