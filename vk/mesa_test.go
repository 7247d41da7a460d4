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
	"strings"
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

// The software driver gets more threads than processors, or none beside the queue's, but no other number than the user's.
func TestThreadsOfSoftwareDriver(t *testing.T) {
	t.Setenv(threadsVariable, "5") // restores it at the end
	if setThreads(true); os.Getenv(threadsVariable) != "5" {
		t.Errorf("%s is %s, want the 5 that was set before", threadsVariable, os.Getenv(threadsVariable))
	}
	if err := os.Unsetenv(threadsVariable); err != nil {
		t.Fatal(err)
	}
	for _, oneThread := range []bool{false, true, false} {
		setThreads(oneThread)
		n, err := strconv.Atoi(os.Getenv(threadsVariable))
		if got, want := mesaThreads(), map[bool]int{false: runtime.NumCPU(), true: 1}[oneThread]; got != want {
			t.Errorf("%d threads compute at the same time, want %d", got, want)
		}
		if err != nil || oneThread != (n == 0) || !oneThread && n <= runtime.NumCPU() {
			t.Errorf("%s is %q, want more than %d processors, or 0 for one thread: %v", threadsVariable, os.Getenv(threadsVariable), runtime.NumCPU(), oneThread)
		}
	}
}

// A device of one thread has none beside the queue's, whatever other devices of the process have, unless the user chose a number.
func TestOneThread(t *testing.T) {
	for number, want := range map[string]string{"": fmt.Sprint(threadsPerProcessor*runtime.NumCPU(), " 0"), "3": "3 3"} {
		out, err := runChild(t, "threads", threadsVariable+"="+number)
		if err != nil {
			t.Fatalf("%s=%s: %v\n%s", threadsVariable, number, err, out)
		}
		if out != want && out != "none" {
			t.Errorf("%s=%s: a device and one of one thread have %s threads that draw; want %s", threadsVariable, number, out, want)
		}
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

	children["threads"] = func() (err error) {
		count := func() (n int) {
			for _, name := range globNames("/proc/self/task/*/comm") {
				if strings.HasPrefix(name, "llvmpipe-") { // they draw, and are as many as those that compute
					n++
				}
			}
			return n
		}
		before, counts := 0, make([]int, 2)
		for i, options := range [][]Option{nil, {OneThread()}} {
			var d *Device
			if d, err = Open(options...); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, d.Close()) }()
			if !strings.HasPrefix(d.Info().Name, "llvmpipe") || runtime.GOOS != "linux" {
				fmt.Print("none")
				return nil
			}
			now := count()
			before, counts[i] = now, now-before
		}
		fmt.Print(counts[0], " ", counts[1])
		return nil
	}
}

// globNames returns the first words of the files that a pattern matches.
func globNames(pattern string) (names []string) {
	files, _ := filepath.Glob(pattern) // the pattern is valid
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // a thread may have ended
			names = append(names, strings.TrimSpace(string(text)))
		}
	}
	return names
}
