package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/catalog"
	"github.com/evorl/evorl/internal/durable"
	"github.com/evorl/evorl/internal/regular"
)

// Names of the files in the folder of a sweep. Runs are in folders beside them.
const (
	File     = "sweep.toml"
	BaseFile = "base.toml"
)

// Files are the files of a sweep.
type Files struct {
	Sweep, Base []byte
	Source      *catalog.Source // the file that the base configuration names; nil: none
}

// list lists the files, sweep.toml last: a folder without it has no sweep yet.
func (f Files) list() []catalog.Source {
	all := []catalog.Source{{Name: BaseFile, Text: f.Base}, {Name: File, Text: f.Sweep}}
	if f.Source != nil {
		all = append([]catalog.Source{*f.Source}, all...)
	}
	return all
}

// Write writes the files of a new sweep, unless the folder has it already. What a killed process left there is completed.
func (f Files) Write(folder string) error {
	if has, err := f.In(folder); has || err != nil {
		return err
	}
	files := f.list()
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !leftover(folder, e.Name(), files) {
			return fmt.Errorf("sweep folder %s: %w: %s is not of this sweep", folder, rundir.ErrNotEmpty, e.Name())
		}
	}
	for _, f := range files {
		if err := durable.WriteFile(filepath.Join(folder, f.Name), f.Text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// leftover reports whether a file in the folder of a sweep is its lock or of a killed process that wrote these files.
func leftover(folder, name string, files []catalog.Source) bool {
	for _, f := range files {
		if durable.IsTemporary(name, f.Name) {
			return true
		}
		if text, err := regular.ReadFile(filepath.Join(folder, name), catalog.MaxSource); name == f.Name && err == nil && bytes.Equal(text, f.Text) {
			return true
		}
	}
	return name == rundir.LockFile
}

// In reports whether a folder has a sweep, which must be this one.
func (f Files) In(folder string) (bool, error) {
	stored, err := regular.ReadLinked(filepath.Join(folder, File), catalog.MaxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	base, err := regular.ReadLinked(filepath.Join(folder, BaseFile), catalog.MaxSource)
	if err == nil && (!bytes.Equal(stored, f.Sweep) || !bytes.Equal(base, f.Base)) {
		err = fmt.Errorf("%s has another sweep: want the same settings, or another folder", folder)
	}
	return true, err
}
