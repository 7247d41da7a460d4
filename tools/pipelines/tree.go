package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
	"github.com/evorl/evorl/vk/spirv"
)

// runs reports whether a GPU can run a kernel, and programs that run on it may choose it.
func runs(kernel string, info vk.Info) bool {
	switch kernel {
	case "engine/nn/gemm_float16":
		return len(info.MatrixProducts) > 0
	case "engine/nn/convolution_pool", "engine/nn/gemm_panel", "engine/nn/gemm_panel_low_rank", "rl/internal/lane/policy_update",
		"rl/internal/lane/deterministic_update", "rl/internal/lane/dqn_update", "rl/internal/lane/soft_update": // for software drivers
		return false
	}
	return true
}

// unchosen returns the kernels of the tree that the filter takes and no configuration chooses on a device, with their default constants and subgroups of
// the device's size.
func unchosen(chosen []pipeline, info vk.Info, of filter) ([]pipeline, error) {
	kernels, err := shaders.Kernels(shaders.Files())
	if err != nil {
		return nil, err
	}
	environments, err := shaders.Environments(shaders.Files())
	if err != nil {
		return nil, err
	}
	var all []pipeline
	add := func(kernel string, environment *shaders.Environment) error {
		if !of.takes(moduleName(kernel, environment)) {
			return nil
		}
		s, err := treeShader(kernel, environment)
		if err == nil && !slices.ContainsFunc(chosen, func(p pipeline) bool { return p.Shader.Name == s.Name }) {
			all = append(all, byDefault(s, info.SubgroupSize))
		}
		return err
	}
	for _, kernel := range kernels {
		takes, err := shaders.TakesEnvironment(shaders.Files(), kernel)
		if err != nil {
			return nil, err
		}
		if !takes && runs(kernel, info) {
			err = add(kernel, nil)
		}
		for i := 0; takes && i < len(environments) && err == nil; i++ {
			e := environments[i]
			var suits bool
			if suits, err = shaders.Takes(shaders.Files(), kernel, &e); !suits {
				continue
			}
			var both bool
			if both, err = e.HasCooperative(shaders.Files(), kernel); err == nil && !(both && info.Vendor == "Intel") { // there lanes are only on request
				err = add(kernel, &e)
			}
			if e.Cooperative = both; err == nil && both {
				err = add(kernel, &e)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// byDefault returns a kernel with its default constants, but subgroups of the given size where it requires one.
func byDefault(s *vk.Shader, width uint32) pipeline {
	p := pipeline{PipelineSource: vk.PipelineSource{Shader: s}, of: choice{file: "no configuration"}}
	for _, c := range s.Spec {
		value := c.Default
		switch {
		case c.Name == "LANES":
			value, p.Subgroup = width, width
		case int32(c.ID) == s.LocalSizeSpec[0] && value == 8: // a subgroup of the default size
			value = width
		}
		p.Spec = append(p.Spec, value)
	}
	return p
}

var (
	constantLine = regexp.MustCompile(`layout\s*\(\s*constant_id\s*=\s*(\w+)\s*\)\s*const\s+\w+\s+(\w+)`)
	defineLine   = regexp.MustCompile(`(?m)^#define\s+(\w+)\s+(\d+)$`)
)

// constantNames returns the names of a composed source's specialization constants, by their id. An id is a number or a macro, of
// which the first definition counts: an included file may have another one for sources that do not define it.
func constantNames(source string) map[uint32]string {
	macros := map[string]string{}
	for _, match := range defineLine.FindAllStringSubmatch(source, -1) {
		if _, defined := macros[match[1]]; !defined {
			macros[match[1]] = match[2]
		}
	}
	names := map[uint32]string{}
	for _, match := range constantLine.FindAllStringSubmatch(source, -1) {
		number, isMacro := macros[match[1]]
		if !isMacro {
			number = match[1]
		}
		if id, err := strconv.ParseUint(number, 10, 32); err == nil {
			names[uint32(id)] = match[2]
		}
	}
	return names
}

// moduleName returns the name of a kernel's module.
func moduleName(kernel string, environment *shaders.Environment) string {
	if environment == nil {
		return kernel
	}
	return kernel + "." + environment.ModuleName()
}

// treeShader reads a kernel's embedded module. The optimiser removed the names, so it reads the names of constants from the source.
func treeShader(kernel string, environment *shaders.Environment) (*vk.Shader, error) {
	name := moduleName(kernel, environment)
	code, err := shaders.SPIRV(name)
	if err != nil {
		return nil, err
	}
	m, err := spirv.Reflect(code)
	if err != nil {
		return nil, fmt.Errorf("shaders/spv/%s: %w", name, err)
	}
	source, err := shaders.ComposeFrom(shaders.Files(), kernel, environment)
	if err != nil {
		return nil, err
	}
	constants := constantNames(source)
	s := &vk.Shader{Name: name, SPIRV: vk.SPIRV(code), PushBytes: m.Push.Size, LocalSize: m.LocalSize, LocalSizeSpec: m.LocalSizeSpec}
	for _, b := range m.Bindings {
		s.Bindings = append(s.Bindings, vk.Binding{Name: b.Name, Index: b.Index, Access: access(b.Access), Texel: texel(b.Texel)})
	}
	for _, c := range m.Spec {
		name := constants[c.ID]
		if name == "" {
			name = "LOCAL_SIZE_X" // declared by local_size_x_id alone
		}
		s.Spec = append(s.Spec, vk.SpecConstant{Name: name, ID: c.ID, Default: c.Default})
	}
	return s, nil
}

func access(a spirv.Access) vk.Access {
	switch a {
	case spirv.Read:
		return vk.Read
	case spirv.Write:
		return vk.Write
	}
	return vk.ReadWrite
}

// texel returns the format with the given name.
func texel(name string) vk.Texel {
	for t := vk.TexelFloat; t <= vk.TexelUint4; t++ {
		if t.String() == name {
			return t
		}
	}
	return vk.NoTexel
}
