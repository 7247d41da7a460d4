package main

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	if err := pack(&packed, from, names); err != nil {
		t.Fatal(err)
	}
	if n, want := packed.Len(), len(common)+500_000; n > want {
		t.Errorf("a pack of %d bytes; want at most %d, what the files have in common once", n, want)
	}
	if err := unpack(bytes.NewReader(packed.Bytes()), to); err != nil {
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
	if err := unpack(bytes.NewReader(packed.Bytes()[:packed.Len()/2]), t.TempDir()); err == nil {
		t.Error("half a pack is accepted")
	}
}

// A pack of another program is refused before anything is written elsewhere.
func TestUnpackRefuses(t *testing.T) {
	for want, file := range map[string]packed{
		`"../x" is no name`: {Name: "../x"}, "piece 3 of 0": {Name: "x", Pieces: []piece{{Same: 3}}}, "piece -1": {Name: "x", Pieces: []piece{{Same: -1}}},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if err := gob.NewEncoder(z).Encode(file); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&b, folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
}
