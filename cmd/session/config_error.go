package session

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl/cmd/catalog"
)

// ConfigError is the error of resuming a run with other settings than it was begun with.
type ConfigError struct {
	Path        string // the run directory
	Differences []catalog.Difference
}

func (e *ConfigError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the run in %s was begun with other settings, and only iterations may change:", e.Path)
	for _, d := range e.Differences {
		fmt.Fprintf(&b, "\n  %s is %s; the run has %s", d.Key, orNothing(d.Value), orNothing(d.Other))
	}
	return b.String()
}

func orNothing(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}
