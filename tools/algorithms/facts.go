package main

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// source writes what an algorithm is, and where it comes from.
func (d *document) source(b *strings.Builder, p page) error {
	w, err := d.workflow(p.name)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "**`workflow = \"%s\"`**: %s.  \nSource: %s.\n", w.Name, w.Summary, w.Source)
	return nil
}

// learning writes the figure of a page's run with the commands that made it and its results.
func (d *document) learning(b *strings.Builder, p page) error {
	r, ok := d.runs[p.name]
	if !ok {
		return fmt.Errorf("no result of a run of %s; go run ./tools/algorithms -run %s makes it", p.name, p.name)
	}
	if _, err := os.Stat(filepath.Join(d.root, folder, p.picture())); err != nil {
		return err
	}
	run, plot := p.commands()
	fmt.Fprintf(b, "![%s on %s](%s)\n\n```\nevorl %s\nevorl %s\n```\n\n%s\n", p.name, r.Env, p.picture(), strings.Join(run, " "), strings.Join(plot, " "), r)
	return nil
}

// reference writes settings, metrics, sources and configurations.
func (d *document) reference(b *strings.Builder, p page) error {
	text, err := defaults(filepath.Join(d.root, p.files[0]))
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "## Settings\n\n%s Settings marked *per member* may differ between members, and `pbt` can search them. ", text)
	b.WriteString("Sections that are not here are on the [index](index.md).\n\n")
	if err := d.settings(b, p.name); err != nil {
		return err
	}
	b.WriteString("## Metrics\n\nThose of the run above; [metrics](../metrics.md) has the names of other libraries.\n\n| metric | |\n|---|---|\n")
	r := d.runs[p.name]
	rows, err := d.rows(r.Metrics)
	if err != nil {
		return err
	}
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s |\n", row.name, row.text)
	}
	b.WriteString("\n## Sources\n\n")
	for _, file := range p.files {
		if _, err := os.Stat(filepath.Join(d.root, file)); err != nil {
			return err
		}
		fmt.Fprintf(b, "- [%s](../../%s)\n", file, file)
	}
	fmt.Fprintf(b, "\nKernels of the run above: %s.\n", quoted(r.Kernels))
	b.WriteString("\n## Configurations\n\n")
	for _, file := range d.configs[p.name] {
		fmt.Fprintf(b, "- [%s](../../%s)\n", file, file)
	}
	return nil
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// index writes the list of pages by kind.
func (d *document) index(b *strings.Builder, _ page) error {
	for _, kind := range kinds {
		fmt.Fprintf(b, "\n## %s\n\n| workflow | |\n|---|---|\n", kind)
		for _, p := range pages {
			if p.kind != kind {
				continue
			}
			w, err := d.workflow(p.name)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "| [`%s`](%s.md) | %s |\n", p.name, path.Base(p.name), w.Summary)
		}
	}
	b.WriteString("\n")
	return nil
}

func function(decl ast.Decl) (*ast.FuncDecl, bool) {
	f, ok := decl.(*ast.FuncDecl)
	return f, ok && f.Recv == nil
}
