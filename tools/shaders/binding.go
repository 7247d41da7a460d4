package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/evorl/evorl/vk/spirv"
)

// binding is a buffer of a kernel and the Go field that holds its range.
type binding struct {
	spirv.Binding
	field    string
	viewed   string // the storage buffer that field is named after, if this is another view of it
	optional bool   // the field may be left zero
}

// Naming conventions for another view of the storage buffer whose array is x: a texel buffer x_texels, and a storage
// buffer whose array of vec4, or of u64vec2 (shaders/engine/store.glsl), is x4.
const (
	texelSuffix = "_texels"
	foursSuffix = "4"
)

// hasPrefix is the prefix of a bool specialization constant HAS_X, which is true if the optional buffer X is given.
const hasPrefix = "HAS_"

// nameBindings determines the field of each buffer, and which fields are optional.
func (k *kernel) nameBindings() error {
	arrays := map[string]spirv.Binding{}
	for _, b := range k.module.Bindings {
		if b.Access == spirv.NoAccess {
			return fmt.Errorf("buffer %s is both readonly and writeonly", b.Name)
		}
		if b.Texel == "" && b.Array != "" {
			arrays[b.Array] = b
		}
	}
	optional := optionalBindings(k.variants[0].source)
	for _, s := range k.module.Spec {
		if strings.HasPrefix(s.Name, hasPrefix) {
			of, err := k.flagged(s)
			if err != nil {
				return err
			}
			optional[of.Index] = true
		}
	}
	for _, b := range k.module.Bindings {
		viewed, view, err := viewedBy(b, arrays)
		if err != nil {
			return err
		}
		named := binding{b, camel(viewed.Name), "", optional[viewed.Index]}
		if view {
			named.viewed = viewed.Name
		}
		k.bindings = append(k.bindings, named)
	}
	return nil
}

// viewedBy returns the storage buffer whose range b binds: b itself, unless b is another view.
func viewedBy(b spirv.Binding, arrays map[string]spirv.Binding) (of spirv.Binding, view bool, err error) {
	if b.Texel != "" {
		array, ok := strings.CutSuffix(b.Name, texelSuffix)
		if of, view = arrays[array]; !ok || !view {
			return b, false, fmt.Errorf("imageBuffer %s views no storage buffer; name it x%s after the array x of one", b.Name, texelSuffix)
		}
		if of.Access&spirv.Read == 0 {
			return b, false, fmt.Errorf("imageBuffer %s views buffer %s, which is %s", b.Name, of.Name, of.Access)
		}
		return of, true, nil
	}
	array, ok := strings.CutSuffix(b.Array, foursSuffix)
	if of, view = arrays[array]; !ok || !view || of.Element != "float" || b.Element != "vec4" && b.Element != "u64vec2" {
		return b, false, nil
	}
	if of.Access != b.Access {
		return b, false, fmt.Errorf("buffer %s is %s, and buffer %s, which it views, is %s", b.Name, b.Access, of.Name, of.Access)
	}
	return of, true, nil
}

// flagged returns the buffer whose presence the specialization constant HAS_X indicates.
func (k *kernel) flagged(s spirv.SpecConstant) (spirv.Binding, error) {
	if s.Type != spirv.Bool {
		return spirv.Binding{}, fmt.Errorf("specialization constant %s is a %s; one that tells whether a buffer is given is a bool", s.Name, s.Type)
	}
	for _, b := range k.module.Bindings {
		if camel(b.Name) == flaggedField(s) {
			return b, nil
		}
	}
	return spirv.Binding{}, fmt.Errorf("specialization constant %s: there is no buffer %s", s.Name, flaggedField(s))
}

// flaggedField returns the name of the field of the buffer that a constant HAS_X means.
func flaggedField(s spirv.SpecConstant) string { return camel(strings.TrimPrefix(s.Name, hasPrefix)) }

var (
	optionalLine = regexp.MustCompile(`(?m)^\s*layout\([^)]*\bbinding\s*=\s*(\d+)[^)]*\).*//.*\boptional\b`)
	pushBlock    = regexp.MustCompile(`(?s)layout\(push_constant\)[^{]*\{(.*?)\n?\}`)
	boolMember   = regexp.MustCompile(`(?m)^\s*bool\s+(\w+)\s*;`)
)

// optionalBindings returns the indices of buffers whose declaration has a comment with the word "optional".
func optionalBindings(source string) map[uint32]bool {
	found := map[uint32]bool{}
	for _, line := range optionalLine.FindAllStringSubmatch(source, -1) {
		if index, err := strconv.ParseUint(line[1], 10, 32); err == nil {
			found[uint32(index)] = true
		}
	}
	return found
}

// pushBools returns the push constants declared as bool, which SPIR-V stores as 32-bit integers.
func pushBools(source string) map[string]bool {
	found := map[string]bool{}
	if block := pushBlock.FindStringSubmatch(source); block != nil {
		for _, member := range boolMember.FindAllStringSubmatch(block[1], -1) {
			found[member[1]] = true
		}
	}
	return found
}
