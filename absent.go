package evorl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/config"
)

// absent returns the reason why a section of other configurations is not part of this one, for an error; "" if no
// configuration has it.
func (c *Config) absent(section string, env string) string {
	search, searches := c.searcher()
	_, onProblem := c.catalog.problem(env)
	onProblem = onProblem || searches && c.source != nil && search.solves()
	ofPolicies := slices.Contains([]string{"environment", TaskSection, "network", "policy", "behaviour"}, section)
	switch of, isProblem := c.catalog.problem(section); {
	case ofPolicies && onProblem:
		return fmt.Sprintf("[%s] is for policies, and env = %q is a problem, whose settings are in [%s]: want an environment, "+
			"such as env = \"CartPole-v1\", or no [%s]", section, env, env, section)
	case ofPolicies && searches && search.solves():
		return fmt.Sprintf("[%s] is for policies, and %s solves problems of several objectives: want one, such as env = \"zdt\"", section, c.workflow.Name)
	case section == TaskSection:
		return fmt.Sprintf("%s has no options of its own", env)
	case isProblem:
		return fmt.Sprintf("[%s] is for env = %q, and env is %q", of.Name, of.Name, env)
	}
	parts := c.parts
	if p, ok := parts.(*pbt); ok {
		parts = p.trainable
	}
	if g, ok := parts.(*guided); ok {
		if why := g.absent(section); why != "" {
			return why
		}
	}
	var of []string
	name, key, choices := c.learner()
	// The workflow of the section's name comes first, then the searches.
	slices.SortStableFunc(choices, func(a, b Workflow) int { return sectionRank(a, section) - sectionRank(b, section) })
	for _, w := range choices {
		if slices.ContainsFunc(w.parts().sections(), func(s config.Section) bool { return s.Name == section }) {
			of = append(of, fmt.Sprintf("%q", w.Name))
		}
	}
	switch {
	case len(of) == 0:
		return Lacks(section)
	case len(of) > 3:
		of = append(of[:2], "another search")
	}
	return fmt.Sprintf("[%s] is for %s = %s, and %s is %q", section, key, strings.Join(of, " or "), key, name)
}

// sectionRank orders the workflows that have a section in an error.
func sectionRank(w Workflow, section string) int {
	_, searches := w.parts().(searcher)
	switch {
	case w.Name == section:
		return 0
	case searches:
		return 1
	}
	return 2
}
