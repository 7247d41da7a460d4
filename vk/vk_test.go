package vk

import (
	"context"
	_ "embed"
	"encoding/binary"
	"math"
	"os"
	"testing"
)

var (
	//go:embed testdata/add.spv
	addSPIRV []byte
	//go:embed testdata/spin.spv
	spinSPIRV []byte
	//go:embed testdata/mix.spv
	mixSPIRV []byte
	//go:embed testdata/lanes.spv
	lanesSPIRV []byte
)

// TestMain lets the validation layer also check across submissions, which only its settings file can request.
func TestMain(m *testing.M) {
	if os.Getenv("VK_LAYER_SETTINGS_PATH") == "" {
		os.Setenv("VK_LAYER_SETTINGS_PATH", "testdata/vk_layer_settings.txt")
	}
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

var addShader = &Shader{
	Name: "add", SPIRV: SPIRV(addSPIRV), PushBytes: 4,
	Bindings:      []Binding{{Name: "a", Index: 0, Access: Read}, {Name: "b", Index: 1, Access: Read}, {Name: "c", Index: 2, Access: Write}},
	Spec:          []SpecConstant{{Name: "local_size_x", ID: 0, Default: 64}},
	LocalSizeSpec: [3]int32{0, -1, -1},
}

func addCall(a, b, c Range, n int) Call {
	return Call{Shader: addShader, Ranges: []Range{a, b, c}, Push: binary.NativeEndian.AppendUint32(nil, uint32(n)), Groups: [3]uint32{uint32(n+63) / 64, 1, 1}}
}

var spinShader = &Shader{
	Name: "spin", SPIRV: SPIRV(spinSPIRV), PushBytes: 8,
	Bindings:      []Binding{{Name: "x", Index: 3, Access: ReadWrite}},
	Spec:          []SpecConstant{{Name: "local_size_x", ID: 0, Default: 32}, {Name: "FACTOR", ID: 1, Default: 1664525}},
	LocalSizeSpec: [3]int32{0, -1, -1},
}

func spinCall(x Range, steps int) Call {
	n := uint32(x.Size / 4)
	push := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, n), uint32(steps))
	return Call{Shader: spinShader, Ranges: []Range{x}, Push: push, Groups: [3]uint32{(n + 31) / 32, 1, 1}}
}

// spin computes the result of the kernel.
func spin(x, factor uint32, steps int) uint32 {
	for range steps {
		x = x*factor + 1013904223
	}
	return x
}

// variants are ways to open the test device that exercise the code paths of other devices.
var variants = []struct {
	name string
	opts []Option
}{
	{"plain", nil},
	{"vulkan 1.1", []Option{func(c *config) { c.maxAPI = uint32(MakeVersion(1, 1, 0)) }}},
	{"fences", []Option{reshape(func(p *physical) { p.info.Features &^= TimelineSemaphore })}},
	{"staging", []Option{reshape(func(p *physical) { pretendDiscrete(p, memLocal, memVisible|memCoherent|memCached) })}},
	{"staging, not coherent", []Option{reshape(func(p *physical) { pretendDiscrete(p, memLocal, memVisible|memCached) })}},
	{"resizable BAR", []Option{reshape(func(p *physical) {
		pretendDiscrete(p, memLocal|memVisible|memCoherent, memVisible|memCached)
	})}},
}

func reshape(f func(*physical)) Option { return func(c *config) { c.reshape = f } }

// pretendDiscrete replaces a device's only memory type, which supports everything, by two types that each support less.
func pretendDiscrete(p *physical, flags ...memoryFlags) {
	if p.info.Type != CPU {
		return // a real device is not changed
	}
	p.info.Type = DiscreteGPU
	p.types = nil
	for _, f := range flags {
		p.types = append(p.types, memoryType{flags: f})
	}
	p.info.MemoryBytes, p.info.Unified, p.info.ResizableBAR = p.memoryKind()
}

// eachVariant runs a test on every variant of the device.
func eachVariant(t *testing.T, test func(t *testing.T, d *Device)) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { test(t, openTest(t, v.opts...)) })
	}
}

// openTest opens the default device with validation on, and fails the test on any validation message.
func openTest(t testing.TB, opts ...Option) *Device {
	t.Helper()
	// Poisoning counts as submissions, which tests count.
	d, err := Open(append([]Option{Validate(true), CacheDir(""), PoisonMemory(false)}, opts...)...)
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

func writeWords(t testing.TB, b *Buffer, x []uint32) {
	t.Helper()
	raw := make([]byte, 0, 4*len(x))
	for _, v := range x {
		raw = binary.NativeEndian.AppendUint32(raw, v)
	}
	if err := b.Write(context.Background(), 0, raw); err != nil {
		t.Fatal(err)
	}
}

func readWords(t testing.TB, b *Buffer) []uint32 {
	t.Helper()
	raw := make([]byte, b.Size())
	if err := b.Read(context.Background(), 0, raw); err != nil {
		t.Fatal(err)
	}
	x := make([]uint32, len(raw)/4)
	for i := range x {
		x[i] = binary.NativeEndian.Uint32(raw[4*i:])
	}
	return x
}
