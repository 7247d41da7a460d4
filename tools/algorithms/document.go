package main

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evorl/evorl"
)

// document is what the pages are made of.
type document struct {
	root      string
	workflows []evorl.Workflow
	runs      map[string]result // by the page's name
	metrics   []described
	configs   map[string][]string // paths from the root, by workflow
}

// read reads what the pages are made of.
func read(root string) (*document, error) {
	d := &document{root: root, workflows: evorl.Workflows(), configs: map[string][]string{}}
	var err error
	if d.runs, err = readRuns(root); err != nil {
		return nil, err
	}
	if d.metrics, err = readMetrics(filepath.Join(root, "docs/metrics.md")); err != nil {
		return nil, err
	}
	return d, d.readConfigs()
}

var workflowKey = regexp.MustCompile(`(?m)^workflow\s*=\s*"([^"]+)"`)

// readConfigs sorts the configurations by their workflows.
func (d *document) readConfigs() error {
	for _, pattern := range []string{"configs/*.toml", "configs/*/*.toml"} {
		paths, err := filepath.Glob(filepath.Join(d.root, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			below, err := filepath.Rel(d.root, path)
			if err != nil {
				return err
			}
			if found := workflowKey.FindSubmatch(text); found != nil {
				d.configs[string(found[1])] = append(d.configs[string(found[1])], filepath.ToSlash(below))
			}
		}
	}
	return nil
}

// names lists the pages and the index.
func (d *document) names() []string {
	names := []string{"index"}
	for _, p := range pages {
		names = append(names, p.name)
	}
	return names
}

func (d *document) workflow(name string) (evorl.Workflow, error) {
	i := slices.IndexFunc(d.workflows, func(w evorl.Workflow) bool { return w.Name == name })
	if i < 0 {
		return evorl.Workflow{}, fmt.Errorf("no workflow is named %q", name)
	}
	return d.workflows[i], nil
}

// block is a generated part of a page.
var block = regexp.MustCompile(`(?s)<!-- begin ([a-z]+): go run \./tools/algorithms -->\n.*?<!-- end ([a-z]+) -->`)

// fill returns a page with its generated parts as they should be.
func (d *document) fill(name, text string) (string, error) {
	writers := map[string]func(*strings.Builder, page) error{"source": d.source, "learning": d.learning, "reference": d.reference}
	of, ok := lookup(name)
	if !ok { // the index
		writers = map[string]func(*strings.Builder, page) error{"pages": d.index, "common": d.common}
	}
	var failed error
	seen := map[string]bool{}
	out := block.ReplaceAllStringFunc(text, func(found string) string {
		part := block.FindStringSubmatch(found)
		write := writers[part[1]]
		if write == nil || part[2] != part[1] || seen[part[1]] {
			failed = fmt.Errorf("part %q ends as %q; want each of %v once", part[1], part[2], sorted(writers))
			return found
		}
		seen[part[1]] = true
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- begin %s: go run ./tools/algorithms -->\n", part[1])
		if err := write(&b, of); err != nil && failed == nil {
			failed = err
		}
		fmt.Fprintf(&b, "<!-- end %s -->", part[1])
		return b.String()
	})
	if failed == nil && len(seen) != len(writers) {
		failed = fmt.Errorf("its generated parts are %v; want %v", sorted(seen), sorted(writers))
	}
	return out, failed
}

func sorted[T any](of map[string]T) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// defaults returns the doc comments of the functions in a Go file that return default settings.
func defaults(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var all []string
	for _, decl := range parsed.Decls {
		if f, ok := function(decl); ok && strings.HasPrefix(f.Name.Name, "Default") && f.Doc != nil {
			p := new(doc.Package)
			text := strings.TrimSpace(string(p.Markdown(f.Doc.Text())))
			all = append(all, strings.Replace(text, f.Name.Name, "`"+parsed.Name.Name+"."+f.Name.Name+"`", 1))
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%s has no documented function Default…", path)
	}
	return strings.Join(all, " "), nil
}
