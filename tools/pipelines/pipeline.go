package main

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
	"github.com/evorl/evorl/vk/spirv"
)

// pipeline is a pipeline to compile.
type pipeline struct {
	vk.PipelineSource
	hot bool
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

// set sets a constant. Kernels without the constant are not changed.
func (p *pipeline) set(name string, value uint32) {
	for i, c := range p.Shader.Spec {
		if c.Name == name {
			p.Spec[i] = value
		}
	}
}

const (
	lanesConstant = "LANES" // the subgroup size, which the pipeline then requires
	gpuWorkgroup  = 256     // invocations on GPUs of kernels that use engine.Recorder.Workgroup
)

// treePipelines returns every kernel of the tree with its default constants, and the hot kernels in the shapes for networks with two
// hidden layers of 64.
func treePipelines() ([]pipeline, error) {
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
		s, err := treeShader(kernel, environment)
		if err != nil {
			return err
		}
		base := pipeline{PipelineSource: vk.PipelineSource{Shader: s}}
		for _, c := range s.Spec {
			base.Spec = append(base.Spec, c.Default)
		}
		all = append(all, base)
		shapes, err := hotShapes(kernel, s)
		all = append(all, shapes...)
		return err
	}
	for _, kernel := range kernels {
		takes, err := shaders.TakesEnvironment(shaders.Files(), kernel)
		if err != nil {
			return nil, err
		}
		if !takes {
			err = add(kernel, nil)
		}
		for i := 0; takes && i < len(environments) && err == nil; i++ {
			e := environments[i]
			if err = add(kernel, &e); err != nil {
				break
			}
			if e.Cooperative, err = e.HasCooperative(shaders.Files(), kernel); err == nil && e.Cooperative {
				err = add(kernel, &e)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for kernel := range hot {
		if !slices.Contains(kernels, kernel) {
			return nil, fmt.Errorf("hot kernel %q is not in shaders/; rename it in tools/pipelines/hot.go too", kernel)
		}
	}
	return all, nil
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

// treeShader reads a kernel's embedded module. The optimiser removed the names, so it reads the names of constants from the source.
func treeShader(kernel string, environment *shaders.Environment) (*vk.Shader, error) {
	name := kernel
	if environment != nil {
		name += "." + environment.ModuleName()
	}
	code, err := shaders.SPIRV(name)
	if err != nil {
		return nil, err
	}
	m, err := spirv.Reflect(code)
	if err != nil {
		return nil, fmt.Errorf("shaders/spv/%s.spv: %w", name, err)
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

// loggedPipeline returns a pipeline that a program compiled. It is hot if one of the tree with the same network is.
func loggedPipeline(source vk.PipelineSource) pipeline {
	p := pipeline{PipelineSource: source}
	p.hot = isHot(p)
	return p
}

// pipelinesOn returns each distinct pipeline as compiled for a target.
func pipelinesOn(all []pipeline, t target, kernel string) []pipeline {
	var on []pipeline
	seen := map[string]int{}
	for _, p := range all {
		if !strings.Contains(p.Shader.Name, kernel) {
			continue
		}
		p = p.on(t)
		key := fmt.Sprintf("%s %v %d %x", p.Shader.Name, p.Spec, p.Subgroup, sha256.Sum256(p.Shader.SPIRV()))
		if i, ok := seen[key]; ok {
			on[i].hot = on[i].hot || p.hot
			continue
		}
		seen[key] = len(on)
		on = append(on, p)
	}
	return on
}

// on returns the pipeline as programs would request it on a target: with the constants that depend on the device changed.
func (p pipeline) on(t target) pipeline {
	p.Spec = slices.Clone(p.Spec)
	lanes := uint32(0)
	for i, c := range p.Shader.Spec {
		switch {
		case c.Name == lanesConstant:
			lanes = p.Spec[i]
			p.Spec[i], p.Subgroup = t.width, t.width
		case c.Name == vk.TexelLoads:
			p.Spec[i] = 0 // vk chooses
		}
	}
	if p.Subgroup != 0 {
		p.Subgroup = t.width
	}
	for i, c := range p.Shader.Spec {
		switch {
		case int32(c.ID) != p.Shader.LocalSizeSpec[0] || c.Name == lanesConstant:
		case lanes != 0 && p.Spec[i]%lanes == 0: // a multiple of the subgroup size
			p.Spec[i] = p.Spec[i] / lanes * t.width
		case p.DeviceSubgroup != 0 && p.Spec[i] == p.DeviceSubgroup:
			p.Spec[i] = gpuWorkgroup
		}
	}
	return p
}
