package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl"
)

// TestPages: all pages can be written; every workflow is described by one page, with its settings; and the packages have
// their reference.
func TestPages(t *testing.T) {
	folder := t.TempDir()
	if err := write("../..", folder); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "docs/algorithms/*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatal(pages, err)
	}
	all := ""
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	for _, w := range evorl.Workflows() {
		if n := strings.Count(all, "\n### "+w.Name+"\n"); n != 1 {
			t.Errorf("%d pages of docs/algorithms describe %s; want one marker that names it: <!-- settings: … -->", n, w.Name)
		}
	}
	for _, want := range []string{
		"| `learning_rate` | `0.00025` | Step size of the optimizer, per member. At least 0 and at most 1. *Per member.* |", "| `top level` |",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no row %q", want)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "reference", "evorl-rl.md"))
	if err != nil || !strings.Contains(string(text), "## type PPOConfig") || !strings.Contains(string(text), "### func PPOConfig.Validate") {
		t.Errorf("the reference of package rl: %v\n%.500s", err, text)
	}
	for _, name := range []string{"docs/pbt.svg", "configs/pbt.toml", "configs/index.md", "docs/algorithms/ppo-cartpole.svg"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Errorf("a page links to %s: %v", name, err)
		}
	}
}

func TestMarkers(t *testing.T) {
	if _, err := fill("<!-- settings: ppo nothing -->"); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Error(err)
	}
	if got, err := fill("a <!-- other --> b"); err != nil || got != "a <!-- other --> b" {
		t.Error(got, err)
	}
}
