package vk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Kernels that are translated ahead are those that a run needs: the driver's cache has as many as without. Texel buffers whose sizes are powers of
// two and others are one case, since the driver's translations of these differ. A second process translates nothing ahead.
func TestTranslatedAhead(t *testing.T) {
	info := openTest(t).Info()
	if !strings.HasPrefix(info.Driver, "llvmpipe") || llvmVersion(info.Name) >= llvmSerial {
		t.Skipf("kernels of %s are not translated ahead", info.Name)
	}
	type result struct{ entries, marks int }
	results := map[string]result{}
	for _, processors := range []string{"1", "2"} {
		env := []string{"MESA_SHADER_CACHE_DIR=" + t.TempDir(), "MESA_SHADER_CACHE_DISABLE=false", "MESA_DISK_CACHE_MULTI_FILE=1",
			"EVORL_TEST_CACHE=" + t.TempDir(), "EVORL_EXACT_BUFFERS=", "GOMAXPROCS=" + processors}
		for _, process := range []string{"first", "second"} {
			out, err := runChild(t, "translated", env...)
			var r result
			if _, scan := fmt.Sscan(out, &r.entries, &r.marks); err != nil || scan != nil {
				t.Fatalf("%s processors, %s process: %v, %v\n%s", processors, process, err, scan, out)
			}
			results[processors+", "+process] = r
		}
	}
	t.Logf("entries of the driver's cache and marks, by processors and process: %v", results)
	alone := results["1, first"].entries
	if alone < 3 {
		t.Fatalf("%d entries in the driver's cache, want at least one for each of three kernels", alone)
	}
	want := map[string]result{"1, first": {alone, 0}, "1, second": {alone, 0}, "2, first": {alone, 3}, "2, second": {alone, 0}}
	for name, w := range want {
		if results[name] != w {
			t.Errorf("processors and process %s: %v, want %v", name, results[name], w)
		}
	}
}

var cacheEntry = regexp.MustCompile(`^[0-9a-f]{38}$`)

func init() {
	children["translated"] = func() (err error) {
		d, err := Open(TranslateAhead(true), CacheDir(os.Getenv("EVORL_TEST_CACHE")))
		if err != nil {
			return err
		}
		before, err := marks()
		if err != nil {
			return err
		}
		p := d.NewProgram("translated")
		for _, words := range []int{4, 16, 1024, 1000, 1} {
			x, err := d.NewBuffer(int64(4*words), Local)
			if err != nil {
				return err
			}
			r := x.All()
			p.Dispatch(spinCall(r, 2))
			p.Dispatch(addCall(r, r, r, words))
			p.Dispatch(Call{Shader: texelsShader, Ranges: []Range{r, r, r, r, r, r}, Push: binary.NativeEndian.AppendUint32(nil, uint32(words)),
				Groups: [3]uint32{4, 1, 1}})
		}
		if err := p.Build(); err != nil {
			return err
		}
		if err := errors.Join(p.Run(context.Background()), d.Close()); err != nil {
			return err
		}
		after, err := marks()
		if err != nil {
			return err
		}
		entries := 0
		err = filepath.WalkDir(os.Getenv("MESA_SHADER_CACHE_DIR"), func(path string, e fs.DirEntry, err error) error {
			if err == nil && cacheEntry.MatchString(e.Name()) {
				entries++
			}
			return err
		})
		fmt.Println(entries, after-before)
		return err
	}
}

// marks counts the marks of the cache.
func marks() (int, error) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("EVORL_TEST_CACHE"), "translated", "*", "*"))
	return len(files), err
}

// Where nothing can be remembered, a warning says so once, and kernels run.
func TestTranslationFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "translated"), nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	var log bytes.Buffer
	t.Setenv("MESA_SHADER_CACHE_DISABLE", "false")
	d := openTest(t, TranslateAhead(true), CacheDir(dir), ExactBuffers(false), Logger(slog.New(slog.NewTextHandler(&log, nil))))
	if d.pipes.translator.dir == "" {
		t.Skip("no translator: one processor, or another driver")
	}
	x := newTestBuffer(t, d, 8, Local)
	writeWords(t, x, make([]uint32, 8))
	p := d.NewProgram("not translated")
	p.Dispatch(spinCall(x.All(), 3))
	p.Dispatch(Call{Shader: spinShader, Spec: []uint32{64, 1}, Ranges: []Range{x.All()}, Push: spinCall(x.All(), 0).Push, Groups: [3]uint32{1, 1, 1}})
	build(t, p)
	run(t, p)
	if got, want := readWords(t, x)[7], spin(0, 1664525, 3); got != want {
		t.Errorf("x = %d, want %d", got, want)
	}
	if n := strings.Count(log.String(), "not translated in parallel"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, &log)
	}
}
