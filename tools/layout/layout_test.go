package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/evorl/evorl"

// imports lists, for every top-level folder with Go in it and for the root, which packages it may import besides its
// own.
var imports = map[string][]string{
	"internal": {},
	vktest:     {"vk"},
	"shaders":  {"internal"},
	"vk":       {},
	"engine":   {"vk", "shaders", "internal", vktest},
	"envs":     {"engine", "vk", "shaders", "internal", vktest},
	"ec":       {"envs", "engine", "vk", "shaders", "internal", vktest},
	"rl":       {"envs", "engine", "vk", "shaders", "internal", vktest},
	"hybrid":   {"ec", "rl", "envs", "engine", "vk", "shaders", "internal", vktest},
	catalog:    {"hybrid", "ec", "rl", "envs", "engine", "vk", "shaders", "internal", vktest},
	records:    {"hybrid", "ec", "engine", "internal"},
	replicas:   {"engine", "vk"},
	machines:   {"engine", "vk", "internal"},
	mirror:     {"engine", "internal"},
	scratch:    {"engine", "internal"},
	sweep:      {records, catalog, "hybrid", "engine", "internal"},
	".":        {sweep, scratch, machines, mirror, replicas, records, catalog, "hybrid", "ec", "rl", "envs", "engine", "vk", "shaders", "internal", vktest},
	"cmd":      {".", "hybrid", "ec", "rl", "envs", "engine", "vk", "shaders", "internal", vktest},
	"docs":     {"cmd", ".", "ec", "envs", "engine"}, // examples
	"tools":    {machines, "cmd", ".", "hybrid", "ec", "rl", "envs", "engine", "vk", "shaders", "internal", vktest},
}

// Folders in internal that stand above the others: seven serve package evorl alone, and vktest serves tests.
const (
	catalog  = "internal/catalog"
	machines = "internal/machines"
	mirror   = "internal/mirror"
	records  = "internal/records"
	replicas = "internal/replicas"
	scratch  = "internal/scratch"
	sweep    = "internal/sweep"
	vktest   = "internal/vktest"
)

// floor lists the folders of engine that know no device: what a run leaves behind, and its configuration.
var floor = []string{"engine/checkpoint", "engine/cluster", "engine/config", "engine/metrics", "engine/onnx", "engine/rundir", "engine/scores"}

// folders lists the other top-level folders.
var folders = []string{"configs"}

// ignored lists folders outside version control.
var ignored = []string{"bin", "runs", "release", "site"}

// files calls f for every file of the repository, with its path from the root.
func files(t *testing.T, f func(name string, read func() []byte)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(ignored, name) || strings.HasPrefix(name, ".git") && name != ".github"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || name == ".git":
			return nil
		}
		f(name, func() []byte {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			return data
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsRunDownwards(t *testing.T) {
	checked := 0
	files(t, func(name string, read func() []byte) {
		if path.Ext(name) != ".go" || path.Base(name) == "example_test.go" { // an example may use any package above its own
			return
		}
		checked++
		top := folder(name)
		allowed, known := imports[top]
		if !known {
			t.Errorf("%s: Go code is in %v only", name, topFolders())
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, read(), parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Error(err)
				continue
			}
			to, ours := strings.CutPrefix(imported+"/", module+"/")
			to = folder(to)
			if ours && to != top && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s; %s may import %v", name, imported, top, allowed)
			}
			if ours && slices.Contains(floor, path.Dir(name)) && (to == "vk" || imported == module+"/engine") {
				t.Errorf("%s imports %s; %v know no device", name, imported, floor)
			}
		}
	})
	if checked < 50 {
		t.Errorf("only %d Go files found", checked)
	}
}

// folder returns the top-level folder of a path, "." for the root.
func folder(name string) string {
	for _, of := range []string{catalog, machines, mirror, records, replicas, scratch, sweep, vktest} {
		if strings.HasPrefix(name, of+"/") {
			return of
		}
	}
	top, _, within := strings.Cut(name, "/")
	if !within {
		return "."
	}
	return top
}

func topFolders() []string {
	var all []string
	for name := range imports {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestTopLevelFolders(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && !strings.HasPrefix(name, ".") && imports[name] == nil && !slices.Contains(folders, name) && !slices.Contains(ignored, name) {
			t.Errorf("folder %s: the top-level folders are %v and %v", name, topFolders(), folders)
		}
	}
}

// machinePath matches paths in folders that hold one person's or one machine's files.
var machinePath = regexp.MustCompile(`(^|[^\w.$}/-])/(home|root|Users|work|mnt|media)/[\w.-]+`)

func TestNoMachinePaths(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files(t, func(name string, read func() []byte) {
		data := read()
		if !utf8.Valid(data) {
			return
		}
		for i, line := range strings.Split(string(data), "\n") {
			if found := machinePath.FindString(line); found != "" || len(root) > 5 && strings.Contains(line, root) {
				t.Errorf("%s:%d: a path of one machine: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	})
	at := func(parts ...string) string { return strings.Join(parts, "/") } // in parts, so that this file itself passes
	for text, want := range map[string]bool{
		at("see ", "home", "jane", "evorl"): true, at(`"`, "root", `x"`): true, at("(", "work", "main)"): true, at("", "usr", "share", "vulkan"): false,
		at("net", "work", "x"): false, at("$ROOT", "work", "x"): false, at("..", "work", "x"): false,
	} {
		if got := machinePath.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// maxColumns is the longest line, in characters; a tab counts as one.
const maxColumns = 160

func TestLines(t *testing.T) {
	checked := 0
	files(t, func(name string, read func() []byte) {
		generated := strings.HasSuffix(name, "_gen.go") || strings.HasPrefix(name, "shaders/envs/models/")
		if !slices.Contains([]string{".go", ".comp", ".glsl"}, path.Ext(name)) || generated {
			return
		}
		checked++
		for i, line := range strings.Split(string(read()), "\n") {
			if n := utf8.RuneCountInString(line); n > maxColumns {
				t.Errorf("%s:%d: %d characters; want at most %d", name, i+1, n, maxColumns)
			}
		}
	})
	if checked < 100 {
		t.Errorf("only %d hand-written source files found", checked)
	}
}
