package vk

import (
	"context"
	_ "embed"
	"encoding/binary"
	"math"
	"testing"
)

//go:embed testdata/add.spv
var addSPIRV []byte

var addShader = &Shader{
	Name: "add", SPIRV: addSPIRV, PushBytes: 4,
	Bindings:      []Binding{{"a", 0, Read}, {"b", 1, Read}, {"c", 2, Write}},
	Spec:          []SpecConstant{{"local_size_x", 0, 64}},
	LocalSizeSpec: [3]int32{0, -1, -1},
}

func addCall(a, b, c Range, n int) Call {
	return Call{Shader: addShader, Ranges: []Range{a, b, c}, Push: binary.NativeEndian.AppendUint32(nil, uint32(n)), Groups: [3]uint32{uint32(n+63) / 64, 1, 1}}
}

// openTest opens the default device with validation on, and fails the test on any message of the layer.
func openTest(t testing.TB, opts ...Option) *Device {
	t.Helper()
	d, err := Open(append([]Option{Validate(true), CacheDir("")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		for _, m := range d.ValidationErrors() {
			t.Errorf("validation: %s", m)
		}
	})
	return d
}

func newTestBuffer(t testing.TB, d *Device, words int, kind Kind) *Buffer {
	t.Helper()
	b, err := d.NewBuffer(int64(4*words), kind)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFloats(t testing.TB, b *Buffer, x []float32) {
	t.Helper()
	raw := make([]byte, 0, 4*len(x))
	for _, v := range x {
		raw = binary.NativeEndian.AppendUint32(raw, math.Float32bits(v))
	}
	if err := b.Write(context.Background(), 0, raw); err != nil {
		t.Fatal(err)
	}
}

func floats(raw []byte) []float32 {
	x := make([]float32, len(raw)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.NativeEndian.Uint32(raw[4*i:]))
	}
	return x
}

func readFloats(t testing.TB, b *Buffer) []float32 {
	t.Helper()
	raw := make([]byte, b.Size())
	if err := b.Read(context.Background(), 0, raw); err != nil {
		t.Fatal(err)
	}
	return floats(raw)
}

func build(t testing.TB, p *Program) {
	t.Helper()
	if err := p.Build(); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, p *Program) {
	t.Helper()
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestVectorAdd(t *testing.T) {
	d := openTest(t)
	for _, n := range []int{1, 3, 64, 65, 1000, 12345} {
		a, b, c := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n+1, Local)
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = float32(i), float32(3*i+1)
		}
		writeFloats(t, a, x)
		writeFloats(t, b, y)
		p := d.NewProgram("vector add")
		p.Fill(c.All(), math.Float32bits(-7)) // poison
		p.Dispatch(addCall(a.All(), b.All(), c.Range(0, int64(4*n)), n))
		build(t, p)
		for range 3 {
			run(t, p)
		}
		z := readFloats(t, c)
		for i := range x {
			if z[i] != x[i]+y[i] {
				t.Fatalf("n = %d: c[%d] = %v, want %v", n, i, z[i], x[i]+y[i])
			}
		}
		if z[n] != -7 {
			t.Fatalf("n = %d: the word behind the range became %v", n, z[n])
		}
		p.Free()
		a.Free()
		b.Free()
		c.Free()
	}
}
