package evorl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/internal/catalog"
)

// placeVary takes [vary] into the configuration if the document has it.
func (c *Config) placeVary(d *config.Document) {
	if d.Defined(catalog.VarySection) {
		c.vary = &VaryConfig{}
	}
}

// memberKeys returns the hyperparameters that may differ between members, by their keys from the top level.
func (c *Config) memberKeys() (map[string]string, error) {
	_, key := c.setup.Settings.Members()
	own, _, _ := strings.Cut(key, ".")
	found := map[string]string{}
	for _, s := range c.setup.Settings.Sections() {
		keys, err := config.Schema(s.Value)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.Member != nil && (s.Name == own || s.Name == c.setup.Workflow.Name) {
				found[s.Name+"."+k.Name] = k.Name
			}
		}
	}
	return found, nil
}

// checkVary checks names, numbers of values, and each value by the range of its key.
func (c *Config) checkVary() error {
	if c.vary == nil {
		return nil
	}
	if c.setup.Settings.Composed() {
		return config.Invalid(catalog.VarySection+".values", "members of %s do not learn by themselves: want an agent or a search, such as workflow = \"ppo\"",
			c.setup.Workflow.Name)
	}
	keys, err := c.memberKeys()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.vary.Values)) {
		values := c.vary.Values[name]
		at := catalog.VarySection + ".values." + name
		key := ""
		for k, of := range keys {
			if of == name {
				key = k
			}
		}
		if key == "" {
			return config.Invalid(at, "no hyperparameter of members: want one of %s", strings.Join(slices.Sorted(maps.Values(keys)), ", "))
		}
		if len(values) != c.Members() {
			return config.Invalid(at, "%d values of %d members: want one for each of %s", len(values), c.Members(), c.MembersKey())
		}
		if err := c.checkValues(at, key, values); err != nil {
			return err
		}
	}
	return nil
}

// checkValues checks values as those of a key.
func (c *Config) checkValues(at, key string, values []float64) error {
	plain := *c
	plain.vary = nil
	text, err := plain.TOML()
	if err != nil {
		return err
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	for _, x := range slices.Compact(sorted) {
		number := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(number, ".e") {
			number += ".0"
		}
		_, err := Parse(baseFile, text, Flag(at, key+"="+number), c.sameSource())
		var wrong *config.Error
		if errors.As(err, &wrong) {
			return config.Invalid(at, "%s", wrong.Message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// varied declares the hyperparameters of [vary] to a workflow that was just made.
func (c *Config) varied(w engine.Workflow) error {
	if c.vary == nil {
		return nil
	}
	of, ok := w.(engine.Trainable)
	if !ok {
		return fmt.Errorf("evorl: [%s]: members of %s have no hyperparameters", catalog.VarySection, c.setup.Workflow.Name)
	}
	for name := range c.vary.Values {
		if of.Hyper().Lookup(name) == nil {
			return fmt.Errorf("evorl: [%s]: %s on %s has no hyperparameter %q; want one of %s", catalog.VarySection, c.setup.Workflow.Name, c.Run.Env, name,
				strings.Join(of.Hyper().Names(), ", "))
		}
		of.Hyper().Vary(name)
	}
	return nil
}

// Init begins a workflow made by Build: its own Init, and then the values of [vary].
func (c *Config) Init(ctx context.Context, w engine.Workflow) error {
	if err := c.made(); err != nil {
		return err
	}
	if err := engine.Require(map[string]any{"workflow": w}); err != nil {
		return fmt.Errorf("evorl: %w", err)
	}
	if err := w.Init(ctx); err != nil || c.vary == nil {
		return err
	}
	of, ok := w.(engine.Trainable)
	if !ok {
		return fmt.Errorf("evorl: [%s]: the workflow, a %T, was not made by this configuration", catalog.VarySection, w)
	}
	for name, values := range c.vary.Values {
		t := of.Hyper().Lookup(name)
		if t == nil {
			return fmt.Errorf("evorl: [%s]: there is no hyperparameter %q", catalog.VarySection, name)
		}
		single := make([]float32, len(values))
		for i, x := range values {
			single[i] = float32(x)
		}
		if err := t.WriteFloat32(ctx, single); err != nil {
			return err
		}
	}
	return nil
}
