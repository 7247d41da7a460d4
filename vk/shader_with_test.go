package vk

import (
	"os"
	"strings"
	"testing"
)

// interfaceShader declares the interface of spirv/testdata/interface.comp.
func interfaceShader() *Shader {
	return &Shader{
		Name: "p/interface", SPIRV: SPIRV([]byte{1}), PushBytes: 28,
		Bindings: []Binding{{Name: "A", Index: 0, Access: Read}, {Name: "env_state", Index: 1, Access: ReadWrite}, {Name: "C", Index: 2, Access: Write}},
		Spec: []SpecConstant{
			{Name: "LOCAL_SIZE_X", ID: 0, Default: 64}, {Name: "FAST", ID: 3, Default: 0}, {Name: "GAIN", ID: 4, Default: 0x3fc00000},
			{Name: "SHIFT", ID: 5, Default: 0xfffffffe}, {Name: "LANES", ID: 7, Default: 4},
		},
		LocalSize:     [3]uint32{64, 2, 1},
		LocalSizeSpec: [3]int32{0, -1, -1},
	}
}

func TestShaderWith(t *testing.T) {
	for _, file := range []string{"interface.O0.spv", "interface.O.spv"} {
		code, err := os.ReadFile("spirv/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := interfaceShader().With("p/other", code)
		if err != nil || s.Name != "p/other" || len(s.SPIRV()) != len(code) || len(s.Bindings) != 3 {
			t.Errorf("%s: %+v, %v", file, s, err)
		}
		for want, change := range map[string]func(s *Shader){
			"at 2, where the other has none":      func(s *Shader) { s.Bindings = s.Bindings[:2] },
			"(binding 1) is read-write":           func(s *Shader) { s.Bindings[1].Access = Read },
			"(binding 0) is readonly":             func(s *Shader) { s.Bindings[0].Access = Write },
			"28 bytes of push constants":          func(s *Shader) { s.PushBytes = 24 },
			"specialization constant 7":           func(s *Shader) { s.Spec = s.Spec[:4] },
			"specialization constant 4":           func(s *Shader) { s.Spec[2].Default = 0 },
			"its local size is [64 2 1] by const": func(s *Shader) { s.LocalSizeSpec[1] = 4 },
		} {
			s := interfaceShader()
			change(s)
			if _, err := s.With("p/other", code); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", file, err, want)
			}
		}
	}
	if _, err := interfaceShader().With("p/other", []byte("nothing")); err == nil || !strings.Contains(err.Error(), "the header alone") {
		t.Errorf("malformed code: %v", err)
	}
	if _, err := (*Shader)(nil).With("p/other", nil); err == nil {
		t.Error("no error without a shader to start from")
	}
}
