package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/config"
)

// Absent returns the reason why a section of other configurations is not part of this one, for an error; "" if no
// configuration has it.
func (s *Setup) Absent(section string) string {
	env := s.named
	search, searches := s.search()
	_, onProblem := s.catalog.Problem(env)
	onProblem = onProblem || searches && s.Source != nil && search.solves()
	ofPolicies := slices.Contains([]string{"environment", TaskSection, "network", "policy", "behaviour"}, section)
	switch of, isProblem := s.catalog.Problem(section); {
	case ofPolicies && onProblem:
		return fmt.Sprintf("[%s] is for policies, and env = %q is a problem, whose settings are in [%s]: want an environment, "+
			"such as env = \"CartPole-v1\", or no [%s]", section, env, env, section)
	case ofPolicies && searches && search.solves():
		return fmt.Sprintf("[%s] is for policies, and %s solves problems of several objectives: want one, such as env = \"zdt\"", section, s.Workflow.Name)
	case section == TaskSection:
		return fmt.Sprintf("%s has no options of its own", env)
	case section == BridgeSection:
		return fmt.Sprintf("[%s] is for environments outside of evorl, such as env = \"gymnasium:CartPole-v1\", and env is %q", section, env)
	case section == RemoteSection:
		return fmt.Sprintf("[%s] is for worlds of a server, such as env = \"dm_env_rpc://127.0.0.1:9911\", and env is %q", section, env)
	case isProblem:
		return fmt.Sprintf("[%s] is for env = %q, and env is %q", of.Name, of.Name, env)
	}
	if g, ok := innermost(s.Settings).(*guided); ok {
		if why := g.absent(section); why != "" {
			return why
		}
	}
	var of []string
	name, key, choices := s.learner()
	// The workflow of the section's name comes first, then the searches.
	slices.SortStableFunc(choices, func(a, b Workflow) int { return sectionRank(a, section) - sectionRank(b, section) })
	for _, w := range choices {
		if slices.ContainsFunc(w.Settings().Sections(), func(of config.Section) bool { return of.Name == section }) {
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
	_, searches := w.Settings().(*search)
	switch {
	case w.Name == section:
		return 0
	case searches:
		return 1
	}
	return 2
}
