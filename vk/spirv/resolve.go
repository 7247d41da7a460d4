package spirv

import (
	"cmp"
	"slices"
)

const (
	classUniformConstant = 0
	classUniform         = 2
	classPushConstant    = 9
	classStorageBuffer   = 12

	// pushLimit bounds the size of a block, so that malicious offsets and lengths cannot overflow. Vulkan
	// guarantees 128 bytes; devices give 256 to 4096.
	pushLimit = 1 << 16
)

// resolveVariables turns module-scope variables into bindings and the push-constant block.
func (d *declarations) resolveVariables(m *Module) error {
	push := false
	for _, v := range d.variables {
		switch v.class {
		case classStorageBuffer, classUniform:
			b, err := d.binding(v)
			if err != nil {
				return err
			}
			m.Bindings = append(m.Bindings, b)
		case classPushConstant:
			if push {
				return failf(v.offset, "a second push-constant block")
			}
			push = true
			p, err := d.push(v)
			if err != nil {
				return err
			}
			m.Push = p
		case classUniformConstant:
			b, err := d.texels(v)
			if err != nil {
				return err
			}
			m.Bindings = append(m.Bindings, b)
		}
	}
	return nil
}

// pointee returns the structure that a variable points to.
func (d *declarations) pointee(v variable) (uint32, instruction, error) {
	pointer, ok := d.results[v.pointer]
	if !ok || pointer.op != opTypePointer {
		return 0, instruction{}, failf(v.offset, "variable %d has type %d, which is not a pointer", v.id, v.pointer)
	}
	id := pointer.args[1]
	block, ok := d.results[id]
	switch {
	case ok && (block.op == opTypeArray || block.op == opTypeRTArray):
		return 0, instruction{}, failf(v.offset, "%q is an array of blocks; kernels bind single buffers", d.names[v.id])
	case !ok || block.op != opTypeStruct:
		return 0, instruction{}, failf(v.offset, "variable %d does not point to a block (a structure)", v.id)
	}
	return id, block, nil
}

func (d *declarations) binding(v variable) (Binding, error) {
	id, block, err := d.pointee(v)
	if err != nil {
		return Binding{}, err
	}
	b := Binding{Name: d.names[id]}
	if _, old := d.decorations[id][decBufferBlock]; v.class == classUniform && !old {
		return b, failf(v.offset, "%q is a uniform buffer; kernels bind storage buffers only", b.Name)
	}
	if err := d.place(v, &b); err != nil {
		return b, err
	}
	b.Access = d.access(v.id, id, len(block.args))
	if len(block.args) == 0 {
		return b, failf(v.offset, "buffer %q has no members", b.Name)
	}
	b.Array = d.memberNames[memberKey{id, uint32(len(block.args) - 1)}]
	last := block.args[len(block.args)-1]
	if array, ok := d.results[last]; ok && (array.op == opTypeArray || array.op == opTypeRTArray) {
		b.Stride = d.decorations[last][decArrayStride]
		last = array.args[0]
	}
	b.Element = d.typeName(last)
	return b, nil
}

// place reads the binding index of a variable.
func (d *declarations) place(v variable, b *Binding) error {
	index, ok := d.decorations[v.id][decBinding]
	if !ok {
		return failf(v.offset, "buffer %q has no binding", b.Name)
	}
	b.Index = index
	if set := d.decorations[v.id][decDescriptorSet]; set != 0 {
		return failf(v.offset, "buffer %q is in set %d; kernels use set 0 only", b.Name, set)
	}
	return nil
}

// texelFormats are the SPIR-V image formats that kernels use, with the GLSL type of a texel.
var texelFormats = map[uint32][2]string{1: {"rgba32f", "vec4"}, 3: {"r32f", "float"}, 30: {"rgba32ui", "uvec4"}, 33: {"r32ui", "uint"}}

