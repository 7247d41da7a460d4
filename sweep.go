package evorl

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/sweep"
)

// Methods of a sweep.
const (
	Grid    = sweep.Grid    // every combination
	Random  = sweep.Random  // random combinations
	Halving = sweep.Halving // random ones; the best of each rung continue
)

// Settings of a sweep, and what it tries.
type (
	SweepConfig   = sweep.Config        // sweep.toml: the base configuration, method, repetitions, metric, and keys that are tried
	SweepKey      = sweep.Key           // [keys."KEY"]: Values, Choices, or a range
	HalvingConfig = sweep.HalvingConfig // [halving]: the rungs of successive halving
	Setting       = sweep.Setting       // Key and Value, as for --set
	Trial         = sweep.Trial         // Number, and the Settings of a combination
)

// DefaultSweep is a grid with one run per trial. The rungs follow L. Li et al., "Hyperband", 2018.
func DefaultSweep() SweepConfig { return sweep.Default() }

// SweepFile is the sweep's own file in its folder. Runs are in folders beside it.
const SweepFile = sweep.File

// baseFile is the base configuration of trials in that folder.
const baseFile = sweep.BaseFile

// ErrNoSweep: the folder contains no sweep to resume.
var ErrNoSweep = errors.New("no sweep")

// Sweep is a validated sweep: a configuration and its trials.
type Sweep struct {
	Config SweepConfig
	Base   *Config // the configuration; trials change its settings
	Trials []Trial

	form *Config // what base encodes: Base or, if keys of a robot's task are tried, its portable form
	base []byte  // the text of the base configuration
}

// ReadSweep reads a sweep from a TOML file. Mistakes in it or in the configuration that it names, and invalid values
// of a trial, are *config.Error. The options are the configuration's.
func ReadSweep(path string, opts ...Option) (*Sweep, error) {
	d, err := config.Read(path)
	if err != nil {
		return nil, err
	}
	s := &Sweep{Config: DefaultSweep()}
	if err := d.Decode(config.Sections{{Name: "", Value: &s.Config}}); err != nil {
		return nil, err
	}
	options := slices.Clone(opts)
	for _, text := range s.Config.Set {
		options = append(options, Flag("set of "+path, text))
	}
	file := s.Config.Config
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(path), file)
	}
	if s.Base, err = Read(file, options...); err != nil {
		return nil, err
	}
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	return s, s.complete(path, o.checking)
}

// NewSweep returns a sweep without keys: runs of a configuration with consecutive seeds, beginning with its own.
func NewSweep(base *Config, seeds int) (*Sweep, error) {
	if err := base.check(); err != nil {
		return nil, err
	}
	s := &Sweep{Config: DefaultSweep(), Base: base}
	s.Config.Config, s.Config.Seeds, s.Config.Keys = baseFile, seeds, map[string]SweepKey{}
	return s, s.complete("evorl.NewSweep", nil)
}

// complete draws the trials and checks their configurations; name is the sweep's name in errors. checking is told how many are checked; nil: nobody is.
func (s *Sweep) complete(name string, checking func(done, all int)) (err error) {
	s.form = s.Base
	if s.Base.setup.IsRobot() && s.Config.Tries(TaskSection) {
		s.form = s.Base.placed(s.Base.setup.Portable())
	}
	if s.base, err = s.form.TOML(); err != nil {
		return err
	}
	if s.Config.Method == Halving && s.Config.Halving.Iterations > s.Base.Run.Iterations {
		return fmt.Errorf("%s: halving.iterations is %d and the configuration has %d iterations: want no more", name, s.Config.Halving.Iterations,
			s.Base.Run.Iterations)
	}
	repeated := "seed"
	if s.Batched() {
		repeated = s.Base.MembersKey()
	}
	for _, of := range s.Config.Reserved(repeated) {
		if _, tried := s.Config.Keys[of.Key]; tried {
			return fmt.Errorf("%s: keys.%q: %s sets this key in every run: want other keys, or not %s", name, of.Key, of.By, of.By)
		}
	}
	s.Trials = s.Config.Draw(func(key string) string {
		text, _ := s.form.Value(key)
		return text
	})
	for i, t := range s.Trials {
		if checking != nil {
			checking(i, len(s.Trials))
		}
		if _, err := s.config(t, "keys of "+name, 0); err != nil {
			return err
		}
	}
	return nil
}

// runs returns the number of runs of a trial that shares none: one with the repetitions as members, or one per seed.
func (s *Sweep) runs() int {
	if s.Batched() {
		return 1
	}
	return s.Config.Seeds
}

// config returns the configuration of a run of a trial. Those of one trial differ by their seed alone, so that checking one checks all. flag names the
// settings in errors.
func (s *Sweep) config(t Trial, flag string, run int) (*Config, error) {
	options := []Option{s.Base.sameSource()}
	for _, set := range t.Settings {
		options = append(options, Flag(flag, set.Key+"="+set.Value))
	}
	if s.Config.Seeds != 1 { // else the trial may set seed or members
		text := fmt.Sprintf("seed=%d", s.Base.Run.Seed+uint32(run))
		if s.Batched() {
			text = fmt.Sprintf("%s=%d", s.Base.MembersKey(), s.Config.Seeds)
		}
		options = append(options, Flag("seeds of "+flag, text))
	}
	return Parse(baseFile, s.base, options...)
}

// check returns an error if the sweep was not made by NewSweep, ReadSweep or StoredSweep.
func (s *Sweep) check() error {
	if s == nil || s.form == nil {
		return errors.New("evorl: an empty sweep: want one made by NewSweep, ReadSweep or StoredSweep")
	}
	return nil
}

// Batched reports whether the repetitions of a trial are the members of one run, which requires independent members
// and a configuration with one.
func (s *Sweep) Batched() bool { return s.Base.Independent() && s.Base.Members() == 1 }

// TOML encodes the sweep, to be read next to its base configuration.
func (s *Sweep) TOML() ([]byte, error) {
	cfg := s.Config
	cfg.Config, cfg.Set = baseFile, nil // base.toml contains the settings of Set
	var b bytes.Buffer
	err := config.Encode(&b, config.Sections{{Name: "", Value: &cfg}})
	return b.Bytes(), err
}

// files returns the files of the sweep.
func (s *Sweep) files() (sweep.Files, error) {
	text, err := s.TOML()
	return sweep.Files{Sweep: text, Base: s.base, Source: s.form.setup.Source}, err
}

// CreateSweep makes the folder of a sweep. If the folder exists, it checks that it has the same sweep, which Run then
// continues. A folder that another process uses gives rundir.ErrInUse.
func (s *Sweep) CreateSweep(folder string) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	lock, err := rundir.NewLock(folder)
	if err != nil {
		return fmt.Errorf("sweep folder %s: %w", folder, err)
	}
	files, err := s.files()
	if err == nil {
		err = files.Write(folder)
	}
	return errors.Join(err, lock.Close())
}

// StoredSweep reads the sweep in a folder. The options are its configuration's.
func StoredSweep(folder string, opts ...Option) (*Sweep, error) {
	path := filepath.Join(folder, SweepFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: it has no %s", ErrNoSweep, folder, SweepFile)
	}
	return ReadSweep(path, opts...)
}
