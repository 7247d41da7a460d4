// Package regular opens files in folders that others may write to. It opens regular files only, so that a device, a pipe or a link in
// place of a file gives an error instead of a hang, exhausted memory or the loss of the link's target.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is the error of a path that is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// TooLargeError is the error of a file above the size limit.
type TooLargeError struct {
	Size, Most int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes: want at most %d", e.Size, e.Most)
}

// Open is os.OpenFile for regular files that are not symbolic links. With os.O_CREATE it creates a missing file.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	return open(path, flag|noFollow, perm)
}

// ReadFile is os.ReadFile for regular files that are not symbolic links, of at most the given number of bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, most)
}

// ReadLinked is ReadFile for a file named by the user, which may be a symbolic link to a regular file.
func ReadLinked(path string, most int64) ([]byte, error) {
	f, err := open(path, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, most)
}

// open checks the opened file. A check before opening could see a different file if the folder changes in between.
func open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func read(f *os.File, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		size := int64(len(data))
		if info, err := f.Stat(); err == nil {
			size = max(size, info.Size())
		}
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: &TooLargeError{size, most}}
	}
	return data, nil
}

func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
}
