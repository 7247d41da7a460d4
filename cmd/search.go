package cmd

import (
	"slices"
	"strings"

	"github.com/evorl/evorl/engine/config"
)

// overview writes only the names, to fit a screen.
func (l *lister) overview(all []listed) {
	for _, of := range []struct{ kind, title string }{
		{"workflow", "WORKFLOWS, what learns"}, {"environment", "ENVIRONMENTS, where it learns"}, {"problem", "PROBLEMS, what a search can solve instead"},
	} {
		var names []string
		for _, x := range all {
			if x.Kind == of.kind {
				names = append(names, x.Name)
			}
		}
		l.heading(of.title)
		for _, line := range wrap(strings.Join(names, "  "), l.width-2) {
			l.text.WriteString("  " + line + "\n")
		}
	}
	l.heading("MORE")
	for _, row := range [][2]string{
		{"evorl list ppo", "a workflow, an environment or a problem, and its configuration"},
		{"evorl list entropy", "configuration keys by their name or a word of their meaning"},
		{"evorl list --all", "everything"},
		{"evorl init ppo Hopper-v5", "a configuration with all keys, to be changed"},
	} {
		l.pair(row[0], 32, row[1])
	}
}

// keysWith returns the sections with only the keys that have all words of the query in their names or, if there are none,
// in their documentation.
func keysWith(all []listed, query string) []listed {
	words := strings.Fields(strings.ToLower(query))
	in := func(text string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(strings.ToLower(text), word) })
	}
	byName := filterKeys(all, func(section string, k config.Key) bool { return in(section + "." + k.Name) })
	if len(byName) > 0 || len(words) == 0 {
		return byName
	}
	return filterKeys(all, func(_ string, k config.Key) bool { return in(k.Doc) })
}

func filterKeys(all []listed, wanted func(section string, k config.Key) bool) (out []listed) {
	for _, x := range all {
		sections := x.Sections
		x.Sections = nil
		for _, s := range sections {
			s.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(k config.Key) bool { return !wanted(s.Name, k) })
			if len(s.Keys) > 0 {
				x.Sections = append(x.Sections, s)
			}
		}
		if x.Sections != nil {
			out = append(out, x)
		}
	}
	return out
}
