package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl"
)

// isCommon reports whether all workflows have a section, so that it is documented once.
func isCommon(section string) bool {
	return slices.Contains([]string{"", "source", "environment", "evaluation", "checkpoint", "network"}, section)
}

// common writes the sections that all workflows have, as those of PPO.
func (d *document) common(b *strings.Builder, _ page) error {
	w, err := d.workflow("ppo")
	if err != nil {
		return err
	}
	sections, err := w.Sections()
	if err != nil {
		return err
	}
	for _, s := range sections {
		if isCommon(s.Name) {
			table(b, s)
		}
	}
	return nil
}

// table writes the keys of a section.
func table(b *strings.Builder, s evorl.Section) {
	title := "[" + s.Name + "]"
	if s.Name == "" {
		title = "top level"
	}
	fmt.Fprintf(b, "| `%s` | default | |\n|---|---|---|\n", title)
	for _, k := range s.Keys {
		text := k.Doc
		if len(k.Choices) > 0 {
			text += " One of " + strings.Join(k.Choices, ", ") + "."
		} else if k.Range != "" {
			text += " " + strings.ToUpper(k.Range[:1]) + k.Range[1:] + "."
		}
		if k.Unit != "" {
			text += " In " + k.Unit + "."
		}
		if k.Member != nil {
			text += " *Per member.*"
		}
		value := ""
		if k.Default != "" {
			value = "`" + k.Default + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", k.Name, strings.ReplaceAll(value, "|", "\\|"), strings.ReplaceAll(text, "|", "\\|"))
	}
	b.WriteString("\n")
}
