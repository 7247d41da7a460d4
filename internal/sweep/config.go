// Package sweep has what sweeps are made of: the space of settings, trials drawn from it, batches of trials that share a run, and the files of a sweep.
package sweep

import (
	"maps"
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

// Config selects the settings that a sweep tries.
type Config struct {
	Config  string         `required:"true" doc:"Base configuration of all trials: a path relative to this file's folder."`
	Method  string         `choices:"grid,random,halving" doc:"Combinations that are tried: all, random ones, or random ones of which the best continue."`
	Trials  int            `min:"1" max:"100000" doc:"Number of combinations that random and halving draw."`
	Batch   int            `min:"1" max:"10000" doc:"Most members of a run shared by trials that differ only in members' hyperparameters; 1: no sharing."`
	Seeds   int            `min:"1" max:"10000" doc:"Repetitions of each trial: independent members of one run or, if the method has none, separate runs."`
	Seed    uint64         `doc:"Seed of the random combinations."`
	Metric  string         `doc:"Metric that ranks the trials: evaluation, return or another name in metrics.jsonl; higher is better."`
	Set     []string       `doc:"Settings of all trials, KEY=VALUE."`
	Keys    map[string]Key `doc:"Keys of the configuration that differ between trials."`
	Halving HalvingConfig
}

// Key defines the values of one key of the configuration.
type Key struct {
	Values  []float64        `doc:"Numbers to try."`
	Choices []string         `doc:"Other values to try, written as for --set, such as \"true\"."`
	Prior   hybrid.PriorKind `doc:"Shape of the range that random and halving draw from: uniform, log_uniform, or horizon."`
	Low     *float64         `doc:"Lower end of the range."`
	High    *float64         `doc:"Upper end of the range."`
}

// Validate checks constraints across fields.
func (k Key) Validate() error {
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
func (k Key) texts() []string {
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

// Default is a grid with one run per trial. The rungs follow L. Li et al., "Hyperband", 2018.
func Default() Config {
	return Config{Method: Grid, Trials: 20, Batch: 64, Seeds: 1, Metric: "evaluation", Halving: HalvingConfig{Eta: 3, Iterations: 10}}
}

// maxTrials is the maximum number of trials of a grid, and maxRepetitions of trials × seeds.
const (
	maxTrials      = 100000
	maxRepetitions = 100000
)

// Validate checks constraints across fields.
func (c Config) Validate() error {
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

// Reserved is a key that a sweep itself sets in every run, because of one of its settings.
type Reserved struct{ Key, By string }

// Reserved returns the keys that trials cannot change. repeated is the key by which repetitions are made.
func (c Config) Reserved(repeated string) (keys []Reserved) {
	if c.Method == Halving {
		keys = append(keys, Reserved{"iterations", `method = "halving"`})
	}
	if c.Seeds > 1 {
		keys = append(keys, Reserved{repeated, "seeds"})
	}
	return keys
}

// Tries reports whether a key of a section is tried.
func (c Config) Tries(section string) bool {
	for key := range c.Keys {
		if of, _, _ := strings.Cut(key, "."); of == section {
			return true
		}
	}
	return false
}