// texels reads a texel buffer: a readonly imageBuffer of a known format.
func (d *declarations) texels(v variable) (Binding, error) {
	const dimBuffer, storage = 5, 2
	b := Binding{Name: d.names[v.id], Access: d.access(v.id, 0, 0)}
	pointer, ok := d.results[v.pointer]
	if !ok || pointer.op != opTypePointer {
		return b, failf(v.offset, "variable %d has type %d, which is not a pointer", v.id, v.pointer)
	}
	image := d.results[pointer.args[1]]
	if image.op != opTypeImage || image.args[1] != dimBuffer || image.args[5] != storage {
		return b, failf(v.offset, "%q is an image, a sampler or another opaque resource; kernels bind storage buffers and imageBuffers only", b.Name)
	}
	format, ok := texelFormats[image.args[6]]
	if !ok {
		return b, failf(v.offset, "imageBuffer %q has the image format %d; it must be rgba32f, r32f, rgba32ui or r32ui", b.Name, image.args[6])
	}
	if b.Access != Read {
		return b, failf(v.offset, "imageBuffer %q is %s; declare it readonly, and write through a storage buffer", b.Name, b.Access)
	}
	b.Texel, b.Element = format[0], format[1]
	return b, d.place(v, &b)
}

// access combines the decorations of the variable and of all members: one writable member makes the buffer writable.
func (d *declarations) access(v, block uint32, members int) Access {
	access := ReadWrite
	for decoration, bit := range map[uint32]Access{decNonWritable: Write, decNonReadable: Read} {
		if _, ok := d.decorations[v][decoration]; ok {
			access &^= bit
			continue
		}
		all := members > 0
		for i := range members {
			_, ok := d.memberDecs[memberKey{block, uint32(i)}][decoration]
			all = all && ok
		}
		if all {
			access &^= bit
		}
	}
	return access
}

// typeName returns the GLSL name of a scalar or vector, or the name of a structure.
func (d *declarations) typeName(id uint32) string {
	t := d.results[id]
	switch t.op {
	case opTypeVector:
		prefix := map[string]string{"float": "vec", "uint": "uvec", "int": "ivec", "float16_t": "f16vec", "uint64_t": "u64vec"}[d.typeName32(t.args[0])]
		if prefix != "" && t.args[1] >= 2 && t.args[1] <= 4 {
			return prefix + string(rune('0'+t.args[1]))
		}
		return "vector"
	case opTypeStruct:
		if name := d.names[id]; name != "" {
			return name
		}
		return "structure"
	case opTypeArray, opTypeRTArray:
		return "array"
	}
	return d.typeName32(id)
}

func (d *declarations) typeName32(id uint32) string {
	t := d.results[id]
	switch t.op {
	case opTypeFloat:
		return map[uint32]string{16: "float16_t", 32: "float", 64: "double"}[t.args[0]]
	case opTypeInt:
		names := map[uint32]string{8: "uint8_t", 16: "uint16_t", 32: "uint", 64: "uint64_t"}
		if t.args[1] == 1 {
			names = map[uint32]string{8: "int8_t", 16: "int16_t", 32: "int", 64: "int64_t"}
		}
		return names[t.args[0]]
	}
	return "unknown"
}

// scalar returns the component type of a 32-bit scalar type, or 0.
func (d *declarations) scalar(id uint32) Scalar {
	t := d.results[id]
	switch {
	case t.op == opTypeBool:
		return Bool
	case t.op == opTypeFloat && t.args[0] == 32:
		return Float
	case t.op == opTypeInt && t.args[0] == 32 && t.args[1] == 0:
		return Uint
	case t.op == opTypeInt && t.args[0] == 32:
		return Int
	}
	return 0
}

func (d *declarations) push(v variable) (Push, error) {
	id, block, err := d.pointee(v)
	if err != nil {
		return Push{}, err
	}
	p := Push{Name: d.names[id]}
	for i, t := range block.args {
		key := memberKey{id, uint32(i)}
		m := Member{Name: d.memberNames[key]}
		offset, ok := d.memberDecs[key][decOffset]
		if !ok || offset > pushLimit || offset%4 != 0 {
			return p, failf(v.offset, "push constant %d (%q) has no offset, or one that is not a multiple of 4 below %d", i, m.Name, pushLimit)
		}
		m.Offset = offset
		size := uint64(4)
		if array, ok := d.results[t]; ok && array.op == opTypeArray {
			m.Length, m.Stride = d.value(array.args[1]), d.decorations[t][decArrayStride]
			if m.Length == 0 || m.Length > pushLimit || m.Stride == 0 || m.Stride > pushLimit || m.Stride%4 != 0 {
				return p, failf(v.offset, "push constant %q is an array of %d elements %d bytes apart", m.Name, m.Length, m.Stride)
			}
			size = uint64(m.Length) * uint64(m.Stride)
			t = array.args[0]
		}
		m.Components = 1
		if vector, ok := d.results[t]; ok && vector.op == opTypeVector {
			m.Components = vector.args[1]
			t = vector.args[0]
		}
		if m.Type = d.scalar(t); m.Type == 0 || m.Type == Bool || m.Components < 1 || m.Components > 4 {
			return p, failf(v.offset, "push constant %q is %s; push constants are 32-bit scalars, vectors of them, or arrays of those", m.Name, d.typeName(t))
		}
		if m.Length == 0 {
			size *= uint64(m.Components)
		}
		if end := uint64(offset) + size; end > pushLimit {
			return p, failf(v.offset, "push constant %q ends at byte %d", m.Name, end)
		} else if uint32(end) > p.Size {
			p.Size = uint32(end)
		}
		p.Members = append(p.Members, m)
	}
	return p, nil
}

