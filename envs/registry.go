package envs

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/evorl/evorl/shaders"
)

// builtIn lists this package's environments and their files in shaders/envs.
func builtIn() []builtInSpec {
	return []builtInSpec{
		{cartPole(), "cartpole.glsl"},
		{pendulum(), "pendulum.glsl"},
		{acrobot(), "acrobot.glsl"},
		{mountainCar(), "mountaincar.glsl"},
		{mountainCarContinuous(), "mountaincar_continuous.glsl"},
		{swingUpEasy(), "swingup_easy.glsl"},
		{swingUpHard(), "swingup_hard.glsl"},
		{invertedPendulum(), "inverted_pendulum.glsl"},
		{invertedDoublePendulum(), "inverted_double_pendulum.glsl"},
		{reacher(), "reacher.glsl"},
		{swimmer(), "swimmer.glsl"},
		{hopper(), "hopper.glsl"},
		{halfCheetah(), "half_cheetah.glsl"},
		{walker2d(), "walker2d.glsl"},
		{ant(), "ant.glsl"},
		{humanoid(), "humanoid.glsl"},
	}
}

type builtInSpec struct {
	spec Spec
	file string
}

// Lookup returns a built-in environment. The error of an unknown name is an *UnknownError.
func Lookup(name string) (*Environment, error) { return new(Registry).Lookup(name) }

// Names lists the built-in environments, sorted.
func Names() []string { return new(Registry).Names() }

// Registry finds environments by name: the built-in ones and those registered with it. The zero Registry has the built-in
// ones. It is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	added map[string]*Environment
}

// Register adds an environment given as GLSL; the errors are those of New, and one for a name that is taken.
func (r *Registry) Register(spec Spec, glsl string) error {
	e, err := New(spec, glsl)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.names(), spec.Name) {
		return fmt.Errorf("envs: environment %q is registered already; want a name of its own", spec.Name)
	}
	if r.added == nil {
		r.added = map[string]*Environment{}
	}
	r.added[spec.Name] = e
	return nil
}

// Lookup returns the environment of a name. The error of an unknown name is an *UnknownError.
func (r *Registry) Lookup(name string) (*Environment, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.added[name]; ok {
		return e, nil
	}
	for _, b := range builtIn() {
		if b.spec.Name != name {
			continue
		}
		glsl, err := fs.ReadFile(shaders.Files(), "envs/"+b.file)
		if err != nil {
			return nil, fmt.Errorf("envs: environment %q: shaders/envs/%s is not embedded: %w", name, b.file, err)
		}
		return newEnvironment(b.spec, string(glsl), b.file)
	}
	return nil, &UnknownError{Name: name, Nearest: nearest(name, r.names()), Known: r.names()}
}

// Names lists all names, sorted.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names()
}

func (r *Registry) names() []string {
	var names []string
	for _, b := range builtIn() {
		names = append(names, b.spec.Name)
	}
	for name := range r.added {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// UnknownError is the error of a name that no environment has.
type UnknownError struct {
	Name    string
	Nearest string // the known name most like it; "" when none is like it
	Known   []string
}

func (e *UnknownError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("envs: there is no environment %q; did you mean %q?", e.Name, e.Nearest)
	}
	return fmt.Sprintf("envs: there is no environment %q; there are: %s", e.Name, strings.Join(e.Known, ", "))
}

// nearest returns the name at the smallest edit distance, letter case and version aside; "" when over half would have to change.
func nearest(name string, names []string) string {
	plain := func(s string) string {
		s = strings.ToLower(s)
		if i := strings.LastIndex(s, "-v"); i >= 0 {
			s = s[:i]
		}
		return s
	}
	best, at := "", 0
	for _, n := range names {
		if d := distance(plain(name), plain(n)); best == "" || d < at {
			best, at = n, d
		}
	}
	if 2*at > len(plain(name)) {
		return ""
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
