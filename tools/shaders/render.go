package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/evorl/evorl/vk/spirv"
)

// render writes a kernel's shader, struct and call method.
func (k *kernel) render(w io.Writer) {
	if k.environments() {
		fmt.Fprintf(w, "\n// %s maps the name of an environment to shaders/%s.comp with that environment.\n", k.goName("Shader"), k.path())
		fmt.Fprintf(w, "var %s = map[string]*vk.Shader{\n", k.goName("Shader"))
		for _, v := range k.variants {
			fmt.Fprintf(w, "%q: {\n", v.environment)
			k.renderShader(w, v)
			fmt.Fprintf(w, "},\n")
		}
		fmt.Fprintf(w, "}\n")
	} else {
		fmt.Fprintf(w, "\nvar %s = &vk.Shader{\n", k.goName("Shader"))
		k.renderShader(w, k.variants[0])
		fmt.Fprintf(w, "}\n")
	}
	fmt.Fprintf(w, "\n// %s is shaders/%s.comp.\ntype %s struct {\n", k.goName("Kernel"), k.path(), k.goName("Kernel"))
	for i, fields := range [][]field{k.ranges, k.push, k.spec} {
		if i > 0 && len(fields) > 0 {
			fmt.Fprintln(w)
		}
		for _, f := range fields {
			if f.given != "" {
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
	k.renderCall(w)
}

func (k *kernel) renderShader(w io.Writer, v *variant) {
	fmt.Fprintf(w, "Name: %q,\nSPIRV: shaders.Code(%q),\n", v.name(), v.name())
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
			fmt.Fprintf(w, "{Name: %q, Index: %d, Access: %s%s%s},\n", b.Name, b.Index, access, texel, optional)
		}
		fmt.Fprintf(w, "},\n")
	}
	if k.module.Push.Size > 0 {
		fmt.Fprintf(w, "PushBytes: %d,\n", k.module.Push.Size)
	}
	if len(k.module.Spec) > 0 {
		fmt.Fprintf(w, "Spec: []vk.SpecConstant{\n")
		for _, s := range k.module.Spec {
			fmt.Fprintf(w, "{Name: %q, ID: %d, Default: %s},\n", s.Name, s.ID, specBits(s))
		}
		fmt.Fprintf(w, "},\n")
	}
	size, spec := k.module.LocalSize, k.module.LocalSizeSpec
	fmt.Fprintf(w, "LocalSize: [3]uint32{%d, %d, %d},\nLocalSizeSpec: [3]int32{%d, %d, %d},\n", size[0], size[1], size[2], spec[0], spec[1], spec[2])
}

// renderCall writes the call method. Everything that a call refers to is in one allocation.
func (k *kernel) renderCall(w io.Writer) {
	shader, parameter := k.goName("Shader"), ""
	if k.environments() {
		fmt.Fprintf(w, "\n// call dispatches x × y × z workgroups of shader, one of %s or made from one by vk.Shader.With.\n", shader)
		shader, parameter = "shader", "shader *vk.Shader, "
	} else {
		fmt.Fprintf(w, "\n// call dispatches x × y × z workgroups.\n")
	}
	fmt.Fprintf(w, "func (k %s) call(%sx, y, z uint32) vk.Call {\n", k.goName("Kernel"), parameter)
	bindings, push, spec := len(k.module.Bindings), k.module.Push.Size, len(k.module.Spec)
	fields := fmt.Sprintf("Shader: %s, Groups: [3]uint32{x, y, z}, Label: %q", shader, k.path())
	var parts []string
	if bindings > 0 {
		parts = append(parts, fmt.Sprintf("ranges [%d]vk.Range", bindings))
		fields += ", Ranges: a.ranges[:]"
	}
	if push > 0 {
		parts = append(parts, fmt.Sprintf("push [%d]byte", push))
		fields += ", Push: a.push[:]"
	}
	if spec > 0 {
		parts = append(parts, fmt.Sprintf("spec [%d]uint32", spec))
		fields += ", Spec: a.spec[:]"
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "a := new(struct {\n%s\n})\n", strings.Join(parts, "\n"))
	}
	if bindings > 0 {
		var names []string
		for _, b := range k.bindings {
			names = append(names, "k."+b.field)
		}
		fmt.Fprintf(w, "a.ranges = [%d]vk.Range{%s}\n", bindings, strings.Join(names, ", "))
	}
	for i, m := range k.module.Push.Members {
		renderPush(w, "k."+k.push[i].name, m)
	}
	if spec > 0 {
		var defaults []string
		for _, s := range k.module.Spec {
			defaults = append(defaults, specBits(s))
		}
		fmt.Fprintf(w, "a.spec = [%d]uint32{%s}\n", spec, strings.Join(defaults, ", "))
		for i, s := range k.module.Spec {
			name := "k." + k.spec[i].name
			switch {
			case k.spec[i].given != "":
				fmt.Fprintf(w, "if k.%s.Buffer != nil {\na.spec[%d] = 1\n}\n", k.spec[i].given, i)
			case s.Type == spirv.Bool:
				fmt.Fprintf(w, "if %s {\na.spec[%d] = 1\n}\n", name, i)
			default:
				fmt.Fprintf(w, "if %s != 0 {\na.spec[%d] = %s\n}\n", name, i, wordOf(name, s.Type))
			}
		}
	}
	fmt.Fprintf(w, "return vk.Call{%s}\n}\n", fields)
}

// renderPush writes the encoding of one push constant, word by word.
func renderPush(w io.Writer, name string, m spirv.Member) {
	for i := range max(m.Length, 1) {
		for c := range m.Components {
			from := name
			if m.Length > 0 {
				from = fmt.Sprintf("%s[%d]", from, i)
			}
			if m.Components > 1 {
				from = fmt.Sprintf("%s[%d]", from, c)
			}
			at := m.Offset + i*m.Stride + 4*c
			if m.Type == spirv.Bool {
				fmt.Fprintf(w, "if %s {\na.push[%d] = 1\n}\n", from, at)
				continue
			}
			fmt.Fprintf(w, "binary.LittleEndian.PutUint32(a.push[%d:], %s)\n", at, wordOf(from, m.Type))
		}
	}
}

// wordOf returns the Go expression for the bits of a field.
func wordOf(name string, t spirv.Scalar) string {
	switch t {
	case spirv.Float:
		return "math.Float32bits(" + name + ")"
	case spirv.Int:
		return "uint32(" + name + ")"
	default:
		return name
	}
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