// value returns the bits of a scalar constant, specialized or not, and 0 for anything else.
func (d *declarations) value(id uint32) uint32 {
	switch c := d.results[id]; c.op {
	case opConstant, opSpecConstant:
		return c.args[0]
	case opConstantTrue, opSpecTrue:
		return 1
	}
	return 0
}

func (d *declarations) resolveSpec(m *Module) error {
	at := map[uint32]int{}
	for _, id := range d.specOrder {
		specID, ok := d.decorations[id][decSpecID]
		if !ok {
			continue
		}
		s := SpecConstant{ID: specID, Name: d.names[id], Type: d.scalar(d.resultTypes[id]), Default: d.value(id)}
		if s.Type == 0 {
			return failf(d.results[id].offset, "specialization constant %d (%q) is %s; they are 32-bit scalars or bool", specID, s.Name, d.typeName(d.resultTypes[id]))
		}
		// A local size and a named constant may share an id: glslc declares them separately.
		if i, seen := at[specID]; seen {
			old := &m.Spec[i]
			if old.Name != "" && s.Name != "" || old.Type != s.Type || old.Default != s.Default {
				return failf(d.results[id].offset, "specialization constant %d is declared twice: %q (%s, default bits %#x) and %q (%s, default bits %#x)",
					specID, old.Name, old.Type, old.Default, s.Name, s.Type, s.Default)
			}
			old.Name += s.Name
			continue
		}
		at[specID] = len(m.Spec)
		m.Spec = append(m.Spec, s)
	}
	slices.SortStableFunc(m.Spec, func(a, b SpecConstant) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// resolveLocalSize reads the local size from the constant decorated WorkgroupSize, which overrides the execution modes.
func (d *declarations) resolveLocalSize(m *Module) error {
	m.LocalSizeSpec = [3]int32{-1, -1, -1}
	found := false
	for _, mode := range d.modes {
		if mode.args[0] != d.entries[0].id {
			continue
		}
		switch kind, args := mode.args[1], mode.args[2:]; {
		case kind != modeLocalSize && kind != modeLocalSizeID:
		case len(args) != 3:
			return failf(mode.offset, "a local size of %d dimensions; it has 3", len(args))
		case kind == modeLocalSizeID:
			d.setLocalSize(m, args)
			found = true
		default:
			copy(m.LocalSize[:], args)
			found = true
		}
	}
	for id, decorations := range d.decorations {
		if builtIn, ok := decorations[decBuiltIn]; !ok || builtIn != builtInWorkgroupSize {
			continue
		}
		c := d.results[id]
		if c.op != opSpecComposite && c.op != opConstantComposite || len(c.args) != 3 {
			return failf(c.offset, "the workgroup size (id %d) is not a constant of 3 components", id)
		}
		d.setLocalSize(m, c.args)
		found = true
	}
	if !found {
		return failf(-1, "the kernel declares no local size")
	}
	for i, n := range m.LocalSize {
		if n == 0 {
			return failf(-1, "dimension %d of the local size is 0 or not a constant", i)
		}
	}
	return nil
}

func (d *declarations) setLocalSize(m *Module, ids []uint32) {
	for i, id := range ids {
		m.LocalSize[i] = d.value(id)
		m.LocalSizeSpec[i] = -1
		if specID, ok := d.decorations[id][decSpecID]; ok && specID < 1<<31 {
			m.LocalSizeSpec[i] = int32(specID)
		}
	}
}
