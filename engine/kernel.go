package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
	"github.com/evorl/evorl/vk/spirv"
)

// Kernel is a compute shader with GLSL given at run time, for algorithms that are not part of the library.
type Kernel struct {
	shader *vk.Shader
	module *spirv.Module // with the GLSL names
	mirror []int         // for each binding, the storage buffer with its range: itself, or for a texel buffer the one it views
}

// Args are the arguments of a dispatch, by their GLSL names: a *Tensor for the block of every storage buffer; a bool, int, uint32,
// float32 or float64 for every push constant, and for each specialization constant that is not at its default. LOCAL_SIZE_X, _Y and _Z
// set the local size. A texel buffer x_texels is not an argument: it views the storage buffer with the block X.
type Args map[string]any

// CompileKernel compiles the GLSL text of a compute shader. It binds storage buffers, declared readonly or writeonly where possible, and may have a block of
// scalar push constants. It may include the library's shader files, such as "engine/rng.glsl". Compile a kernel once and record it in any number of programs.
//
// Errors: a *shaders.CompileError with the line in shaders/NAME.comp for a mistake in the text; shaders.ErrNoCompiler if no GLSL compiler
// is installed; an error for a buffer or constant of a type that Args does not support.
func CompileKernel(ctx context.Context, name, text string) (*Kernel, error) {
	k, err := compileKernel(ctx, name, text)
	if err != nil {
		return nil, fmt.Errorf("engine: kernel %q: %w", name, err)
	}
	return k, nil
}

func compileKernel(ctx context.Context, name, text string) (*Kernel, error) {
	source, err := shaders.ComposeText(name, text)
	if err != nil {
		return nil, err
	}
	named, err := shaders.CompileNamed(ctx, source)
	if err != nil {
		return nil, err
	}
	module, err := spirv.Reflect(named)
	if err != nil {
		return nil, err
	}
	k := &Kernel{module: module, shader: &vk.Shader{
		Name: name, SPIRV: vk.SPIRV(named), PushBytes: module.Push.Size, LocalSize: module.LocalSize, LocalSizeSpec: module.LocalSizeSpec,
	}}
	if err := k.bind(); err != nil {
		return nil, err
	}
	for _, m := range module.Push.Members {
		if m.Components != 1 || m.Length != 0 {
			return nil, fmt.Errorf("push constant %s is a vector or an array; want scalars", m.Name)
		}
	}
	for i, c := range module.Spec {
		if way := slices.Index(module.LocalSizeSpec[:], int32(c.ID)); c.Name == "" && way >= 0 {
			module.Spec[i].Name = "LOCAL_SIZE_" + string("XYZ"[way])
		}
		k.shader.Spec = append(k.shader.Spec, vk.SpecConstant{Name: module.Spec[i].Name, ID: c.ID, Default: c.Default})
	}
	code, err := shaders.Compile(ctx, source)
	if err != nil {
		return nil, err
	}
	k.shader, err = k.shader.With(name, code)
	return k, err
}

// texelFormats maps GLSL names to texel formats of vk.
var texelFormats = map[string]vk.Texel{"": vk.NoTexel, "r32f": vk.TexelFloat, "rgba32f": vk.TexelFloat4, "r32ui": vk.TexelUint, "rgba32ui": vk.TexelUint4}

// bind declares the module's bindings to vk.
func (k *Kernel) bind() error {
	for i, b := range k.module.Bindings {
		at := i
		if b.Texel != "" {
			if at = slices.IndexFunc(k.module.Bindings, func(of spirv.Binding) bool { return of.Texel == "" && snake(of.Name)+"_texels" == b.Name }); at < 0 {
				return fmt.Errorf("texel buffer %s views none of the storage buffers %v; want the name of one in lower case, followed by _texels", b.Name, k.buffers())
			}
		} else if _, ok := elementType(b.Element); !ok {
			return fmt.Errorf("storage buffer %s is of %s; want float, uint or their vectors", b.Name, b.Element)
		}
		k.mirror = append(k.mirror, at)
		k.shader.Bindings = append(k.shader.Bindings, vk.Binding{Name: b.Name, Index: b.Index, Access: vk.Access(b.Access), Texel: texelFormats[b.Texel]})
	}
	return nil
}

// buffers returns the names of the storage buffers.
func (k *Kernel) buffers() (names []string) {
	for _, b := range k.module.Bindings {
		if b.Texel == "" {
			names = append(names, b.Name)
		}
	}
	return names
}

// snake converts FitnessLow to fitness_low.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// elementType returns the type of tensors for a buffer of a GLSL type.
func elementType(glsl string) (DType, bool) {
	switch glsl {
	case "float", "vec2", "vec4":
		return Float32, true
	case "uint", "uvec2", "uvec4":
		return Uint32, true
	}
	return 0, false
}

// Record records a dispatch of x × y × z workgroups. A missing, unknown or mistyped argument is a recording error.
func (k *Kernel) Record(r *Recorder, x, y, z uint32, args Args) {
	call, err := k.call(args)
	if err != nil {
		r.Fail(fmt.Errorf("engine: kernel %q: %w", k.shader.Name, err))
		return
	}
	call.Groups = [3]uint32{x, y, z}
	r.Dispatch(call)
}

func (k *Kernel) call(args Args) (vk.Call, error) {
	call := vk.Call{Shader: k.shader, Label: k.shader.Name, Push: make([]byte, k.shader.PushBytes)}
	if err := k.checkNames(args); err != nil {
		return call, err
	}
	for _, at := range k.mirror {
		b := k.module.Bindings[at]
		want, _ := elementType(b.Element)
		t, ok := args[b.Name].(*Tensor)
		if !ok || t == nil || t.typ != want {
			return call, fmt.Errorf("buffer %s is given %v; want a tensor of %v", b.Name, args[b.Name], want)
		}
		call.Ranges = append(call.Ranges, t.Range())
	}
	for _, m := range k.module.Push.Members {
		bits, err := scalarBits(m.Name, m.Type, args[m.Name])
		if err != nil {
			return call, err
		}
		binary.LittleEndian.PutUint32(call.Push[m.Offset:], bits)
	}
	for _, c := range k.module.Spec {
		bits := c.Default
		if v, ok := args[c.Name]; ok {
			var err error
			if bits, err = scalarBits(c.Name, c.Type, v); err != nil {
				return call, err
			}
		}
		call.Spec = append(call.Spec, bits)
	}
	return call, nil
}

// checkNames refuses unknown arguments.
func (k *Kernel) checkNames(args Args) error {
	names := k.buffers()
	for _, m := range k.module.Push.Members {
		names = append(names, m.Name)
	}
	for _, c := range k.module.Spec {
		names = append(names, c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown argument %s; the arguments are %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// scalarBits returns the 32 bits of a constant.
func scalarBits(name string, typ spirv.Scalar, value any) (uint32, error) {
	switch v := value.(type) {
	case bool:
		if typ == spirv.Bool && v {
			return 1, nil
		} else if typ == spirv.Bool {
			return 0, nil
		}
	case uint32:
		if typ == spirv.Uint {
			return v, nil
		}
	case int:
		if typ == spirv.Uint && v >= 0 && v <= math.MaxUint32 || typ == spirv.Int && int(int32(v)) == v {
			return uint32(v), nil
		}
	case float32:
		if typ == spirv.Float {
			return math.Float32bits(v), nil
		}
	case float64:
		if typ == spirv.Float {
			return math.Float32bits(float32(v)), nil
		}
	}
	return 0, fmt.Errorf("constant %s is given %v (%[2]T); want a Go number or bool that %v holds", name, value, typ)
}
