package wheel

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for of, want := range map[string]string{
		"v0.1.0": "0.1.0", "v0.1.0-5-gabc12": "0.1.0.post5+gabc12", "v0.1.0-5-gabc12-dirty": "0.1.0.post5+gabc12.dirty", "v1.2-dirty": "1.2+dirty",
		"abc12": "0.0.0+gabc12", "abc12-dirty": "0.0.0+gabc12.dirty", "my build": "0.0.0+my.build",
	} {
		if got := Version(of); got != want {
			t.Errorf("%s: %s; want %s", of, got, want)
		}
	}
}

// A wheel has every file of the package with its digest, the program, which may be run, and the same bytes every time.
func TestNew(t *testing.T) {
	w, err := New("windows/amd64", "v0.1.0", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	if w.Name != "evorlgpu-0.1.0-py3-none-win_amd64.whl" {
		t.Error(w.Name)
	}
	if again, err := New("windows/amd64", "v0.1.0", []byte("program")); err != nil || !bytes.Equal(w.Data, again.Data) {
		t.Errorf("%v, other bytes", err)
	}
	in, err := zip.NewReader(bytes.NewReader(w.Data), int64(len(w.Data)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		texts[f.Name] = string(text)
		if f.Name == "evorlgpu/bin/evorl.exe" && f.Mode() != 0o755 {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	modules, err := filepath.Glob("evorlgpu/*.py")
	if err != nil || len(modules) == 0 {
		t.Fatalf("%v, %v", modules, err)
	}
	record := texts["evorlgpu-0.1.0.dist-info/RECORD"]
	for _, name := range append(modules, "evorlgpu/py.typed", "evorlgpu/bin/evorl.exe", "evorlgpu-0.1.0.dist-info/METADATA", "evorlgpu-0.1.0.dist-info/WHEEL") {
		text, there := texts[name]
		sum := sha256.Sum256([]byte(text))
		if !there || !strings.Contains(record, name+",sha256="+base64.RawURLEncoding.EncodeToString(sum[:])+",") {
			t.Errorf("%s is not in the wheel, or not in its record", name)
		}
	}
	if !strings.Contains(texts["evorlgpu-0.1.0.dist-info/WHEEL"], "Tag: py3-none-win_amd64\n") {
		t.Error(texts["evorlgpu-0.1.0.dist-info/WHEEL"])
	}
}

// The tag of a program for Linux is that of the glibc whose functions it imports; a program of another machine is refused.
func TestPlatform(t *testing.T) {
	if runtime.GOOS != "linux" || !slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH) {
		t.Skip("the program of this system is no wheel's for Linux")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	program, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	architecture := map[string]string{"amd64": "_x86_64", "arm64": "_aarch64"}[runtime.GOARCH]
	tag, err := platform("linux/"+runtime.GOARCH, program)
	if err != nil || !strings.HasPrefix(tag, "manylinux_2_") || !strings.HasSuffix(tag, architecture) {
		t.Errorf("%s, %v", tag, err)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for _, target := range []string{"linux/" + other, "darwin/arm64", "plan9/mips"} {
		if tag, err := platform(target, program); err == nil {
			t.Errorf("%s: %s", target, tag)
		}
	}
}
