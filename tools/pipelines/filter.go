package main

import (
	"path"
	"reflect"
	"strings"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/shaders"
)

// filter selects kernels by a part of their names, and tells configurations that cannot use any of them before their programs are recorded.
type filter struct {
	part    string          // "": all kernels
	kernels map[string]bool // the tree's, whether each is compiled for every environment; nil: no configuration is left out
}

func newFilter(part string) (filter, error) {
	if part == "" {
		return filter{}, nil
	}
	all, err := shaders.Kernels(shaders.Files())
	f := filter{part, map[string]bool{}}
	for _, kernel := range all {
		if err == nil {
			f.kernels[kernel], err = shaders.TakesEnvironment(shaders.Files(), kernel)
		}
	}
	return f, err
}

// takes reports whether the filter selects a kernel.
func (f filter) takes(name string) bool { return strings.Contains(name, f.part) }

// suits reports whether a configuration may use a selected kernel, as far as its environment tells.
func (f filter) suits(cfg *evorl.Config) bool { return f.some(cfg, func(string) bool { return true }) }

// suitsWorkflow is suits that also knows the workflow: those of ec take no kernels of rl, and the other way round (docs/architecture.md).
func (f filter) suitsWorkflow(cfg *evorl.Config, w engine.Workflow) bool {
	of := map[string]string{"ec": "rl/", "rl": "ec/"}[path.Base(reflect.Indirect(reflect.ValueOf(w)).Type().PkgPath())]
	return f.some(cfg, func(kernel string) bool {
		return of == "" || !strings.HasPrefix(kernel, of) && !strings.HasPrefix(kernel, "hybrid/")
	})
}

// some reports whether the filter selects one of the kernels for which may holds, or for all that it does not know them.
func (f filter) some(cfg *evorl.Config, may func(string) bool) bool {
	if f.kernels == nil {
		return true
	}
	for kernel, ofEnvironment := range f.kernels {
		name := kernel
		if ofEnvironment {
			env := cfg.Env()
			if env == nil {
				continue
			}
			name += "." + env.Name + ".cooperative" // longer than the name of the other form
		}
		if may(kernel) && f.takes(name) {
			return true
		}
	}
	return false
}
