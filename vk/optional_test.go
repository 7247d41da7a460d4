package vk

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// Stand-ins are the beginnings of ranges with the same access, or else with a wider one.
func TestStandIns(t *testing.T) {
	s := &Shader{Bindings: []Binding{
		{Name: "read", Access: Read, Optional: true}, {Name: "a", Access: ReadWrite}, {Name: "b", Access: Read}, {Name: "write", Access: Write, Optional: true},
		{Name: "both", Access: ReadWrite, Optional: true}, {Name: "c", Access: Read, Optional: true},
	}}
	x := new(Buffer)
	a, b := x.Range(0, 8), x.Range(64, 64)
	for _, c := range []struct{ given, want []Range }{
		{[]Range{{}, a, b, {}, {}, {}}, []Range{x.Range(64, 16), a, b, a, a, x.Range(64, 16)}},
		{[]Range{b, a, b, a, b, b}, []Range{b, a, b, a, b, b}},
		{make([]Range, 6), make([]Range, 6)},
	} {
		given := slices.Clone(c.given)
		if got := s.complete(given); !slices.Equal(got, c.want) {
			t.Errorf("%v becomes %v, want %v", c.given, got, c.want)
		}
		if !slices.Equal(given, c.given) {
			t.Errorf("the call's own ranges changed from %v to %v", c.given, given)
		}
	}
}

// A kernel runs without the ranges of optional bindings that it does not use, and stand-ins cause no barriers. Other bindings need a range.
func TestOptionalBindings(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		s := *texelsShader
		s.Bindings = slices.Clone(s.Bindings)
		s.Bindings[1].Optional = true
		const n = 37
		x, y, z := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local)
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(i)
		}
		writeFloats(t, x, values)
		call := func(ranges ...Range) Call {
			return Call{Shader: &s, Ranges: ranges, Spec: []uint32{LoadStorage}, Push: binary.NativeEndian.AppendUint32(nil, n), Groups: [3]uint32{1, 1, 1}}
		}
		p := d.NewProgram("optional")
		p.Dispatch(call(x.All(), Range{}, x.All(), x.All(), x.All(), y.All()))
		p.Dispatch(call(x.All(), Range{}, x.All(), x.All(), x.All(), z.All()))
		build(t, p)
		run(t, p)
		if barriers := p.Stats().Barriers; barriers != 0 {
			t.Errorf("%d barriers between dispatches that read the same and write apart", barriers)
		}
		for _, out := range []*Buffer{y, z} {
			for i, got := range readFloats(t, out)[:n] {
				if want := 2*values[i] + LoadStorage; got != want {
					t.Fatalf("element %d is %v, want %v", i, got, want)
				}
			}
		}
		p = d.NewProgram("missing")
		p.Dispatch(call(Range{}, x.All(), x.All(), x.All(), x.All(), y.All()))
		if err := p.Build(); err == nil || !strings.Contains(err.Error(), `binding "X"`) {
			t.Errorf("a binding that is not optional without a range: %v", err)
		}
	})
}
