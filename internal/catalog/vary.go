package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// MemberKeys returns the hyperparameters that may differ between members, by their keys from the top level.
func (s *Setup) MemberKeys() (map[string]string, error) {
	_, key := s.Settings.Members()
	own, _, _ := strings.Cut(key, ".")
	found := map[string]string{}
	for _, of := range s.Settings.Sections() {
		keys, err := config.Schema(of.Value)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if k.Member != nil && (of.Name == own || of.Name == s.Workflow.Name) {
				found[of.Name+"."+k.Name] = k.Name
			}
		}
	}
	return found, nil
}

// CheckVary checks names, numbers of values, and by check each value as one of its key.
func (s *Setup) CheckVary(v *VaryConfig, check func(at, key string, x float64) error) error {
	if v == nil {
		return nil
	}
	if s.Settings.Composed() {
		return config.Invalid(VarySection+".values", "members of %s do not learn by themselves: want an agent or a search, such as workflow = \"ppo\"",
			s.Workflow.Name)
	}
	keys, err := s.MemberKeys()
	if err != nil {
		return err
	}
	members, membersKey := s.Settings.Members()
	for _, name := range slices.Sorted(maps.Keys(v.Values)) {
		values := v.Values[name]
		at := VarySection + ".values." + name
		key := ""
		for k, of := range keys {
			if of == name {
				key = k
			}
		}
		if key == "" {
			return config.Invalid(at, "no hyperparameter of members: want one of %s", strings.Join(slices.Sorted(maps.Values(keys)), ", "))
		}
		if len(values) != *members {
			return config.Invalid(at, "%d values of %d members: want one for each of %s", len(values), *members, membersKey)
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		for _, x := range slices.Compact(sorted) {
			if err := check(at, key, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeclareVary declares the hyperparameters of [vary] to a workflow that was just made.
func (s *Setup) DeclareVary(v *VaryConfig, w engine.Workflow) error {
	if v == nil {
		return nil
	}
	of, ok := w.(engine.Trainable)
	if !ok {
		return fmt.Errorf("evorl: [%s]: members of %s have no hyperparameters", VarySection, s.Workflow.Name)
	}
	for name := range v.Values {
		if of.Hyper().Lookup(name) == nil {
			return fmt.Errorf("evorl: [%s]: %s on %s has no hyperparameter %q; want one of %s", VarySection, s.Workflow.Name, s.Place, name,
				strings.Join(of.Hyper().Names(), ", "))
		}
		of.Hyper().Vary(name)
	}
	return nil
}

// Write writes the values into a workflow that has begun.
func (v *VaryConfig) Write(ctx context.Context, w engine.Workflow) error {
	of, ok := w.(engine.Trainable)
	if !ok {
		return fmt.Errorf("evorl: [%s]: the workflow, a %T, was not made by this configuration", VarySection, w)
	}
	for name, values := range v.Values {
		t := of.Hyper().Lookup(name)
		if t == nil {
			return fmt.Errorf("evorl: [%s]: there is no hyperparameter %q", VarySection, name)
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
