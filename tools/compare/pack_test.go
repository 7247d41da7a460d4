package main

import (
	"bytes"
	"encoding/gob"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A pack holds the files' bytes, and what files have in common once, wherever it lies in them.
func TestPack(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	draw := func(n int) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b) // has no error
		return b
	}
	common := draw(3 << 20)
	files := map[string][]byte{
		"a": append(draw(12345), common...), "b": append(append(draw(77), common...), draw(200_000)...), "c": nil, "d": draw(1), "e": make([]byte, 1<<20),
	}
	names := []string{"a", "b", "c", "d", "e"}
	from, to := t.TempDir(), t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(from, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	if err := pack(&packed, from, names, seed{}); err != nil {
		t.Fatal(err)
	}
	if n, want := packed.Len(), len(common)+500_000; n > want {
		t.Errorf("a pack of %d bytes; want at most %d, what the files have in common once", n, want)
	}
	if err := unpack(bytes.NewReader(packed.Bytes()), to, seed{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, want) || info.Mode()&0o100 == 0 {
			t.Errorf("%s: %d bytes, %v, %v; want %d as they were, to execute", name, len(got), info.Mode(), err, len(want))
		}
	}
	if err := unpack(bytes.NewReader(packed.Bytes()[:packed.Len()/2]), t.TempDir(), seed{}); err == nil {
		t.Error("half a pack is accepted")
	}
}

// A program that contains a file of the seed, wherever it lies, is packed without it, and unpacked only where that file is the same.
func TestPackSeed(t *testing.T) {
	random := rand.NewChaCha8([32]byte{2})
	draw := func(n int) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b) // has no error
		return b
	}
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	from, to, kernels := t.TempDir(), t.TempDir(), t.TempDir()
	var program []byte
	for _, name := range []string{"b", "a/c", "a/d"} { // not in the folder's order
		kernel := draw(40_000)
		write(filepath.Join(kernels, filepath.FromSlash(name)), kernel)
		program = append(append(program, draw(777)...), kernel...)
	}
	write(filepath.Join(from, "x"), program)
	read := func() seed {
		t.Helper()
		s, err := readSeed(kernels)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var packed bytes.Buffer
	if err := pack(&packed, from, []string{"x"}, read()); err != nil {
		t.Fatal(err)
	}
	if n := packed.Len(); n > len(program)/10 {
		t.Errorf("a pack of %d bytes for a program of %d, nearly all of which is in the seed", n, len(program))
	}
	if err := unpack(bytes.NewReader(packed.Bytes()), to, read()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "x")); err != nil || !bytes.Equal(got, program) {
		t.Errorf("unpacked %d bytes, %v; want the program's %d", len(got), err, len(program))
	}
	write(filepath.Join(kernels, "b"), draw(40_000))
	if err := unpack(bytes.NewReader(packed.Bytes()), to, read()); err == nil || !strings.Contains(err.Error(), "other files in shaders") {
		t.Errorf("another seed: error %v", err)
	}
}

// A pack of another program is refused before anything is written elsewhere.
func TestUnpackRefuses(t *testing.T) {
	for want, file := range map[string]packed{
		`"../x" is no name`: {Name: "../x"}, "piece 3 of 0": {Name: "x", Pieces: []piece{{Same: 3}}}, "piece -1": {Name: "x", Pieces: []piece{{Same: -1}}},
	} {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		to := gob.NewEncoder(z)
		for _, x := range []any{header{}, file} {
			if err := to.Encode(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&b, folder, seed{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
}

// A pack without tests serves only where none are wanted.
func TestPackWithoutTests(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, measureName), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := complete(folder, "pack", false); err != nil {
		t.Error(err)
	}
	if err := complete(folder, "pack", true); err == nil || !strings.Contains(err.Error(), "-tests=false") {
		t.Errorf("error %v; want one that names -tests=false", err)
	}
}
