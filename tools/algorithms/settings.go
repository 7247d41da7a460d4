package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evorl/evorl"
)

// marker is replaced in pages by the settings of the workflows that it names.
var marker = regexp.MustCompile(`<!-- settings: ([a-z0-9 -]+?) -->`)

// common are the sections of all workflows, which are described once.
var common = []string{"", "source", "environment", "evaluation", "checkpoint", "network"}

// fill replaces the markers of a page.
func fill(page string) (string, error) {
	var failed error
	page = marker.ReplaceAllStringFunc(page, func(found string) string {
		var b strings.Builder
		for name := range strings.FieldsSeq(marker.FindStringSubmatch(found)[1]) {
			if err := settings(&b, name); err != nil && failed == nil {
				failed = err
			}
		}
		return b.String()
	})
	return page, failed
}

// settings writes what a workflow is and the tables of its own sections, from the field tags.
func settings(b *strings.Builder, name string) error {
	if name == "common" {
		return shared(b)
	}
	all := evorl.Workflows()
	i := slices.IndexFunc(all, func(w evorl.Workflow) bool { return w.Name == name })
	if i < 0 {
		return fmt.Errorf("no workflow is named %q", name)
	}
	fmt.Fprintf(b, "### %s\n\n%s. Source: %s.\n\n", name, strings.ToUpper(all[i].Summary[:1])+all[i].Summary[1:], all[i].Source)
	sections, err := all[i].Sections()
	if err != nil {
		return err
	}
	for _, s := range sections {
		if !slices.Contains(common, s.Name) {
			table(b, s)
		}
	}
	return nil
}

// shared writes the sections that all workflows have.
func shared(b *strings.Builder) error {
	for _, w := range evorl.Workflows() {
		if w.Name != "ppo" {
			continue
		}
		sections, err := w.Sections()
		if err != nil {
			return err
		}
		for _, s := range sections {
			if slices.Contains(common, s.Name) {
				table(b, s)
			}
		}
	}
	return nil
}

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
