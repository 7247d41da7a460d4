package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFileReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, want := range []string{"one", "two, longer", ""} {
		if err := WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Fatalf("read %q, %v; want %q", got, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("folder holds %v, %v; want the file alone", entries, err)
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.csv"), filepath.Join(dir, "link")
	if err := os.Symlink("a.csv", link); err != nil {
		t.Fatal(err)
	}
	content := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	if err := ReplaceFile(link, []byte("through a link")); err != nil { // to no file yet
		t.Fatal(err)
	}
	content("through a link")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(link, []byte("again")); err != nil {
		t.Fatal(err)
	}
	content("again")
	if to, err := os.Readlink(link); err != nil || to != "a.csv" {
		t.Errorf("the link is to %q, %v; want it as before", to, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600 as before", info.Mode(), err)
	}
	if err := ReplaceFile(os.DevNull, []byte("x")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v; want a device", os.DevNull, info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("folder holds %v, %v; want the file and its link", entries, err)
	}
}

func TestWriteFileFailureLeavesOldContent(t *testing.T) {
	dir := t.TempDir()
	// A folder with content cannot be replaced by a file: the rename fails after everything else succeeded.
	path := filepath.Join(dir, "occupied")
	if err := os.MkdirAll(filepath.Join(path, "child"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x"), 0o644); err == nil {
		t.Fatal("no error")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("folder holds %v, %v; want no temporary file", entries, err)
	}
	if err := WriteFile(filepath.Join(dir, "absent", "f"), nil, 0o644); err == nil {
		t.Fatal("no error for a missing folder")
	}
}
