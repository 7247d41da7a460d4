package main

import (
	"fmt"
	"io"
	"math"

	"github.com/evorl/evorl/vk/spirv"
)

// render writes a kernel's shader, struct and call method.
func (k *kernel) render(w io.Writer) {
	shader := k.goName("Shader")
	if k.environments() {
		fmt.Fprintf(w, "\n// %s maps the name of an environment to shaders/%s.comp with that environment.\n", shader, k.path())
		fmt.Fprintf(w, "var %s = vk.Variants(shaders.Code, vk.Shader{\nName: %q,\n", shader, k.path())
		k.renderInterface(w)
		fmt.Fprintf(w, "},\n")
		for _, v := range k.variants {
			fmt.Fprintf(w, "%q,\n", v.environment)
		}
		fmt.Fprintf(w, ")\n")
	} else {
		fmt.Fprintf(w, "\nvar %s = &vk.Shader{\nName: %q,\nSPIRV: shaders.Code(%q),\n", shader, k.path(), k.path())
		k.renderInterface(w)
		fmt.Fprintf(w, "}\n")
	}
	fmt.Fprintf(w, "\n// %s is shaders/%s.comp.\ntype %s struct {\n", k.goName("Kernel"), k.path(), k.goName("Kernel"))
	for i, fields := range [][]field{k.ranges, k.push, k.spec} {
		if i > 0 && len(fields) > 0 {
			fmt.Fprintln(w)
		}
		for _, f := range fields {
			if f.has != "" {
				continue
			}
			fmt.Fprintf(w, "%s %s", f.name, f.typ)
			if f.comment != "" {
				fmt.Fprintf(w, " // %s", f.comment)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintf(w, "}\n")
	if k.environments() {
		fmt.Fprintf(w, "\n// call dispatches x × y × z workgroups of shader, one of %s or made from one by vk.Shader.With.\n", shader)
		fmt.Fprintf(w, "func (k %s) call(shader *vk.Shader, x, y, z uint32) vk.Call { return vk.Pack(shader, &k, x, y, z) }\n", k.goName("Kernel"))
		return
	}
	fmt.Fprintf(w, "\n// call dispatches x × y × z workgroups.\n")
	fmt.Fprintf(w, "func (k %s) call(x, y, z uint32) vk.Call { return vk.Pack(%s, &k, x, y, z) }\n", k.goName("Kernel"), shader)
}

// renderInterface writes what all variants of the kernel's shader share.
func (k *kernel) renderInterface(w io.Writer) {
	if len(k.module.Bindings) > 0 {
		fmt.Fprintf(w, "Bindings: []vk.Binding{\n")
		for _, b := range k.bindings {
			access := map[spirv.Access]string{spirv.Read: "vk.Read", spirv.Write: "vk.Write", spirv.ReadWrite: "vk.ReadWrite"}[b.Access]
			texel := map[string]string{"r32f": "Float", "rgba32f": "Float4", "r32ui": "Uint", "rgba32ui": "Uint4"}[b.Texel]
			if texel != "" {
				texel = ", Texel: vk.Texel" + texel
			}
			optional := ""
			if b.optional {
				optional = ", Optional: true"
			}
			view := ""
			if b.viewed != "" {
				view = fmt.Sprintf(", View: %q", b.viewed)
			}
			fmt.Fprintf(w, "{Name: %q, Index: %d, Access: %s%s%s%s},\n", b.Name, b.Index, access, texel, optional, view)
		}
		fmt.Fprintf(w, "},\n")
	}
	if k.module.Push.Size > 0 {
		fmt.Fprintf(w, "PushBytes: %d,\n", k.module.Push.Size)
	}
	if len(k.module.Spec) > 0 {
		fmt.Fprintf(w, "Spec: []vk.SpecConstant{\n")
		for i, s := range k.module.Spec {
			has := ""
			if of := k.spec[i].has; of != "" {
				has = fmt.Sprintf(", Has: %q", of)
			}
			fmt.Fprintf(w, "{Name: %q, ID: %d, Default: %s%s},\n", s.Name, s.ID, specBits(s), has)
		}
		fmt.Fprintf(w, "},\n")
	}
	size, spec := k.module.LocalSize, k.module.LocalSizeSpec
	fmt.Fprintf(w, "LocalSize: [3]uint32{%d, %d, %d},\nLocalSizeSpec: [3]int32{%d, %d, %d},\n", size[0], size[1], size[2], spec[0], spec[1], spec[2])
}

// specBits formats the bits of a default in Go.
func specBits(s spirv.SpecConstant) string {
	if s.Type == spirv.Uint || s.Type == spirv.Bool {
		return fmt.Sprint(s.Default)
	}
	return fmt.Sprintf("%#x", s.Default)
}

// specDefault formats a default for readers.
func specDefault(s spirv.SpecConstant) string {
	switch s.Type {
	case spirv.Float:
		return fmt.Sprint(math.Float32frombits(s.Default))
	case spirv.Int:
		return fmt.Sprint(int32(s.Default))
	case spirv.Bool:
		return fmt.Sprint(s.Default != 0)
	default:
		return fmt.Sprint(s.Default)
	}
}
