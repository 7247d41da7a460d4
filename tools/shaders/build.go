package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/evorl/evorl/internal/diskcache"
	"github.com/evorl/evorl/internal/spv"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk/spirv"
)

// builder builds the shaders of one repository.
type builder struct {
	root  string
	cache diskcache.Cache
	// agreed has existing packed modules, by the digest of their source, that need not be made again.
	agreed map[string][]byte
}

// variant is one module: a kernel, or a kernel combined with an environment.
type variant struct {
	kernel      string // "envs/rollout"
	environment string // "CartPole-v1", "Ant-v5.cooperative", or ""
	source      string // composed
	packed      []byte // optimised and packed, as shipped
	module      *spirv.Module
}

// name returns the name of the module, its files and its Vulkan shader.
func (v *variant) name() string {
	if v.environment == "" {
		return v.kernel
	}
	return v.kernel + "." + v.environment
}

func (b *builder) tree() fs.FS { return os.DirFS(filepath.Join(b.root, "shaders")) }

// variants composes all kernels. Kernels that take an environment are composed with each environment.
func (b *builder) variants() ([]*variant, error) {
	tree := b.tree()
	kernels, err := shaders.Kernels(tree)
	if err != nil {
		return nil, err
	}
	environments, err := shaders.Environments(tree)
	if err != nil {
		return nil, err
	}
	var all []*variant
	var problems []error
	for _, kernel := range kernels {
		takes, err := shaders.TakesEnvironment(tree, kernel)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		with := []*shaders.Environment{nil}
		if takes {
			with = with[:0]
			for i := range environments {
				if takes, err = shaders.Takes(tree, kernel, &environments[i]); err != nil {
					problems = append(problems, err)
				}
				if !takes {
					continue
				}
				with = append(with, &environments[i])
				cooperative, err := environments[i].HasCooperative(tree, kernel)
				if err != nil {
					problems = append(problems, err)
				}
				if cooperative {
					together := environments[i]
					together.Cooperative = true
					with = append(with, &together)
				}
			}
			if len(with) == 0 {
				problems = append(problems, fmt.Errorf("shaders/%s.comp: the kernel takes an environment, but shaders/envs has none for it", kernel))
			}
		}
		for _, environment := range with {
			v := &variant{kernel: kernel}
			if environment != nil {
				v.environment = environment.ModuleName()
			}
			if v.source, err = shaders.ComposeFrom(tree, kernel, environment); err != nil {
				problems = append(problems, err)
				continue
			}
			all = append(all, v)
		}
	}
	return all, errors.Join(problems...)
}

// compile sets code and module of all variants, on all processors. It reports every variant that failed.
func (b *builder) compile(ctx context.Context, glslc compiler, all []*variant) error {
	problems := make([]error, len(all))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				problems[i] = b.compileOne(ctx, glslc, all[i])
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(problems...)
}

func (b *builder) compileOne(ctx context.Context, glslc compiler, v *variant) error {
	named, err := b.module(ctx, glslc, v, "-O0")
	if err != nil {
		return err
	}
	if v.module, err = spirv.Reflect(named); err != nil {
		return fmt.Errorf("shaders/%s.comp: %w", v.kernel, err)
	}
	if packed, ok := b.agreed[digest([]byte(v.source))]; ok {
		v.packed = packed
		return nil
	}
	optimized, err := b.module(ctx, glslc, v, "-O")
	if err != nil {
		return err
	}
	if optimized, err = cooperativeMatrices(optimized); err == nil {
		v.packed, err = spv.Pack(optimized)
	}
	if err != nil {
		return fmt.Errorf("shaders/%s.comp: module %s: %w", v.kernel, v.name(), err)
	}
	return nil
}

// module returns the validated SPIR-V of a variant, from the cache or the compiler.
func (b *builder) module(ctx context.Context, glslc compiler, v *variant, flag string) ([]byte, error) {
	key := diskcache.Key(glslc.version, flag, v.source)
	if code, ok := b.cache.Get(key); ok {
		return code, nil
	}
	code, err := shaders.Glslc(ctx, glslc.path, v.source, flag)
	var refused *shaders.CompileError
	if errors.As(err, &refused) {
		// The compiler's lines come first and unchanged, so that editors find file and line.
		return nil, fmt.Errorf("%s\n\tin module %s", refused.Messages, v.name())
	}
	if err != nil {
		return nil, fmt.Errorf("shaders/%s.comp: %w", v.kernel, err)
	}
	if err := glslc.validate(ctx, code); err != nil {
		return nil, fmt.Errorf("shaders/%s.comp: module %s (%s): %w", v.kernel, v.name(), flag, err)
	}
	b.cache.Put(key, code)
	return code, nil
}
