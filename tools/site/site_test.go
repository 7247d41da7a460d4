package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages: all pages can be written with what they link to, and the packages have their reference.
func TestPages(t *testing.T) {
	folder := t.TempDir()
	if err := write("../..", folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "reference", "evorl-rl.md"))
	if err != nil || !strings.Contains(string(text), "## type PPOConfig") || !strings.Contains(string(text), "### func PPOConfig.Check") {
		t.Errorf("the reference of package rl: %v\n%.500s", err, text)
	}
	for _, name := range []string{"docs/pbt.svg", "configs/pbt.toml", "configs/index.md", "docs/algorithms/ppo.svg", "docs/algorithms/ppo.md"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Errorf("a page links to %s: %v", name, err)
		}
	}
}
