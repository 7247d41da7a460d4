package envs

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/shaders"
)

// builtIn lists the built-in environments and their files in shaders/envs.
func builtIn() []builtInSpec {
	return []builtInSpec{
		{cartPole(), "cartpole.glsl"},
		{pendulum(), "pendulum.glsl"},
		{cartPoleMasked(), "cartpole_masked.glsl"},
		{pendulumMasked(), "pendulum_masked.glsl"},
		{tMaze(), "tmaze.glsl"},
		{faultMaze(), "fault_maze.glsl"},
		{repeatPrevious(), "repeat_previous.glsl"},
		{acrobot(), "acrobot.glsl"},
		{mountainCar(), "mountaincar.glsl"},
		{mountainCarContinuous(), "mountaincar_continuous.glsl"},
		{swingUpEasy(), "swingup_easy.glsl"},
		{swingUpHard(), "swingup_hard.glsl"},
		{invertedPendulum(), "inverted_pendulum.glsl"},
		{invertedDoublePendulum(), "inverted_double_pendulum.glsl"},
		{reacher(), "reacher.glsl"},
		{pusher(), "pusher.glsl"},
		{swimmer(), "swimmer.glsl"},
		{hopper(), "hopper.glsl"},
		{halfCheetah(), "half_cheetah.glsl"},
		{walker2d(), "walker2d.glsl"},
		{ant(), "ant.glsl"},
		{humanoid(), "humanoid.glsl"},
		{humanoidStandup(), "humanoid_standup.glsl"},
		{minAtarBreakout(), "minatar_breakout.glsl"},
		{minAtarFreeway(), "minatar_freeway.glsl"},
		{minAtarSpaceInvaders(), "minatar_space_invaders.glsl"},
		{minAtarAsterix(), "minatar_asterix.glsl"},
		{minAtarSeaquest(), "minatar_seaquest.glsl"},
		{waterWorld(), "waterworld_single.glsl"},
		{waterWorldMulti(), "waterworld_multi.glsl"},
		{pong(), "pong_single.glsl"},
		{pongImage(), "pong_image.glsl"},
		{pongDuel(), "pong_duel.glsl"},
		{pufferPong(), "puffer_pong.glsl"},
		{slimeVolley(), "slimevolley_single.glsl"},
		{slimeVolleyDuel(), "slimevolley_duel.glsl"},
		{kuhnPoker(), "kuhn_poker.glsl"},
		{leducPoker(), "leduc_poker.glsl"},
		{overcooked(), "overcooked.glsl"},
		{simpleSpread(), "simple_spread.glsl"},
		{simpleTag(), "simple_tag.glsl"},
		{simpleSpeakerListener(), "simple_speaker_listener.glsl"},
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

// Registry finds environments by name: the built-in ones and those registered with it. The zero Registry has only the
// built-in ones. It is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	added map[string]*Environment
}

// Register adds an environment given as GLSL. Errors: as New, and a name that is already registered.
func (r *Registry) Register(spec Spec, glsl string) error {
	e, err := New(spec, glsl)
	if err != nil {
		return err
	}
	return r.Add(e)
}

// Add adds an environment. It is an error if its name is already registered.
func (r *Registry) Add(e *Environment) error {
	if e == nil {
		return fmt.Errorf("envs: the environment is nil; want what New or FromGLSL returns")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.names(), e.Name) {
		return fmt.Errorf("envs: environment %q is registered already; want another name", e.Name)
	}
	if r.added == nil {
		r.added = map[string]*Environment{}
	}
	r.added[e.Name] = e
	return nil
}

// Lookup returns the environment with the given name. The error of an unknown name is an *UnknownError.
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
	return nil, &UnknownError{Name: name, Nearest: config.Nearest(name, r.names()), Known: r.names()}
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

// UnknownError reports a name that no environment has.
type UnknownError struct {
	Name    string
	Nearest string // the most similar known name; "" if none is similar
	Known   []string
}

func (e *UnknownError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("envs: there is no environment %q; did you mean %q?", e.Name, e.Nearest)
	}
	return fmt.Sprintf("envs: there is no environment %q; there are: %s", e.Name, strings.Join(e.Known, ", "))
}
