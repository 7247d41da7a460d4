package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// Archives hold the program, which may be run, and what goes with it; the same content gives the same bytes.
func TestPack(t *testing.T) {
	t.Chdir("../..")
	for _, target := range []string{"linux/arm64", "windows/amd64"} {
		first, err := pack(target, "evorl-1", []byte("program"))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := pack(target, "evorl-1", []byte("program")); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: %v, other bytes", target, err)
		}
		modes := map[string]os.FileMode{}
		if target == "windows/amd64" {
			in, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range in.File {
				modes[f.Name] = f.Mode()
			}
		} else {
			compressed, err := gzip.NewReader(bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			for in := tar.NewReader(compressed); ; {
				h, err := in.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				modes[h.Name] = h.FileInfo().Mode()
			}
		}
		program := map[string]string{"linux/arm64": "evorl-1/evorl", "windows/amd64": "evorl-1/evorl.exe"}[target]
		if modes[program] != 0o755 || modes["evorl-1/README.md"] != 0o644 || modes["evorl-1/configs/pbt.toml"] != 0o644 {
			t.Errorf("%s: %v", target, modes)
		}
	}
}

// The bill has the modules of a program that Go built, this test.
func TestBill(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := billOf(program, "v1")
	var b bill
	if err != nil || json.Unmarshal(text, &b) != nil || b.Format != "CycloneDX" || b.Metadata.Component.Version != "v1" || len(b.Components) == 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	if c := b.Components[0]; c.Name != "std" || !strings.HasPrefix(c.URL, "pkg:golang/std@go1.") {
		t.Errorf("%+v", c)
	}
	if _, err := billOf([]byte("no program"), "v1"); err == nil {
		t.Error("a bill of no program")
	}
}

func TestTargets(t *testing.T) {
	if err := release(t.TempDir(), []string{"plan9/mips"}, "v1"); err == nil || !strings.Contains(err.Error(), `target "plan9/mips"`) {
		t.Error(err)
	}
}
