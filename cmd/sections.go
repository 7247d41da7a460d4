package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
)

// section is a section of configurations, as shared by users with the same keys: [network] is one section for searches
// and another for agents.
type section struct {
	evorl.Section
	users    []string   // names of workflows, environments or problems
	defaults [][]string // [key][user]
}

// sectionsOf returns the distinct sections of all, in TOML's order, environments' and problems' last.
func sectionsOf(all []listed) (sections []*section) {
	find := func(s evorl.Section) int {
		return slices.IndexFunc(sections, func(of *section) bool { return of.Name == s.Name && sameKeys(of.Keys, s.Keys) })
	}
	for _, x := range all {
		for i, s := range x.Sections {
			at := find(s)
			if at < 0 {
				at = len(sections) // or before the next one in TOML that is already listed
				for _, next := range x.Sections[i+1:] {
					if n := find(next); n >= 0 {
						at = min(at, n)
					}
				}
				sections = slices.Insert(sections, at, &section{Section: s, defaults: make([][]string, len(s.Keys))})
			}
			of := sections[at]
			of.users = append(of.users, x.Name)
			for k, key := range s.Keys {
				of.defaults[k] = append(of.defaults[k], key.Default)
			}
		}
	}
	return sections
}

// sameKeys reports whether two sections differ only in their defaults.
func sameKeys(a, b []config.Key) bool {
	return slices.EqualFunc(a, b, func(x, y config.Key) bool { return x.Name == y.Name && x.Doc == y.Doc && x.Type == y.Type })
}

// sections writes the sections of all workflows, environments and problems.
func (l *lister) sections(all []listed) {
	var workflows []string
	for _, x := range l.known {
		if x.Kind == "workflow" {
			workflows = append(workflows, x.Name)
		}
	}
	const column = 34
	for i, s := range sectionsOf(all) {
		if i > 0 {
			l.text.WriteByte('\n')
		}
		if s.Name != "" {
			title := "[" + s.Name + "]"
			if users := usersText(s, workflows); users != "" {
				l.pair(title, column, users)
			} else {
				l.pair(title, column)
			}
		}
		for k, key := range s.Keys {
			lines := []string{docText(key)}
			if others := othersText(s.users, s.defaults[k]); others != "" {
				lines = append(lines, others)
			}
			l.pair(key.Name+" = "+defaultText(key), column, lines...)
		}
	}
}

// usersText names the users of a section, unless its name does or all workflows have it.
func usersText(s *section, workflows []string) string {
	users := s.users
	without := slices.DeleteFunc(slices.Clone(workflows), func(name string) bool { return slices.Contains(users, name) })
	switch {
	case len(users) == 1 && users[0] == s.Name, len(without) == 0 && len(workflows) > 0:
		return ""
	case len(workflows) > 0 && len(without) <= 3:
		return "of all but " + strings.Join(without, ", ")
	}
	return "of " + strings.Join(users, ", ")
}

// othersText lists the defaults that differ from the first user's.
func othersText(users, defaults []string) string {
	var of []string
	for i, text := range defaults {
		if text == defaults[0] || slices.Contains(defaults[:i], text) {
			continue
		}
		var who []string
		for j, name := range users {
			if defaults[j] == text {
				who = append(who, name)
			}
		}
		of = append(of, fmt.Sprintf("%s of %s", text, strings.Join(who, ", ")))
	}
	if of == nil {
		return ""
	}
	return "Default " + strings.Join(of, "; ") + "."
}

func defaultText(k config.Key) string {
	if k.Required {
		return "(required)"
	}
	return k.Default
}

// symbols abbreviates ranges.
var symbols = strings.NewReplacer("at least ", "≥", "at most ", "≤", "above ", ">", "below ", "<", " and ", ", ")

func docText(k config.Key) string {
	text := k.Doc
	if k.Unit != "" {
		text += " In " + k.Unit + "."
	}
	if k.Range != "" {
		text += " [" + symbols.Replace(k.Range) + "]"
	}
	if len(k.Choices) > 0 {
		text += " [one of " + strings.Join(k.Choices, ", ") + "]"
	}
	if s := k.Member; s != nil && s.Prior != "" {
		text += fmt.Sprintf(" [pbt searches %s(%g, %g)]", s.Prior, s.Low, s.High)
	} else if s != nil {
		text += " [pbt can search it]"
	}
	return text
}
