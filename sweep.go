package evorl

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/hybrid"
)

// Methods of a sweep.
const (
	// Grid tries every combination.
	Grid = "grid"
	// Random draws combinations at random: J. Bergstra, Y. Bengio, "Random Search for Hyper-Parameter Optimization", 2012.
	Random = "random"
	// Halving is Random in which the best trials of each rung continue: K. Jamieson, A. Talwalkar, "Non-stochastic
	// Best Arm Identification and Hyperparameter Optimization", 2016.
	Halving = "halving"
)

// SweepConfig selects the settings that a sweep tries.
type SweepConfig struct {
	Config  string              `required:"true" doc:"Base configuration of all trials: a path relative to this file's folder."`
	Method  string              `choices:"grid,random,halving" doc:"Combinations that are tried: all, random ones, or random ones of which the best continue."`
	Trials  int                 `min:"1" max:"100000" doc:"Number of combinations that random and halving draw."`
	Batch   int                 `min:"1" max:"10000" doc:"Most members of a run shared by trials that differ only in members' hyperparameters; 1: no sharing."`
	Seeds   int                 `min:"1" max:"10000" doc:"Repetitions of each trial: independent members of one run or, if the method has none, separate runs."`
	Seed    uint64              `doc:"Seed of the random combinations."`
	Metric  string              `doc:"Metric that ranks the trials: evaluation, return or another name in metrics.jsonl; higher is better."`
	Set     []string            `doc:"Settings of all trials, KEY=VALUE."`
	Keys    map[string]SweepKey `doc:"Keys of the configuration that differ between trials."`
	Halving HalvingConfig
}

// SweepKey defines the values of one key of the configuration.
type SweepKey struct {
	Values  []float64        `doc:"Numbers to try."`
	Choices []string         `doc:"Other values to try, written as for --set, such as \"true\"."`
	Prior   hybrid.PriorKind `doc:"Shape of the range that random and halving draw from: uniform, log_uniform, or horizon."`
	Low     *float64         `doc:"Lower end of the range."`
	High    *float64         `doc:"Upper end of the range."`
}

// Validate checks constraints across fields.
func (k SweepKey) Validate() error {
	ways := 0
	for _, given := range []bool{len(k.Values) > 0, len(k.Choices) > 0, k.Low != nil || k.High != nil} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return config.Invalid("", "want one of values, choices, and low with high")
	case (k.Low == nil) != (k.High == nil):
		return config.Invalid("low", "want low and high")
	case k.Low != nil:
		return hybrid.Prior{Prior: k.Prior, Low: *k.Low, High: *k.High}.Validate()
	}
	return nil
}

// texts returns the values of a key without a range.
func (k SweepKey) texts() []string {
	out := slices.Clone(k.Choices)
	for _, x := range k.Values {
		out = append(out, strconv.FormatFloat(x, 'f', -1, 64))
	}
	return out
}

// HalvingConfig are the rungs of successive halving.
type HalvingConfig struct {
	Eta        int `min:"2" max:"1000" doc:"Reduction factor: one of eta trials continues to the next rung, which is eta times as long."`
	Iterations int `min:"1" doc:"Iterations of the first rung; the last rung has the configuration's."`
}

// DefaultSweep is a grid with one run per trial. The rungs are those of L. Li et al., "Hyperband", 2018.
func DefaultSweep() SweepConfig {
	return SweepConfig{Method: Grid, Trials: 20, Batch: 64, Seeds: 1, Metric: "evaluation", Halving: HalvingConfig{Eta: 3, Iterations: 10}}
}

// maxTrials is the maximum number of trials of a grid, and maxRepetitions that of trials × seeds.
const (
	maxTrials      = 100000
	maxRepetitions = 100000
)

// Validate checks constraints across fields.
func (c SweepConfig) Validate() error {
	product := 1
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		key := c.Keys[name]
		if c.Method == Grid && key.Low != nil {
			return config.Invalid("method", "a grid needs values or choices of %q, which has a range: want them, or method = \"random\"", name)
		}
		if product *= max(len(key.texts()), 1); product > maxTrials {
			return config.Invalid("keys", "a grid of more than %d trials", maxTrials)
		}
	}
	trials, key := product, "seeds"
	if c.Method != Grid {
		trials, key = c.Trials, "trials"
	}
	if trials*c.Seeds > maxRepetitions {
		return config.Invalid(key, "%d trials × %d seeds are %d repetitions: want at most %d", trials, c.Seeds, trials*c.Seeds, maxRepetitions)
	}
	if len(c.Keys) == 0 && c.Seeds == 1 {
		return config.Invalid("keys", "no keys to try and one seed: want for example [keys.\"ppo.learning_rate\"] with values = [1e-4, 1e-3]")
	}
	return nil
}

// Setting is a key of a configuration with its value as text, as for --set.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Trial is a combination of settings.
type Trial struct {
	Number   int       `json:"trial"` // from 0
	Settings []Setting `json:"settings"`
}

// Sweep is a validated sweep: a configuration and its trials.
type Sweep struct {
	Config SweepConfig
	Base   *Config // the configuration of which trials change settings
	Trials []Trial

	form *Config // what base encodes: Base or, if keys of a robot's task are tried, its portable form
	base []byte  // the text of the base configuration
}

