package vk

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// packed is a kernel with every kind of field. Bool and array fields stand where Go's layout differs from the shader's.
type packed struct {
	In, Out Range
	Extra   Range

	Count  uint32
	On     bool
	Off    bool
	Rate   float32
	Shape  [2][3]uint32
	Levels [2]float32
	Shift  int32

	Size uint32
	Fast bool
	Gain float32
	Down int32
}

var packedShader = &Shader{
	Name: "packed",
	Bindings: []Binding{
		{Name: "In", Index: 0, Access: Read},
		{Name: "in_texels", Index: 1, Access: Read, Texel: TexelFloat4, View: "In"},
		{Name: "Out", Index: 2, Access: Write},
		{Name: "extra_texels", Index: 3, Access: Read, Texel: TexelFloat, Optional: true, View: "Extra"}, // before the buffer that it views
		{Name: "Extra", Index: 4, Access: Read, Optional: true},
	},
	PushBytes: 4 * (4 + 6 + 2 + 1),
	Spec: []SpecConstant{
		{Name: "SIZE", ID: 0, Default: 64}, {Name: "HAS_EXTRA", ID: 1, Has: "Extra"}, {Name: "FAST", ID: 2},
		{Name: "GAIN", ID: 3, Default: math.Float32bits(1.5)}, {Name: "DOWN", ID: 4, Default: ^uint32(1)}, // -2
	},
}

func TestPack(t *testing.T) {
	buffer := new(Buffer)
	in, out, extra := buffer.Range(0, 16), buffer.Range(16, 16), buffer.Range(32, 16)
	k := packed{In: in, Out: out, Count: 0x01020304, Off: true, Rate: -2.5, Shape: [2][3]uint32{{1, 2, 3}, {4, 5, 6}},
		Levels: [2]float32{0.5, float32(math.Inf(1))}, Shift: -7}
	c := Pack(packedShader, &k, 4, 5, 6)
	if c.Shader != packedShader || c.Label != "packed" || c.Groups != [3]uint32{4, 5, 6} || c.Subgroup != 0 || c.err != nil {
		t.Errorf("call %+v", c)
	}
	if want := []Range{in, in, out, {}, {}}; !slices.Equal(c.Ranges, want) {
		t.Errorf("ranges %v, want %v: in order of bindings, views with what they view", c.Ranges, want)
	}
	var push []byte
	for _, w := range []uint32{0x01020304, 0, 1, math.Float32bits(-2.5), 1, 2, 3, 4, 5, 6, math.Float32bits(0.5), 0x7f800000, ^uint32(6)} {
		push = binary.LittleEndian.AppendUint32(push, w)
	}
	if !slices.Equal(c.Push, push) {
		t.Errorf("push constants % x, want % x", c.Push, push)
	}
	if want := []uint32{64, 0, 0, math.Float32bits(1.5), ^uint32(1)}; !slices.Equal(c.Spec, want) {
		t.Errorf("specialization %v of zero fields, want the defaults %v", c.Spec, want)
	}
	k.Gain = float32(math.Copysign(0, -1))
	if c := Pack(packedShader, &k, 1, 1, 1); c.Spec[3] != math.Float32bits(1.5) {
		t.Errorf("GAIN = %#x for -0, want the default", c.Spec[3])
	}
	k.Extra, k.Size, k.Fast, k.Gain, k.Down = extra, 32, true, float32(math.NaN()), 3
	c = Pack(packedShader, &k, 1, 1, 1)
	if want := []uint32{32, 1, 1, math.Float32bits(k.Gain), 3}; !slices.Equal(c.Spec, want) || c.Ranges[3] != extra || c.Ranges[4] != extra {
		t.Errorf("specialization %v, want %v; ranges %v", c.Spec, want, c.Ranges)
	}
	if n := testing.AllocsPerRun(100, func() { _ = Pack(packedShader, &k, 1, 1, 1) }); n > 2 {
		t.Errorf("a call allocates %v times, want two: ranges and words", n)
	}
}

// A kernel without fields has a call too, and one without a shader is refused as ever.
func TestPackNothing(t *testing.T) {
	c := Pack(&Shader{Name: "nothing"}, &struct{}{}, 1, 2, 3)
	if want := (Call{Shader: c.Shader, Label: "nothing", Groups: [3]uint32{1, 2, 3}}); !reflect.DeepEqual(c, want) {
		t.Errorf("call %+v, want %+v", c, want)
	}
	if c := Pack(nil, &packed{}, 1, 1, 1); c.Shader != nil {
		t.Errorf("call %+v of no shader", c)
	}
}

func TestPackRefuses(t *testing.T) {
	d := openTest(t)
	for want, pack := range map[string]func(s *Shader) Call{
		`field 2 should be the Range of binding "Extra"`: func(s *Shader) Call {
			return Pack(s, &struct {
				In, Out Range
				Count   uint32
			}{}, 1, 1, 1)
		},
		`binding "in_texels" views "Inn"`: func(s *Shader) Call {
			type renamed packed
			s.Bindings = slices.Clone(s.Bindings)
			s.Bindings[1].View = "Inn"
			return Pack(s, &renamed{}, 1, 1, 1)
		},
		"push constant Shape is of int": func(s *Shader) Call {
			return Pack(s, &struct {
				In, Out, Extra Range
				Count          uint32
				Shape          int
			}{}, 1, 1, 1)
		},
		"it has 60 bytes of push constants, the shader 52": func(s *Shader) Call {
			return Pack(s, &struct {
				In, Out, Extra Range
				Count          [15]uint32
			}{}, 1, 1, 1)
		},
		"it lacks a field for specialization constant FAST": func(s *Shader) Call {
			return Pack(s, &struct {
				In, Out, Extra Range
				Count          [13]uint32
				Size           uint32
			}{}, 1, 1, 1)
		},
		"specialization constant Size is of uint64": func(s *Shader) Call {
			return Pack(s, &struct {
				In, Out, Extra Range
				Count          [13]uint32
				Size           uint64
			}{}, 1, 1, 1)
		},
		`constant HAS_EXTRA follows from "Extras"`: func(s *Shader) Call {
			type renamed packed
			s.Spec = slices.Clone(s.Spec)
			s.Spec[1].Has = "Extras"
			return Pack(s, &renamed{}, 1, 1, 1)
		},
		"field More belongs to nothing of it": func(s *Shader) Call {
			return Pack(s, &struct {
				In, Out, Extra Range
				Count          [13]uint32
				Size           uint32
				Fast           bool
				Gain           float32
				Down           int32
				More           uint32
			}{}, 1, 1, 1)
		},
		"it is no struct": func(s *Shader) Call { return Pack(s, new(int), 1, 1, 1) },
	} {
		s := *packedShader
		p := d.NewProgram("refused")
		p.Dispatch(pack(&s))
		if p.err == nil || !strings.Contains(p.err.Error(), want) || !strings.Contains(p.err.Error(), "does not fit shader packed: ") {
			t.Errorf("got %v, want %q", p.err, want)
		}
		p.Free()
	}
}

func TestShaderVariants(t *testing.T) {
	code := func(name string) func() []byte { return func() []byte { return []byte(name) } }
	all := Variants(code, Shader{Name: "step", PushBytes: 8}, "A", "B")
	for _, name := range []string{"A", "B"} {
		s := all[name]
		if s.Name != "step."+name || s.Label != "step" || s.PushBytes != 8 || string(s.SPIRV()) != s.Name {
			t.Errorf("variant %s: %+v with the code of %s", name, s, s.SPIRV())
		}
	}
	if len(all) != 2 || all["A"] == all["B"] {
		t.Errorf("variants %v", all)
	}
}
