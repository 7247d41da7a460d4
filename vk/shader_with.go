package vk

import (
	"fmt"

	"github.com/evorl/evorl/vk/spirv"
)

// With returns a shader that runs code instead of s's, under another name: a kernel composed with another part, such as an
// environment registered at run time. Calls made for s also fit the new shader. With checks this: every buffer, push constant
// and specialization constant of code must exist in s, with no wider access, and the local size must be equal. Code may lack some
// of s's interface, since optimisers remove what is not used.
func (s *Shader) With(name string, code []byte) (*Shader, error) {
	if s == nil {
		return nil, fmt.Errorf("vk: shader %q: no shader to make it from", name)
	}
	m, err := spirv.Reflect(code)
	if err != nil {
		return nil, fmt.Errorf("vk: shader %q: %w", name, err)
	}
	if err := s.fits(m); err != nil {
		return nil, fmt.Errorf("vk: shader %q cannot stand in for %q: %w", name, s.Name, err)
	}
	with := *s
	with.Name, with.SPIRV = name, SPIRV(code)
	return &with, nil
}

// fits checks that the interface of a module is contained in the interface of s.
func (s *Shader) fits(m *spirv.Module) error {
	bindings := make(map[uint32]Binding, len(s.Bindings))
	for _, b := range s.Bindings {
		bindings[b.Index] = b
	}
	for _, b := range m.Bindings {
		want, ok := bindings[b.Index]
		if !ok {
			return fmt.Errorf("it binds a buffer at %d, where the other has none", b.Index)
		}
		if b.Texel != want.Texel.String() {
			return fmt.Errorf("its buffer %s (binding %d) has the texels %q, the other's %q", want.Name, b.Index, b.Texel, want.Texel)
		}
		reads := b.Access&spirv.Read != 0 && want.Access == Write
		writes := b.Access&spirv.Write != 0 && want.Access == Read
		if reads || writes {
			return fmt.Errorf("its buffer %s (binding %d) is %s, wider than the other's", want.Name, b.Index, b.Access)
		}
	}
	if m.Push.Size > s.PushBytes {
		return fmt.Errorf("it has %d bytes of push constants, the other %d", m.Push.Size, s.PushBytes)
	}
	spec := make(map[uint32]SpecConstant, len(s.Spec))
	for _, c := range s.Spec {
		spec[c.ID] = c
	}
	for _, c := range m.Spec {
		if want, ok := spec[c.ID]; !ok || want.Default != c.Default {
			return fmt.Errorf("its specialization constant %d (%s, default bits %#x) is not one of the other's", c.ID, c.Name, c.Default)
		}
	}
	if m.LocalSize != s.LocalSize || m.LocalSizeSpec != s.LocalSizeSpec {
		return fmt.Errorf("its local size is %v by constants %v, the other's %v by %v", m.LocalSize, m.LocalSizeSpec, s.LocalSize, s.LocalSizeSpec)
	}
	return nil
}