// ReadSweep reads a sweep from a TOML file. Mistakes in it or in the configuration that it names, and invalid values
// of a trial, are *config.Error. The options are those of the configuration.
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
	if err := base.made(); err != nil {
		return nil, err
	}
	s := &Sweep{Config: DefaultSweep(), Base: base}
	s.Config.Config, s.Config.Seeds, s.Config.Keys = baseFile, seeds, map[string]SweepKey{}
	return s, s.complete("evorl.NewSweep", nil)
}

// complete draws the trials and checks their configurations; name is the sweep's name in errors. checking is told how many are checked; nil: nobody is.
func (s *Sweep) complete(name string, checking func(done, all int)) (err error) {
	s.form = s.Base
	if s.Base.setup.IsRobot() && s.tries(TaskSection) {
		s.form = s.Base.placed(s.Base.setup.Portable())
	}
	if s.base, err = s.form.TOML(); err != nil {
		return err
	}
	if s.Config.Method == Halving && s.Config.Halving.Iterations > s.Base.Run.Iterations {
		return fmt.Errorf("%s: halving.iterations is %d and the configuration has %d iterations: want no more", name, s.Config.Halving.Iterations,
			s.Base.Run.Iterations)
	}
	for _, of := range s.reserved() {
		if _, tried := s.Config.Keys[of.key]; tried {
			return fmt.Errorf("%s: keys.%q: %s sets this key in every run: want other keys, or not %s", name, of.key, of.by, of.by)
		}
	}
	s.Trials = s.draw()
	for i, t := range s.Trials {
		if checking != nil {
			checking(i, len(s.Trials))
		}
		if _, err := s.configsOf(t, "keys of "+name, 1); err != nil {
			return err
		}
	}
	return nil
}

// tries reports whether a key of a section is tried.
func (s *Sweep) tries(section string) bool {
	for key := range s.Config.Keys {
		if of, _, _ := strings.Cut(key, "."); of == section {
			return true
		}
	}
	return false
}

// draw returns the trials.
func (s *Sweep) draw() (trials []Trial) {
	names := slices.Sorted(maps.Keys(s.Config.Keys))
	if s.Config.Method == Grid {
		combinations := [][]Setting{nil}
		for _, name := range names {
			var longer [][]Setting
			for _, c := range combinations {
				for _, text := range s.Config.Keys[name].texts() {
					longer = append(longer, append(slices.Clone(c), Setting{name, text}))
				}
			}
			combinations = longer
		}
		for i, c := range combinations {
			trials = append(trials, Trial{i, c})
		}
		return trials
	}
	rng := rand.New(rand.NewPCG(s.Config.Seed, 0))
	for i := range s.Config.Trials {
		t := Trial{Number: i}
		for _, name := range names {
			t.Settings = append(t.Settings, Setting{name, s.drawKey(rng, name)})
		}
		trials = append(trials, t)
	}
	return trials
}

// drawKey draws a key's value, rounded to an integer if the configuration has one.
func (s *Sweep) drawKey(rng *rand.Rand, name string) string {
	key := s.Config.Keys[name]
	if texts := key.texts(); len(texts) > 0 {
		return texts[rng.IntN(len(texts))]
	}
	x := hybrid.Prior{Prior: key.Prior, Low: *key.Low, High: *key.High}.Quantile(rng.Float64())
	if text, _ := s.form.Value(name); isWhole(text) {
		return strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	}
	text := strconv.FormatFloat(x, 'g', 6, 64)
	if isWhole(text) {
		text += ".0"
	}
	return text
}

func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// reservedKey is a key that the sweep itself sets in every run, because of one of its settings.
type reservedKey struct{ key, by string }

// reserved returns the keys that trials cannot change.
func (s *Sweep) reserved() (keys []reservedKey) {
	if s.Config.Method == Halving {
		keys = append(keys, reservedKey{"iterations", `method = "halving"`})
	}
	if s.Config.Seeds > 1 {
		of := reservedKey{"seed", "seeds"}
		if s.Batched() {
			of.key = s.Base.MembersKey()
		}
		keys = append(keys, of)
	}
	return keys
}

// configs returns the configurations of a trial's runs: one with the repetitions as members, or one per seed. flag
// names the settings in errors.
func (s *Sweep) configs(t Trial, flag string) (of []*Config, err error) {
	return s.configsOf(t, flag, s.Config.Seeds)
}

// configsOf is configs of the first seeds. Configurations of one trial differ by their seed alone, so that checking one checks all.
func (s *Sweep) configsOf(t Trial, flag string, seeds int) (of []*Config, err error) {
	parse := func(more ...string) error {
		options := []Option{s.Base.sameSource()}
		for _, set := range t.Settings {
			options = append(options, Flag(flag, set.Key+"="+set.Value))
		}
		for _, text := range more {
			options = append(options, Flag("seeds of "+flag, text))
		}
		cfg, err := Parse(baseFile, s.base, options...)
		of = append(of, cfg)
		return err
	}
	switch {
	case s.Config.Seeds == 1: // the trial may set seed or members
		err = parse()
		return of, err
	case s.Batched():
		err = parse(fmt.Sprintf("%s=%d", s.Base.MembersKey(), s.Config.Seeds))
		return of, err
	}
	for i := range seeds {
		if err = parse(fmt.Sprintf("seed=%d", s.Base.Run.Seed+uint32(i))); err != nil {
			return nil, err
		}
	}
	return of, nil
}

// made returns an error if the sweep was not made by NewSweep, ReadSweep or StoredSweep.
func (s *Sweep) made() error {
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
