package vk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A cache file that is truncated or has any byte altered counts as missing, and is replaced.
func TestCacheFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "cache")
	data := []byte("what a driver keeps")
	if got := readCache(file); got != nil {
		t.Errorf("a missing file gives %q", got)
	}
	if err := writeCache(file, digestOf(data), data); err != nil {
		t.Fatal(err)
	}
	if got := readCache(file); string(got) != string(data) {
		t.Errorf("read %q, want %q", got, data)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		altered := slices.Clone(raw)
		altered[i] ^= 0x10
		for _, content := range [][]byte{altered, raw[:i]} {
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
			if got := readCache(file); got != nil {
				t.Fatalf("byte %d: %q was accepted", i, got)
			}
		}
	}
	if err := writeCache(file, digestOf(data), data); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// A cache that cannot be written is not an error.
func TestCacheUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d := openTest(t, CacheDir(file)) // a file where a folder should be
	x := newTestBuffer(t, d, 8, Local)
	p := d.NewProgram("cached")
	p.Dispatch(spinCall(x.All(), 1))
	build(t, p)
	run(t, p)
}

// The pipeline cache outlives a process, and garbage in it does no harm.
func TestCacheOnDisk(t *testing.T) {
	dir := t.TempDir()
	use := func() {
		t.Helper()
		d := openTest(t, CacheDir(dir))
		x := newTestBuffer(t, d, 8, Local)
		writeWords(t, x, make([]uint32, 8))
		p := d.NewProgram("cached")
		p.Dispatch(spinCall(x.All(), 3))
		build(t, p)
		run(t, p)
		if got, want := readWords(t, x)[7], spin(0, 1664525, 3); got != want {
			t.Errorf("x = %d, want %d", got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	use()
	use()
	// A correct digest over data that are not the driver's.
	files, _ := filepath.Glob(filepath.Join(dir, "pipelines", "*", "*"))
	for _, f := range files {
		if err := writeCache(f, digestOf([]byte("garbage")), []byte("garbage")); err != nil {
			t.Fatal(err)
		}
	}
	use()
}

const radeonDriver = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"

// AMD's driver compiles without a GPU. Every kernel must compile there, and the disk cache must fill. The test uses child processes,
// since the driver aborts at operations that it does not support.
func TestRadeonNullDevice(t *testing.T) {
	if _, err := os.Stat(radeonDriver); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("AMD's driver is not installed; CI must have it (Debian: mesa-vulkan-drivers)")
		}
		t.Skip("AMD's driver is not installed")
	}
	for _, family := range []string{"polaris10", "navi21"} {
		dir := t.TempDir()
		for run := range 2 { // the second one reads the cache
			out, err := runChild(t, "radeon", "RADV_FORCE_FAMILY="+family, "VK_DRIVER_FILES="+radeonDriver, "EVORL_TEST_CACHE="+dir)
			if err != nil {
				t.Fatalf("%s, run %d: %v\n%s", family, run, err, out)
			}
			t.Logf("%s: %s", family, out)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "pipelines", "*", "*")); len(files) != 2 {
			t.Errorf("%s: cache files %v, want 2", family, files)
		}
	}
}

func init() {
	children["radeon"] = func() error {
		d, err := Open(Validate(true), CacheDir(os.Getenv("EVORL_TEST_CACHE")))
		if err != nil {
			return err
		}
		defer d.Close()
		for _, s := range []*Shader{addShader, spinShader} {
			stats, err := d.Compile(s, nil, d.Info().MaxSubgroupSize)
			if err != nil {
				return err
			}
			if stats.Registers <= 0 || stats.Spills != 0 || stats.ScratchBytes != 0 || len(stats.Statistics) == 0 {
				return fmt.Errorf("kernel %s: %+v", s.Name, stats)
			}
			fmt.Printf("%s on %s: %d registers; ", s.Name, d.Info().Name, stats.Registers)
		}
		// What programs are built from, through the cache.
		if err := d.compileAll([]*pipeline{d.pipeline(addShader, []uint32{64}, 0), d.pipeline(spinShader, []uint32{32, 7}, 64)}); err != nil {
			return err
		}
		// A null device has no memory: that must give an error, not a crash.
		for _, kind := range []Kind{Local, Readback} {
			if b, err := d.NewBuffer(1024, kind); err == nil {
				b.Free()
			} else if kind == Readback && !errors.Is(err, ErrNotMapped) {
				return err
			}
		}
		if err := d.Close(); err != nil {
			return err
		}
		if messages := d.ValidationErrors(); len(messages) > 0 {
			return fmt.Errorf("validation: %s", strings.Join(messages, "\n"))
		}
		return nil
	}
}
