package bench

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Matching returns what selects the cases that match one of the patterns, such as ppo/*, or begin with one, such as ppo; several with commas
// between them. "" selects all.
//
// Errors: an empty pattern among several, and a malformed one.
func Matching(patterns string) (func(Case) bool, error) {
	if patterns == "" {
		return func(Case) bool { return true }, nil
	}
	all := strings.Split(patterns, ",")
	for _, p := range all {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return nil, fmt.Errorf("%q: want patterns with commas between them, such as ppo/*,cartpole", patterns)
		}
	}
	return func(c Case) bool {
		return slices.ContainsFunc(all, func(p string) bool {
			ok, _ := path.Match(p, c.Name) // checked above
			return ok || strings.HasPrefix(c.Name, p)
		})
	}, nil
}

// Named returns what selects the cases whose whole name is one of the patterns.
func Named(patterns string) func(Case) bool {
	all := strings.Split(patterns, ",")
	return func(c Case) bool { return slices.Contains(all, c.Name) }
}
