package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// choice is a configuration whose pipelines are compiled.
type choice struct {
	file string
	set  []string // keys that it overrides
	only string   // target; "": all
}

func (c choice) String() string { return strings.Join(append([]string{c.file}, c.set...), " ") }

// The kinds of learning and acting, each with networks of these sizes.
var (
	kinds = []string{
		"ppo-cartpole", "ppo-pendulum", "ppo-ant", "a2c-cartpole", "impala-cartpole", "dqn-cartpole", "sac-pendulum", "sac-cartpole", "td3-pendulum",
		"erl-pendulum", "cem-rl-pendulum", "cem-rl-sac-pendulum", "dvd-pendulum", "pga-me-pendulum", "pbt", "pbt-td3-pendulum", "openes-cartpole", "openes-pendulum",
	}
	sizes = []int{32, 64, 128, 256, 512}
)

// grid returns every kind with networks of two hidden layers of every size.
func grid(configs string) []choice {
	var all []choice
	for _, kind := range kinds {
		for _, n := range sizes {
			all = append(all, choice{file: filepath.Join(configs, kind+".toml"), set: []string{fmt.Sprintf("network.hidden=[%d, %d]", n, n)}})
		}
	}
	return all
}

// sample returns what make test compiles, and the table is about: each kind of learning with networks on both sides of the bounds, and a few others.
func sample(configs string) []choice {
	all := slices.DeleteFunc(grid(configs), func(c choice) bool {
		return !strings.Contains(c.set[0], "[64,") && !strings.Contains(c.set[0], "[256,") || strings.HasSuffix(c.file, "-ant.toml")
	})
	for _, name := range []string{
		"cma-es-bbob", "map-elites-cartpole", "nsga-ii-zdt", "openes-lowrank-cartpole", "openes-swimmer", "ppo-acrobot", "rainbow-cartpole",
		"dqn-rnn-tmaze", "minatar-breakout-dqn", "pong-image-ppo",
	} {
		all = append(all, choice{file: filepath.Join(configs, name+".toml")})
	}
	// Rainbow's outputs for a game that other programs play.
	all = append(all, choice{file: filepath.Join(configs, "atari-pong-dqn.toml"), set: []string{
		"dqn.atoms=51", "dqn.dueling=true", "dqn.min_value=-10", "dqn.max_value=10", "dqn.huber=0", "replay.prioritized=true", "replay.steps=3",
	}})
	// Worlds of several agents, of which lanes of Intel's GPUs once spilled two hundred registers.
	for _, name := range []string{"simple-spread-ippo", "slimevolley-self-play", "waterworld-multi-pgpe"} {
		all = append(all, choice{file: filepath.Join(configs, name+".toml"), only: "tgl/8"})
	}
	// A robot with a normalizer of many features, over which RADV ran out of memory; on one target, since it takes several seconds a rollout.
	return append(all, choice{file: filepath.Join(configs, "ppo-ant.toml"), only: "navi21/64"})
}

// shipped returns all configurations of a folder.
func shipped(configs string) ([]choice, error) {
	var all []choice
	for _, pattern := range []string{"*.toml", "*/*.toml"} {
		files, err := filepath.Glob(filepath.Join(configs, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			all = append(all, choice{file: file})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no configurations in %s", configs)
	}
	return all, nil
}

// pipeline is a pipeline that configurations choose.
type pipeline struct {
	vk.PipelineSource
	of  choice            // the first that chooses it
	env *envs.Environment // of that configuration; nil: a problem, or a kernel with its default constants
}

// String returns the kernel with the constants that differ from the defaults.
func (p pipeline) String() string {
	text := p.Shader.Name
	for i, c := range p.Shader.Spec {
		if p.Spec[i] != c.Default {
			text += fmt.Sprintf(" %s=%d", c.Name, p.Spec[i])
		}
	}
	return text
}

// chosen returns the distinct pipelines of configurations on a device, of the kernels that the filter takes, in the order of the choices.
func chosen(ctx context.Context, info vk.Info, all []choice, of filter) ([]pipeline, error) {
	var mu sync.Mutex
	var found []pipeline
	seen, digests := map[string]bool{}, map[*vk.Shader][sha256.Size]byte{} // shaders of the tree are the same for all configurations
	for _, c := range all {
		from := len(found)
		cfg, err := c.read()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		if !of.suits(cfg) {
			continue
		}
		take := func(s vk.PipelineSource) {
			if !of.takes(s.Shader.Name) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			digest, ok := digests[s.Shader]
			if !ok {
				digest = sha256.Sum256(s.Shader.SPIRV())
				digests[s.Shader] = digest
			}
			if key := fmt.Sprintf("%v %d %x", s.Spec, s.Subgroup, digest); !seen[key] {
				seen[key] = true
				found = append(found, pipeline{s, c, cfg.Env()})
			}
		}
		err = c.build(ctx, info, cfg, of, take)
		memory := new(vk.OutOfMemoryError)
		for capacity := 30_000; capacity >= 3_000 && errors.As(err, &memory); capacity /= 10 { // the kernels are the same
			small := choice{file: c.file, set: append(slices.Clone(c.set), fmt.Sprintf("replay.capacity=%d", capacity))}
			if cfg, err = small.read(); err == nil {
				err = small.build(ctx, info, cfg, of, take)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		slices.SortFunc(found[from:], func(a, b pipeline) int { return strings.Compare(a.String(), b.String()) })
	}
	return found, nil
}

// read reads the configuration.
func (c choice) read() (*evorl.Config, error) {
	var options []evorl.Option
	for _, set := range c.set {
		options = append(options, evorl.Set(set))
	}
	return evorl.Read(c.file, options...)
}

// build makes the configuration's workflow on a device that imitates another, and all its programs, unless the workflow takes no kernel of the filter's.
func (c choice) build(ctx context.Context, info vk.Info, cfg *evorl.Config, of filter, asked func(vk.PipelineSource)) (err error) {
	quickWeights(cfg.Sections())
	dev, err := vk.Open(vk.Imitate(info, asked), vk.CacheDir(""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	w, err := cfg.Build(ctx, engine.New(dev))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if !of.suitsWorkflow(cfg, w) {
		return nil
	}
	// Initial weights of large populations take the host seconds. The variants of a grid have the kernels of their file's Init.
	begin := w.Init
	if c.set != nil {
		begin = w.State().Zero
	}
	if err := begin(ctx); err != nil {
		return err
	}
	if err := w.Prepare(ctx, 2); err != nil {
		return err
	}
	_, err = w.Evaluate(ctx, 2)
	return err
}

// quickWeights changes settings to initial weights that the host draws quickly: orthogonal ones of large populations take half a minute.
func quickWeights(all config.Sections) {
	for _, s := range all {
		v := reflect.Indirect(reflect.ValueOf(s.Value))
		if v.Kind() != reflect.Struct {
			continue
		}
		if f := v.FieldByName("Initializer"); f.IsValid() && f.Type() == reflect.TypeFor[nn.Initializer]() {
			f.Set(reflect.ValueOf(nn.LecunUniform))
		}
	}
}
