package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
)

const root = "../.."

// The generated parts of all pages are those that the program writes today.
func TestPagesAreCurrent(t *testing.T) {
	d, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range d.names() {
		text, err := os.ReadFile(filepath.Join(root, folder, name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := d.fill(name, string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want != string(text) {
			t.Errorf("%s/%s.md is not what the program says: go run ./tools/algorithms", folder, name)
		}
	}
}

// Every setting of every workflow, with its default, is in a section of the workflow's page or, if the page has none, of the index.
func TestSettings(t *testing.T) {
	text := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, folder, name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	index := text("index")
	for _, w := range evorl.Workflows() {
		sections, err := w.Sections()
		if err != nil {
			t.Fatal(err)
		}
		page := text(w.Name)
		for _, s := range sections {
			heading := "\n| `" + title(s) + "` | default |"
			_, table, ok := strings.Cut(page, heading)
			if !ok {
				_, table, ok = strings.Cut(index, heading)
			}
			if table, _, _ = strings.Cut(table, "\n\n"); !ok {
				t.Errorf("%s: section [%s] is neither on its page nor on the index", w.Name, s.Name)
				continue
			}
			for _, k := range s.Keys {
				row := "\n| `" + k.Name + "` |  |"
				if k.Default != "" {
					row = "\n| `" + k.Name + "` | `" + strings.ReplaceAll(k.Default, "|", "\\|") + "` |"
				}
				if !strings.Contains(table, row) {
					t.Errorf("%s: [%s] has no row %q", w.Name, s.Name, row)
				}
			}
		}
	}
}

// Every workflow has one page of the same form, in the index and in the site's navigation, and nothing else is in the folder.
func TestEveryWorkflowHasAPage(t *testing.T) {
	var names, files []string
	for _, w := range evorl.Workflows() {
		names = append(names, w.Name)
	}
	navigation, err := os.ReadFile(filepath.Join(root, "tools/site/mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var paged []string
	for _, p := range pages {
		paged, files = append(paged, p.name), append(files, p.name+".md", p.picture())
		if !slices.Contains(kinds, p.kind) {
			t.Errorf("%s is of kind %q, which the index does not have", p.name, p.kind)
		}
		if !strings.Contains(string(navigation), folder+"/"+p.name+".md\n") {
			t.Errorf("tools/site/mkdocs.yml does not list %s", p.name)
		}
		text, err := os.ReadFile(filepath.Join(root, folder, p.name+".md"))
		if err != nil {
			t.Error(err)
			continue
		}
		var headings []string
		for line := range strings.Lines(string(text)) {
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				headings = append(headings, strings.TrimSpace(heading))
			}
		}
		want := []string{"Equations", "This implementation", "Measured", "Learning curve", "Settings", "Metrics", "Sources", "Configurations"}
		if !slices.Equal(headings, want) {
			t.Errorf("%s has the headings %q; want %q", p.name, headings, want)
		}
	}
	slices.Sort(names)
	slices.Sort(paged)
	if !slices.Equal(names, paged) {
		t.Errorf("the pages are of %v; the workflows are %v", paged, names)
	}
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(files, e.Name()) && e.Name() != "index.md" && e.Name() != filepath.Base(resultsFile) {
			t.Errorf("%s/%s belongs to no page", folder, e.Name())
		}
	}
}

// The command of a page is one of its workflow, which the program accepts, and the figure is that command's.
func TestCommands(t *testing.T) {
	runs, err := readRuns(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		run, _ := p.commands()
		if command := "evorl " + strings.Join(run, " "); command != runs[p.name].Command {
			t.Errorf("the figure of %s is by %q; the page says %q: go run ./tools/algorithms -run %s", p.name, runs[p.name].Command, command, p.name)
		}
		var opts []evorl.Option
		for i := 0; i < len(p.run); i += 2 {
			switch p.run[i] {
			case "--set":
				opts = append(opts, evorl.Set(p.run[i+1]))
			case "--iterations":
				opts = append(opts, evorl.Set("iterations="+p.run[i+1]))
			default:
				t.Errorf("%s: argument %s", p.name, p.run[i])
			}
		}
		cfg, err := evorl.Read(filepath.Join(root, "configs", p.config+".toml"), opts...)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
		} else if cfg.Run.Workflow != p.name || cfg.Run.Iterations != runs[p.name].Iterations {
			t.Errorf("%s runs %s for %d iterations; the figure has %d", p.name, cfg.Run.Workflow, cfg.Run.Iterations, runs[p.name].Iterations)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	d, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(part string) string { return "<!-- begin " + part + ": go run ./tools/algorithms -->\n" }
	for page, want := range map[string]string{
		"":                                    `its generated parts are []`,
		begin("sauce") + "<!-- end sauce -->": `part "sauce"`,
		begin("source") + "<!-- end learning -->":                                         `ends as "learning"`,
		begin("source") + "<!-- end source -->" + begin("source") + "<!-- end source -->": `once`,
	} {
		if _, err := d.fill("ppo", page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", page, err, want)
		}
	}
}

func TestMetricNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	lines := "{\"iteration\":1,\"return/mean\":1,\"return/median\":2,\"value/mean\":3}\n" + "{\"iteration\":2,\"evaluation/median\":1}\n{\"torn"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := metricNames(path)
	if want := []string{"evaluation/…", "iteration", "return/…", "value/mean"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	all, err := readMetrics(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := describe(all, "return/…"); err != nil || !strings.Contains(text, "training episodes") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := describe(all, "returns/x"); err == nil || !strings.Contains(err.Error(), "returns/x") {
		t.Errorf("%v; want an error that names the metric", err)
	}
}
