package vk

import (
	_ "embed"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

//go:embed testdata/texels.spv
var texelsSPIRV []byte

//go:embed testdata/viewed.spv
var viewedSPIRV []byte

var viewedShader = &Shader{
	Name: "viewed", SPIRV: SPIRV(viewedSPIRV), PushBytes: 4,
	Bindings: []Binding{
		{Name: "X", Index: 0, Access: Read}, {Name: "x_texels", Index: 1, Access: Read, Texel: TexelFloat4}, {Name: "Y", Index: 2, Access: Write},
	},
	Spec:          []SpecConstant{{Name: TexelLoads, ID: 1, Default: 0}},
	LocalSize:     [3]uint32{64, 1, 1},
	LocalSizeSpec: [3]int32{-1, -1, -1},
}

var texelsShader = &Shader{
	Name: "texels", SPIRV: SPIRV(texelsSPIRV), PushBytes: 4,
	Bindings: []Binding{
		{Name: "X", Index: 0, Access: Read}, {Name: "X4", Index: 1, Access: Read, Texel: TexelFloat4}, {Name: "X1", Index: 2, Access: Read, Texel: TexelFloat},
		{Name: "U4", Index: 3, Access: Read, Texel: TexelUint4}, {Name: "U1", Index: 4, Access: Read, Texel: TexelUint}, {Name: "Y", Index: 5, Access: Write},
	},
	Spec:          []SpecConstant{{Name: TexelLoads, ID: 1, Default: 0}},
	LocalSize:     [3]uint32{64, 1, 1},
	LocalSizeSpec: [3]int32{-1, -1, -1},
}

// Every format reads the same values as a storage buffer, in ranges that end inside a texel or begin inside a buffer, after a dispatch that
// wrote them. If the call leaves TEXEL_LOADS 0, the device's value is used.
func TestTexelBuffers(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		align := int(d.Info().Limits.StorageAlignment)
		for _, n := range []int{1, 4, 5, 1003} {
			for _, at := range []int{0, align} {
				for _, loads := range []uint32{0, LoadStorage, LoadTexels} {
					x, y := newTestBuffer(t, d, at/4+n, Local), newTestBuffer(t, d, n, Local)
					a, b := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local)
					half, zero := make([]float32, n), make([]float32, n)
					for i := range half {
						half[i] = rand.Float32()
					}
					writeFloats(t, a, half)
					writeFloats(t, b, zero)
					r := x.Range(int64(at), int64(4*n))
					p := d.NewProgram("texels")
					p.Dispatch(addCall(a.All(), b.All(), r, n))
					p.Dispatch(Call{Shader: texelsShader, Ranges: []Range{r, r, r, r, r, y.All()}, Spec: []uint32{loads},
						Push: binary.NativeEndian.AppendUint32(nil, uint32(n)), Groups: [3]uint32{uint32(n+255) / 256, 1, 1}})
					build(t, p)
					run(t, p)
					want := float32(loads)
					if loads == 0 {
						want = float32(d.phys.loads())
					}
					for i, got := range readFloats(t, y)[:n] {
						if got != half[i]+half[i]+want {
							t.Fatalf("n = %d, offset %d, TEXEL_LOADS %d: element %d is %v, want %v", n, at, loads, i, got, half[i]+half[i]+want)
						}
					}
				}
			}
		}
	})
}

// Exact buffers are read as storage buffers. A range smaller than a texel still gets a view, which is not used.
func TestExactBuffers(t *testing.T) {
	d := openTest(t, ExactBuffers(true))
	align := int(d.Info().Limits.StorageAlignment)
	for _, n := range []int{1, 4, 5} {
		x, y := newTestBuffer(t, d, align/4+n, Local), newTestBuffer(t, d, n, Local)
		r := x.Range(int64(align), int64(4*n))
		p := d.NewProgram("texels")
		p.Dispatch(Call{Shader: texelsShader, Ranges: []Range{r, r, r, r, r, y.All()}, Push: make([]byte, 4), Groups: [3]uint32{1, 1, 1}})
		build(t, p)
		run(t, p)
		if spec := p.spec[p.ops[0].specFrom:p.ops[0].specTo]; spec[0] != LoadStorage {
			t.Errorf("TEXEL_LOADS is %d", spec[0])
		}
	}
}

// A call with a range of more texels than the device supports loads all its ranges from storage buffers. It is refused if it asks for texels
// or if its kernel has no TEXEL_LOADS.
func TestMoreTexelsThanViewed(t *testing.T) {
	const most = 64
	d := openTest(t, reshape(func(p *physical) { p.info.Limits.MaxTexels = most }))
	for n, want := range map[int]float32{4 * most: LoadTexels, 4*most + 1: LoadStorage} {
		x, y := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local)
		values := make([]float32, n)
		for i := range values {
			values[i] = rand.Float32()
		}
		writeFloats(t, x, values)
		s := *viewedShader
		call := Call{Shader: &s, Ranges: []Range{x.All(), x.All(), y.All()},
			Push: binary.NativeEndian.AppendUint32(nil, uint32(n)), Groups: [3]uint32{uint32(n+63) / 64, 1, 1}}
		p := d.NewProgram("viewed")
		p.Dispatch(call)
		build(t, p)
		run(t, p)
		for i, got := range readFloats(t, y) {
			if got != values[i]+want {
				t.Fatalf("%d floats, element %d: %v, want %v", n, i, got, values[i]+want)
			}
		}
		call.Spec = []uint32{LoadTexels}
		refused := d.NewProgram("refused")
		refused.Dispatch(call)
		if err := refused.Build(); (err != nil) != (n > 4*most) {
			t.Errorf("%d floats loaded as texels on request: %v", n, err)
		}
		call.Spec, s.Spec = nil, nil
		refused = d.NewProgram("no choice")
		refused.Dispatch(call)
		if err := refused.Build(); n > 4*most && (err == nil || !strings.Contains(err.Error(), "views at most 64 texels")) {
			t.Errorf("%d floats to a kernel that always loads texels: %v", n, err)
		}
	}
}

func TestTexelBindingIsReadOnly(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		s := *texelsShader
		s.Bindings = append([]Binding(nil), s.Bindings...)
		s.Bindings[1].Access = ReadWrite
		x := newTestBuffer(t, d, 4, Local)
		p := d.NewProgram("texels")
		p.Dispatch(Call{Shader: &s, Ranges: []Range{x.All(), x.All(), x.All(), x.All(), x.All(), x.All()}, Push: make([]byte, 4), Groups: [3]uint32{1, 1, 1}})
		if err := p.Build(); err == nil || !strings.Contains(err.Error(), `binding "X4"`) {
			t.Fatalf("a writable texel buffer: %v", err)
		}
	})
}
