package main

import (
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/cmd/catalog"
	"github.com/evorl/evorl/envs"
)

// The README names every command, workflow, environment and problem, and its Go is that of an example, which is tested.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	var names []string
	for _, c := range newRoot().Commands() {
		names = append(names, "`evorl "+c.Name())
	}
	for _, w := range catalog.Workflows() {
		names = append(names, "`"+w.Name+"`")
	}
	for _, e := range envs.Names() {
		names = append(names, "`"+e+"`")
	}
	for _, p := range catalog.Problems() {
		names = append(names, "`"+p.Name+"`")
	}
	for _, name := range names {
		if !strings.Contains(readme, name) {
			t.Errorf("README.md does not mention %s", name)
		}
	}
	_, code, ok := strings.Cut(readme, "```go\n")
	code, _, closed := strings.Cut(code, "```")
	example, err := os.ReadFile("../../rl/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !ok || !closed || !strings.Contains(string(example), code) {
		t.Errorf("README.md's Go is not that of rl/example_test.go:\n%s", code)
	}
}
