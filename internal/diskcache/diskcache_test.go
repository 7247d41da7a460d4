package diskcache

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", folder)
	c, key, data := Open("kind"), Key("ab", "c"), []byte("what took long")
	if key == Key("a", "bc") {
		t.Error("inputs with other boundaries have the same key")
	}
	if _, ok := c.Get(key); ok {
		t.Error("an empty cache has an entry")
	}
	for _, want := range [][]byte{data, {}} {
		c.Put(key, want)
		if got, ok := c.Get(key); !ok || !bytes.Equal(got, want) {
			t.Errorf("got %q, %v; want %q", got, ok, want)
		}
	}
	c.Put(key, data)
	path := filepath.Join(folder, "evorl", "kind", key)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Clone(whole)
	altered[len(altered)-1] ^= 1
	for name, file := range map[string][]byte{"altered": altered, "cut": whole[:len(whole)-1], "cut to less than a digest": whole[:8], "empty": nil} {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get(key); ok {
			t.Errorf("%s: got %q", name, got)
		}
	}
	c.Put(key, data)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-2*age)); err != nil {
		t.Fatal(err)
	}
	if _, ok := Open("kind").Get(key); ok {
		t.Error("an old entry remains")
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) > 0 {
		t.Errorf("%v remain, %v", files, err)
	}
}

// Without a folder nothing is kept, and nothing fails.
func TestNoFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	c := Open("kind")
	c.Put("key", []byte("data"))
	if _, ok := c.Get("key"); ok {
		t.Error("an entry without a folder")
	}
}
