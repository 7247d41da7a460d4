package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
)

// listed is an element of evorl list --json: a workflow with its keys, or an environment.
type listed struct {
	Kind    string `json:"kind"` // "workflow", "environment" or "problem"
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  string `json:"source"`

	Sections []evorl.Section `json:"sections,omitempty"` // of its configuration, in TOML's order; "" is the top level

	Observation string   `json:"observation,omitempty"` // of an environment
	Action      string   `json:"action,omitempty"`
	Agents      int      `json:"agents,omitempty"` // if there are several; spaces are each one's
	MaxSteps    int      `json:"max_steps,omitempty"`
	Threshold   *float64 `json:"reward_threshold,omitempty"` // the mean return that counts as solved
}

func newList(known *evorl.Catalog) *cobra.Command {
	var asJSON, full bool
	cmd := &cobra.Command{
		Use:   "list [flags] [NAME|WORD...]",
		Short: "List workflows, environments, problems and configuration keys",
		Long: paragraphs(
			"List the names of all workflows, environments and problems. With the NAME of one: what it is, and every key of its configuration with default, range " +
				"and meaning. With other words: the keys whose names have all of them or, if there are none, whose meanings have. With --all: everything.",
		),
		Example: "  evorl list\n  evorl list pbt\n  evorl list learning_rate\n  evorl list --all --json",
		Args:    between(0, math.MaxInt, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := everything(known)
			if err != nil {
				return err
			}
			l := &lister{width: columns(cmd.OutOrStdout()), known: all}
			switch query := strings.Join(args, " "); {
			case query == "" && !full && !asJSON:
				l.overview(all)
			case query == "" || has(all, query):
				all = slices.DeleteFunc(slices.Clone(all), func(x listed) bool { return query != "" && x.Name != query })
				l.known = all
				l.list(all)
			default:
				found := keysWith(all, query)
				if found == nil {
					return nothing(all, query)
				}
				all = found
				l.sections(all)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), l.text.String())
			return err
		},
		ValidArgsFunction: completeListed(known),
	}
	cmd.Flags().BoolVar(&full, "all", false, "everything, with every configuration key")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON: an array, of everything unless NAME or words are given")
	return cmd
}

func everything(known *evorl.Catalog) ([]listed, error) {
	var all []listed
	for _, w := range known.Workflows() {
		sections, err := w.Sections()
		if err != nil {
			return nil, err
		}
		all = append(all, listed{Kind: "workflow", Name: w.Name, Summary: w.Summary, Source: w.Source, Sections: sections})
	}
	for _, name := range known.Environments().Names() {
		e, err := known.Environments().Lookup(name)
		if err != nil {
			return nil, err
		}
		x := listed{
			Kind: "environment", Name: name, Summary: e.Summary, Source: e.Source,
			Observation: e.Observation.String(), Action: e.Action.String(), MaxSteps: e.MaxSteps, Threshold: e.RewardThreshold,
		}
		if e.Seats() > 1 {
			x.Agents = e.Seats()
		}
		if e.Options != nil {
			keys, err := config.Schema(e.Options)
			if err != nil {
				return nil, err
			}
			x.Sections = []evorl.Section{{Name: evorl.TaskSection, Keys: keys}}
		}
		all = append(all, x)
	}
	kinds, section, err := evorl.Outside()
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		all = append(all, listed{Kind: "environment", Name: k.Prefix + k.Rest, Summary: k.Summary, Source: "docs/bridge.md", Sections: []evorl.Section{section}})
	}
	kind, section, err := evorl.Remote()
	if err != nil {
		return nil, err
	}
	all = append(all, listed{
		Kind: "environment", Name: kind.Prefix + kind.Rest, Summary: kind.Summary, Source: "docs/dm-env-rpc.md", Sections: []evorl.Section{section},
	})
	for _, p := range known.Problems() {
		sections, err := p.Sections()
		if err != nil {
			return nil, err
		}
		all = append(all, listed{Kind: "problem", Name: p.Name, Summary: p.Summary, Source: p.Source, Sections: sections})
	}
	return all, nil
}

func has(all []listed, name string) bool {
	return slices.ContainsFunc(all, func(x listed) bool { return x.Name == name })
}

// nothing returns the error of a query without results.
func nothing(all []listed, query string) error {
	var names []string
	for _, x := range all {
		names = append(names, x.Name)
		for _, s := range x.Sections {
			for _, k := range s.Keys {
				names = append(names, k.Name)
			}
		}
	}
	hint := "see: evorl list"
	if lacks := evorl.Lacks(query); lacks != "" {
		hint = lacks
	} else if near := config.Nearest(query, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usagef("there is no workflow, environment, problem or key %q; %s", query, hint)
}

// columns returns the output width.
func columns(w io.Writer) int {
	const usual, most, least = 100, 120, 60
	file, ok := w.(*os.File)
	if !ok {
		return usual
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return usual
	}
	return max(min(width, most), least)
}

// lister writes the documentation for a terminal.
type lister struct {
	text  strings.Builder
	width int
	known []listed // everything listed, for naming the users of a section
}

func (l *lister) list(all []listed) {
	var configured []listed
	for _, kind := range []string{"workflow", "environment", "problem"} {
		first := true
		for _, x := range all {
			if x.Kind != kind {
				continue
			}
			if first {
				l.heading(strings.ToUpper(kind) + "S")
				first = false
			}
			if len(x.Sections) > 0 {
				configured = append(configured, x)
			}
			l.entry(x)
		}
	}
	if len(configured) > 0 {
		l.heading("CONFIGURATION")
		l.sections(configured)
	}
}

func (l *lister) heading(text string) {
	if l.text.Len() > 0 {
		l.text.WriteByte('\n')
	}
	l.text.WriteString(text + "\n")
}

func (l *lister) entry(x listed) {
	lines := []string{x.Summary}
	if x.Observation != "" {
		facts := fmt.Sprintf("observations %s, actions %s, at most %d steps", x.Observation, x.Action, x.MaxSteps)
		if x.Agents > 1 {
			facts = fmt.Sprintf("%d agents, of each ", x.Agents) + facts
		}
		if x.Threshold != nil {
			facts += fmt.Sprintf(", solved at %g", *x.Threshold)
		}
		lines = append(lines, facts)
	}
	if x.Source != "" {
		lines = append(lines, x.Source)
	}
	l.pair(x.Name, 26, lines...)
}

// pair writes a name and, beside it, wrapped lines.
func (l *lister) pair(name string, column int, lines ...string) {
	at := 2 + utf8.RuneCountInString(name)
	l.text.WriteString("  " + name)
	for _, line := range lines {
		for _, part := range wrap(line, l.width-column) {
			if at >= column {
				l.text.WriteByte('\n')
				at = 0
			}
			l.text.WriteString(strings.Repeat(" ", column-at) + part)
			at = l.width // the next part begins on a new line
		}
	}
	l.text.WriteByte('\n')
}

// wrap breaks a line between words.
func wrap(line string, width int) []string {
	var out []string
	now := ""
	for word := range strings.FieldsSeq(line) {
		if now != "" && utf8.RuneCountInString(now)+1+utf8.RuneCountInString(word) > width {
			out = append(out, now)
			now = ""
		}
		if now != "" {
			now += " "
		}
		now += word
	}
	return append(out, now)
}
