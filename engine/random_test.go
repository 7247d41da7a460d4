package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/vk"
)

// testDevice opens the device that kernels are tested on.
func testDevice(t testing.TB) *vk.Device {
	t.Helper()
	dev, err := vk.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// words allocates a buffer of 32-bit words in device memory.
func wordBuffer(t testing.TB, dev *vk.Device, words []uint32) *vk.Buffer {
	t.Helper()
	buffer, err := dev.NewBuffer(int64(4*len(words)), vk.Local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(buffer.Free)
	var data []byte
	for _, w := range words {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	if err := buffer.Write(context.Background(), 0, data); err != nil {
		t.Fatal(err)
	}
	return buffer
}

func poisoned(n int) []uint32 {
	words := make([]uint32, n)
	for i := range words {
		words[i] = poison
	}
	return words
}

func readWords(t testing.TB, buffer *vk.Buffer, n int) []uint32 {
	t.Helper()
	data := make([]byte, 4*n)
	if err := buffer.Read(context.Background(), 0, data); err != nil {
		t.Fatal(err)
	}
	words := make([]uint32, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return words
}

// dispatch runs one call.
func dispatch(t testing.TB, dev *vk.Device, call vk.Call) {
	t.Helper()
	p := dev.NewProgram(call.Label)
	defer p.Free()
	p.Dispatch(call)
	if err := p.Build(); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func groups(n, size uint32) uint32 { return (n + size - 1) / size }

// The kernel's integers and uniform numbers have the bits of Rng's, its normal numbers agree to rounding; it writes nothing
// outside its matrix.
func TestRandomKernelDrawsAsRng(t *testing.T) {
	const guard = 5
	dev := testDevice(t)
	for _, size := range [][2]uint32{{1, 1}, {3, 7}, {5, 4}, {2, 257}, {7, 1001}} {
		rows, columns := size[0], size[1]
		for kind, name := range []string{"uint", "uniform", "normal"} {
			t.Run(fmt.Sprintf("%dx%d_%s", rows, columns, name), func(t *testing.T) {
				n := int(rows * columns)
				buffer := wordBuffer(t, dev, poisoned(n+guard))
				k := randomKernel{Values: buffer.All(), Seed: 0xdeadbeef, Stream: Stream("test"), Member: 11, Environment: 3, Step: 1 << 31,
					Columns: columns, Offset: -0.75, Scale: 2.5, LocalSizeX: 32, Kind: uint32(kind)}
				block := uint32(4)
				if name == "normal" {
					block = 2
				}
				dispatch(t, dev, k.call(groups(columns, 32*block), rows, 1))
				got := readWords(t, buffer, n+guard)
				for row := range rows {
					r := NewRng(k.Seed, k.Stream, k.Member+row, k.Environment, k.Step)
					for column := range columns {
						checkDraw(t, name, r, k, row, column, got[row*columns+column])
					}
				}
				for i, w := range got[n:] {
					if w != poison {
						t.Errorf("word %d past the end was written: %#x", i, w)
					}
				}
			})
		}
	}
}

func checkDraw(t *testing.T, name string, r *Rng, k randomKernel, row, column, got uint32) {
	t.Helper()
	var want uint32
	switch name {
	case "uint":
		want = r.Uint32()
	case "uniform":
		want = math.Float32bits(k.Offset + float32(k.Scale*r.Uniform()))
	case "normal":
		x, y := float64(math.Float32frombits(got)), float64(k.Offset)+float64(k.Scale)*float64(r.Normal())
		// A few roundings of numbers up to 5.8 · scale; the square root is off by 3 ulp at most (Vulkan, precision of sqrt).
		if !(math.Abs(x-y) <= 4e-6) {
			t.Errorf("normal number (%d, %d): %v, want %v", row, column, x, y)
		}
		return
	}
	if got != want {
		t.Errorf("%s (%d, %d): %#x, want %#x", name, row, column, got, want)
	}
}
