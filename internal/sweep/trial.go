package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/evorl/evorl/hybrid"
)

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

// Others returns the settings of a trial whose keys are not among names.
func (t Trial) Others(names map[string]string) (out []Setting) {
	for _, set := range t.Settings {
		if names[set.Key] == "" {
			out = append(out, set)
		}
	}
	return out
}

// Draw returns the trials. value returns the setting of a key in the base configuration, as TOML.
func (c Config) Draw(value func(key string) string) (trials []Trial) {
	names := slices.Sorted(maps.Keys(c.Keys))
	if c.Method == Grid {
		combinations := [][]Setting{nil}
		for _, name := range names {
			var longer [][]Setting
			for _, before := range combinations {
				for _, text := range c.Keys[name].texts() {
					longer = append(longer, append(slices.Clone(before), Setting{name, text}))
				}
			}
			combinations = longer
		}
		for i, settings := range combinations {
			trials = append(trials, Trial{i, settings})
		}
		return trials
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	for i := range c.Trials {
		t := Trial{Number: i}
		for _, name := range names {
			t.Settings = append(t.Settings, Setting{name, c.drawKey(rng, name, isWhole(value(name)))})
		}
		trials = append(trials, t)
	}
	return trials
}

// drawKey draws a key's value, rounded to an integer if it is to be whole.
func (c Config) drawKey(rng *rand.Rand, name string, whole bool) string {
	key := c.Keys[name]
	if texts := key.texts(); len(texts) > 0 {
		return texts[rng.IntN(len(texts))]
	}
	x := hybrid.Prior{Prior: key.Prior, Low: *key.Low, High: *key.High}.Quantile(rng.Float64())
	if whole {
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

// Folders returns the folders of a trial's runs, of `trials` trials, with consecutive seeds.
func (c Config) Folders(folder string, t Trial, trials, runs int, seed uint32) (out []string) {
	name := fmt.Sprintf("trial-%0*d", len(fmt.Sprint(trials-1)), t.Number)
	for i := range runs {
		of := name
		switch {
		case len(c.Keys) == 0:
			of = fmt.Sprintf("seed-%d", seed+uint32(i))
		case runs > 1:
			of = fmt.Sprintf("%s-seed-%d", name, seed+uint32(i))
		}
		out = append(out, filepath.Join(folder, of))
	}
	return out
}

// Rungs returns the iterations at which rungs end, of runs of the given length: one number, except for halving.
func (c Config) Rungs(last int) (out []int) {
	if c.Method == Halving {
		for n := c.Halving.Iterations; n < last; n *= c.Halving.Eta {
			out = append(out, n)
		}
	}
	return append(out, last)
}

// Promote returns the trials that continue to the next rung, by their scores, where NaN is the lowest.
func (c Config) Promote(trials []Trial, score func(Trial) float64) []Trial {
	ranked := slices.Clone(trials)
	slices.SortStableFunc(ranked, func(a, b Trial) int { return cmp.Compare(score(b), score(a)) })
	ranked = ranked[:max(1, len(trials)/c.Halving.Eta)]
	slices.SortFunc(ranked, func(a, b Trial) int { return cmp.Compare(a.Number, b.Number) })
	return ranked
}
