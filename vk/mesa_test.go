package vk

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

//go:embed testdata/total.spv
var totalSPIRV []byte

// Compiled code for one width of vectors must not be loaded for another.
func TestVectorWidthsHaveCaches(t *testing.T) {
	dir := t.TempDir()
	for _, width := range []string{"256", "128", "256"} {
		out, err := runChild(t, "total", "LP_NATIVE_VECTOR_WIDTH="+width, "MESA_SHADER_CACHE_DIR="+dir, "MESA_SHADER_CACHE_DISABLE=false")
		if err != nil {
			t.Fatalf("vectors of %s bits: %v\n%s", width, err, out)
		}
		t.Logf("vectors of %s bits: %s", width, out)
	}
	if again := filepath.Join("mesa-vectors-128", "mesa-vectors-128"); len(glob(t, dir, again)) > 0 {
		t.Errorf("%s in the cache, want one level", again)
	}
}

// The software driver gets more threads than processors, but no other number than the user's.
func TestThreadsOfSoftwareDriver(t *testing.T) {
	const variable = "LP_NUM_THREADS"
	t.Setenv(variable, "5") // restores it at the end
	if addThreads(); os.Getenv(variable) != "5" {
		t.Errorf("%s is %s, want the 5 that was set before", variable, os.Getenv(variable))
	}
	if err := os.Unsetenv(variable); err != nil {
		t.Fatal(err)
	}
	addThreads()
	if n, err := strconv.Atoi(os.Getenv(variable)); err != nil || n <= runtime.NumCPU() {
		t.Errorf("%s is %q, want more than %d processors", variable, os.Getenv(variable), runtime.NumCPU())
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func init() {
	shader := &Shader{Name: "total", SPIRV: SPIRV(totalSPIRV), Bindings: []Binding{{Name: "totals", Index: 0, Access: Write}},
		LocalSize: [3]uint32{64, 1, 1}, LocalSizeSpec: [3]int32{-1, -1, -1}}
	children["total"] = func() (err error) {
		d, err := Open()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		b, err := d.NewBuffer(4, Readback)
		if err != nil {
			return err
		}
		p := d.NewProgram("total")
		defer p.Free()
		p.Dispatch(Call{Shader: shader, Ranges: []Range{b.All()}, Groups: [3]uint32{1, 1, 1}})
		if err := p.Build(); err != nil {
			return err
		}
		if err := p.Run(context.Background()); err != nil {
			return err
		}
		raw := make([]byte, 4)
		if err := b.Read(context.Background(), 0, raw); err != nil {
			return err
		}
		if got, want := binary.NativeEndian.Uint32(raw), d.Info().SubgroupSize; got != want {
			return fmt.Errorf("a subgroup adds %d ones, and the device reports subgroups of %d", got, want)
		}
		fmt.Printf("subgroups of %d", d.Info().SubgroupSize)
		return nil
	}
}
