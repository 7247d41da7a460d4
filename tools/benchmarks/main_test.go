package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/cmd/bench"
)

// The committed page agrees with the committed results.
func TestPage(t *testing.T) {
	const docs = "../../docs"
	pages, err := pagesOf(docs)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not that of docs/benchmarks (%v): go run ./tools/benchmarks", name, err)
		}
	}
}

// An added result replaces the same device's, and the page shows it.
func TestAdd(t *testing.T) {
	docs := t.TempDir()
	if err := os.Mkdir(filepath.Join(docs, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"RTX 1 (x)", "RTX 2", "RTX 1 (x)"} {
		r := &bench.Result{Suite: "core", Cases: []bench.Measurement{{Suite: "core", Case: "c", Unit: "s", Value: float64(i + 1)}}}
		r.Device.Name, r.Device.Driver, r.Host.Processor = name, "1.0", "Z80"
		path := filepath.Join(docs, "new.json")
		if err := bench.WriteFile(path, []*bench.Result{r}); err != nil {
			t.Fatal(err)
		}
		if err := run(docs, []string{path}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(docs, folder, "*"))
	if err != nil || len(files) != 2 || filepath.Base(files[0]) != "core-rtx-1-x-1-0-z80.json" {
		t.Errorf("%q, %v", files, err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	if err != nil || !bytes.Contains(page, []byte("| `c` | s | 3 | 2 | 1.5 |")) || !bytes.Contains(page, []byte("](benchmarks-core.svg)")) {
		t.Errorf("%v\n%s", err, page)
	}
}
