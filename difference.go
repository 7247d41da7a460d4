package evorl

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/evorl/evorl/engine/config"
)

// Difference is a setting that differs between two configurations.
type Difference struct {
	Key          string // dotted
	Value, Other string // as TOML; "": the configuration has no such key
}

// Differences lists the settings in which a configuration differs from another, the number of iterations aside.
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

// DifferenceError is the error of resuming a run with other settings than it has.
type DifferenceError struct {
	Path        string // the run directory
	Differences []Difference
}

func (e *DifferenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the run in %s has other settings, and only iterations may change:", e.Path)
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

// flat lists all keys by their dotted names, in TOML's order, and their values as TOML.
func (c *Config) flat() (keys []string, values map[string]string) {
	var b bytes.Buffer
	if err := config.Encode(&b, c.Sections()); err != nil {
		return nil, nil // what was decoded can be encoded
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
