package evorl

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/config"
)

// Difference is a setting that differs between two configurations.
type Difference struct {
	Key          string // dotted
	Value, Other string // as TOML; "": the configuration has no such key
}

// Differences lists the settings in which a configuration differs from another, except the number of iterations.
func (c *Config) Differences(other *Config) []Difference {
	keys, values := c.flat()
	otherKeys, otherValues := other.flat()
	var out []Difference
	for _, k := range keys {
		if v, o := values[k], otherValues[k]; v != o && k != "iterations" {
			out = append(out, Difference{k, v, o})
		}
	}
	for _, k := range otherKeys {
		if _, ok := values[k]; !ok {
			out = append(out, Difference{Key: k, Other: otherValues[k]})
		}
	}
	return out
}

// OfTask reports whether a setting, by its dotted key, belongs to the task, which is the environment or the problem, not
// to the method.
func (c *Config) OfTask(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return c.setup.IsTask(section)
}

// Value returns a setting as TOML, by its dotted key; ok is false if the configuration has no such key.
func (c *Config) Value(key string) (text string, ok bool) {
	_, values := c.flat()
	text, ok = values[key]
	return text, ok
}

// DifferenceError is the error of resuming a run with different settings.
type DifferenceError struct {
	Path        string // the run directory
	Differences []Difference
}

func (e *DifferenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the run in %s has other settings, of which only iterations may grow:", e.Path)
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "\n  %s is %s; the run has %s", d.Key, orNotSet(d.Value), orNotSet(d.Other))
	}
	return b.String()
}

func orNotSet(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// continues checks that a run with the stored configuration can be resumed with this one.
func (c *Config) continues(stored *Config, path string) error {
	d := c.Differences(stored)
	if n, has := c.Run.Iterations, stored.Run.Iterations; n < has {
		d = append(d, Difference{Key: "iterations", Value: fmt.Sprint(n), Other: fmt.Sprint(has)})
	}
	if len(d) > 0 {
		return &DifferenceError{Path: path, Differences: d}
	}
	return nil
}

// configFact names the configuration among the facts of a checkpoint.
const configFact = "config"

// of reads the configuration with which a checkpoint was written.
func (c *Config) of(from *checkpoint.Checkpoint) (*Config, error) {
	text, ok := from.Manifest.Provenance[configFact]
	if !ok {
		return nil, fmt.Errorf("checkpoint %s has no configuration: it is of an older version of evorl", from.Path)
	}
	stored, err := Parse(from.Path, []byte(text), c.sameSource())
	if err != nil {
		return nil, fmt.Errorf("the configuration in the checkpoint: %w", err)
	}
	return stored, nil
}

// flat lists all keys by their dotted names, in TOML's order, with their values as TOML.
func (c *Config) flat() (keys []string, values map[string]string) {
	if c.made() != nil {
		return nil, nil // it has no settings
	}
	var b bytes.Buffer
	if err := config.Encode(&b, c.Sections()); err != nil {
		return nil, nil // a decoded configuration can be encoded
	}
	values = map[string]string{}
	section := ""
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]") + "."
		} else if key, value, ok := strings.Cut(line, " = "); ok {
			keys = append(keys, section+key)
			values[section+key] = value
		}
	}
	return keys, values
}
