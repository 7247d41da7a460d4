// Package shaders holds the GLSL sources of all kernels, laid out like the packages that use them, and their SPIR-V,
// both embedded. It composes sources (flattening includes, inserting an environment into a kernel) and compiles composed
// sources at run time if a compiler is installed. tools/shaders builds the SPIR-V of everything in the tree ahead of
// time.
//
// A kernel is a file NAME.comp and is named without its extension: "engine/gemm". An include is a .glsl file, named by its path
// from the root of the tree: #include "engine/rng.glsl". An environment is a file envs/NAME.glsl whose first line is
// "// environment: NAME". It replaces the line #include "ENVIRONMENT" of kernels that contain it.
package shaders

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/internal/spv"
)

//go:embed */*
var tree embed.FS

// ErrNotFound is wrapped by the errors for a kernel, include, environment or module that is not in the tree.
var ErrNotFound = errors.New("not found")

const environmentHeader = "// environment: "

// Files returns the embedded tree: kernels, includes and environments, and the compiled modules in spv/.
func Files() fs.FS { return tree }

// SPIRV returns the embedded module of a kernel, e.g. "engine/gemm" or, for a kernel that is compiled once per
// environment, "envs/rollout.CartPole-v1". The error wraps ErrNotFound if there is none.
func SPIRV(name string) ([]byte, error) {
	packed, err := tree.ReadFile("spv/" + name + PackedSuffix)
	if err != nil {
		return nil, fmt.Errorf("shaders: no SPIR-V of kernel %q is embedded (go run ./tools/shaders builds it): %w", name, ErrNotFound)
	}
	code, err := spv.Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("shaders: the embedded SPIR-V of kernel %q: %w", name, err)
	}
	return code, nil
}

// PackedSuffix is how the names of the modules' files end, which internal/spv packs.
const PackedSuffix = ".packed"

// Code returns a function that returns the module, or nil if there is none: for generated declarations, which copy no module before it is used.
func Code(name string) func() []byte {
	return func() []byte {
		code, err := SPIRV(name)
		if err != nil {
			return nil
		}
		return code
	}
}

// Environment is the GLSL source of an environment.
type Environment struct {
	Name string // e.g. "CartPole-v1"
	File string // shown in compiler messages, e.g. "shaders/envs/cartpole.glsl"
	Text string
	// Cooperative asks for the form in which the lanes of a subgroup compute an environment together: of an include
	// X.glsl, X_cooperative.glsl is taken where there is one.
	Cooperative bool
}

// cooperativeSuffix is how the names of modules in that form end.
const cooperativeSuffix = ".cooperative"

// ModuleName returns the environment's part of the names of its modules.
func (e *Environment) ModuleName() string {
	if e.Cooperative {
		return e.Name + cooperativeSuffix
	}
	return e.Name
}

// HasCooperative reports whether the environment and the kernel have the cooperative form.
func (e *Environment) HasCooperative(fsys fs.FS, kernel string) (bool, error) {
	file := kernel + ".comp"
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return false, fmt.Errorf("shaders: kernel %q (%s): %w", kernel, shown(file), ErrNotFound)
	}
	if !strings.Contains(string(text), "ENV_TOGETHER") {
		return false, nil
	}
	for _, line := range lines(e.Text) {
		if directive, rest := splitDirective(line); directive == "include" {
			name, err := strconv.Unquote(rest)
			if err == nil && strings.HasPrefix(name, modelIncludes) && cooperativeInclude(fsys, name) != name {
				return true, nil
			}
		}
	}
	return false, nil
}

// cooperativeInclude is the file that replaces an include in the cooperative form.
func cooperativeInclude(fsys fs.FS, name string) string {
	other := strings.TrimSuffix(name, ".glsl") + "_cooperative.glsl"
	if _, err := fs.Stat(fsys, other); err != nil {
		return name
	}
	return other
}

// Environments lists the environments of a tree, sorted by name.
func Environments(fsys fs.FS) ([]Environment, error) {
	files, err := fs.Glob(fsys, "envs/*.glsl")
	if err != nil {
		return nil, fmt.Errorf("shaders: list environments: %w", err)
	}
	var found []Environment
	for _, file := range files {
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("shaders: read %s: %w", shown(file), err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		name, ok := strings.CutPrefix(strings.TrimRight(first, " \r"), environmentHeader)
		if !ok {
			continue
		}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("%s:1: %w", shown(file), err)
		}
		found = append(found, Environment{Name: name, File: shown(file), Text: string(text)})
	}
	slices.SortFunc(found, func(a, b Environment) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(found); i++ {
		if found[i].Name == found[i-1].Name {
			return nil, fmt.Errorf("%s:1: environment %q is declared in %s too", found[i].File, found[i].Name, found[i-1].File)
		}
	}
	return found, nil
}

// checkName checks that an environment's name can be part of a file name on every system.
func checkName(name string) error {
	for _, c := range name {
		if !strings.ContainsRune("-_.+", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Errorf("environment name %q holds %q; letters, digits and - _ . + are allowed", name, c)
		}
	}
	if name == "" || strings.HasPrefix(name, ".") {
		return fmt.Errorf("environment name %q is empty or begins with a dot", name)
	}
	return nil
}

// Kernels lists the kernels of a tree, sorted, e.g. "engine/gemm".
func Kernels(fsys fs.FS) ([]string, error) {
	var kernels []string
	err := fs.WalkDir(fsys, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file == "spv":
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(file) == ".comp":
			kernels = append(kernels, strings.TrimSuffix(file, ".comp"))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("shaders: list kernels: %w", err)
	}
	slices.Sort(kernels)
	return kernels, nil
}

// shown returns the path of a file in messages: its path in the repository.
func shown(file string) string { return "shaders/" + file }

// lines splits a source. The last line need not end in a newline.
func lines(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return strings.Split(text, "\n")
}
