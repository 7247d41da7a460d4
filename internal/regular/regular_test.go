//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(path("file"), []byte("text"), 0o644), os.Symlink(path("file"), path("link")), os.Symlink(path("none"), path("dangling")),
		unix.Mkfifo(path("pipe"), 0o644), os.Symlink(path("pipe"), path("link to pipe")), os.Mkdir(path("folder"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if data, err := ReadFile(path("file"), 4); err != nil || string(data) != "text" {
		t.Errorf("file: %q, %v", data, err)
	}
	if data, err := ReadLinked(path("link"), 4); err != nil || string(data) != "text" {
		t.Errorf("link that may be followed: %q, %v", data, err)
	}
	for _, name := range []string{"link", "dangling", "pipe", "link to pipe", "folder"} {
		if _, err := ReadFile(path(name), 100); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: error %v; want ErrNotRegular", name, err)
		}
		if f, err := Open(path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err == nil {
			f.Close()
			t.Errorf("%s: opened for writing", name)
		}
	}
	for _, name := range []string{path("link to pipe"), path("folder"), "/dev/zero"} {
		if _, err := ReadLinked(name, 100); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: error %v; want ErrNotRegular", name, err)
		}
	}
	if _, err := os.Stat(path("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dangling link was followed: %v", err)
	}
	var large *TooLargeError
	if _, err := ReadFile(path("file"), 3); !errors.As(err, &large) || large.Size != 4 || large.Most != 3 {
		t.Errorf("error %v; want a *TooLargeError of 4 bytes", err)
	}
	if _, err := ReadFile(path("absent"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v; want ErrNotExist", err)
	}
}
