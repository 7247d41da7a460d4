package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl"
)

// commonSections are documented once, with PPO's defaults. Workflows with other keys or defaults have them on their pages too.
var commonSections = []string{"", "source", "environment", "evaluation", "checkpoint", "network"}

// common writes the common sections.
func (d *document) common(b *strings.Builder, _ page) error {
	tables, err := d.tables("ppo")
	if err != nil {
		return err
	}
	for _, t := range tables {
		if slices.Contains(commonSections, t.section) {
			b.WriteString(t.text)
		}
	}
	return nil
}

// settings writes the sections of a workflow that are not as the index has them.
func (d *document) settings(b *strings.Builder, name string) error {
	var index strings.Builder
	if err := d.common(&index, page{}); err != nil {
		return err
	}
	tables, err := d.tables(name)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if !strings.Contains(index.String(), t.text) {
			b.WriteString(t.text)
		}
	}
	return nil
}

// sectionTable is the table of a section's keys.
type sectionTable struct{ section, text string }

// tables returns a workflow's tables.
func (d *document) tables(name string) (all []sectionTable, err error) {
	w, err := d.workflow(name)
	if err != nil {
		return nil, err
	}
	sections, err := w.Sections()
	if err != nil {
		return nil, err
	}
	for _, s := range sections {
		var b strings.Builder
		table(&b, s)
		all = append(all, sectionTable{s.Name, b.String()})
	}
	return all, nil
}

// table writes the keys of a section.
func table(b *strings.Builder, s evorl.Section) {
	fmt.Fprintf(b, "| `%s` | default | |\n|---|---|---|\n", title(s))
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

// title returns the heading of a section's table.
func title(s evorl.Section) string {
	if s.Name == "" {
		return "top level"
	}
	return "[" + s.Name + "]"
}
