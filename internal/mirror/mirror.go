// Package mirror copies the folder of a run to another machine while the run goes on there: a Source says what has changed, and Apply makes the same changes
// to the copy, which can be resumed at any time.
package mirror

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/durable"
)

// File is a file of a run's folder, or what was added to it.
type File struct {
	Name   string // below the folder, with slashes
	Offset int64  // where Data begins, if Grows; what follows it is replaced
	Grows  bool
	Data   []byte
}

// Change is what has changed in a folder.
type Change struct {
	Files   []File
	Removed []string // checkpoints
}

// Files of a run's folder, by how they change.
var (
	growing  = regexp.MustCompile(`^((metrics|members|lineage)\.jsonl|tensorboard/events\.out\.tfevents\.[A-Za-z0-9._-]+)$`)
	constant = regexp.MustCompile(`^((checkpoints|best)/[0-9]{8,18})/(manifest\.json|tensors\.safetensors)$`) // a checkpoint is complete when it is there
	replaced = regexp.MustCompile(`^([^./\\][^/\\]*\.(glsl|json)|provenance\.json|config\.toml)$`)
	saved    = regexp.MustCompile(`^(checkpoints|best)/[0-9]{8,18}$`)
)

// scratch begins the name of a checkpoint that is not complete, as package checkpoint has it, which removes such as are left.
const scratch = ".tmp-"

// most is the largest change, in bytes: a message has all of it.
const most = 500 << 20

// Source is the folder of a run, and what was said of it.
type Source struct {
	folder string
	known  map[string]state
}

type state struct {
	size int64
	at   time.Time
}

// NewSource returns the source of a folder of which nothing was said.
func NewSource(folder string) *Source { return &Source{folder, map[string]state{}} }

// Change returns what has changed since the last one. Nobody may write to the folder meanwhile.
func (s *Source) Change() (*Change, error) {
	c, now, total := &Change{}, map[string]state{}, int64(0)
	err := filepath.WalkDir(s.folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.folder, file)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); !ofRun(name) {
			return nil // the lock, a temporary file, or the user's
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		of := state{info.Size(), info.ModTime()}
		before, known := s.known[name]
		now[name] = of
		if known && before == of {
			return nil
		}
		f := File{Name: name, Grows: growing.MatchString(name)}
		if f.Grows && known && before.size <= of.size {
			f.Offset = before.size
		}
		if total += of.size - f.Offset; total > most {
			return fmt.Errorf("%s: its new files have more than %d bytes: want a smaller run, or one that other machines do not do", s.folder, int64(most))
		}
		f.Data, err = read(file, f.Offset)
		c.Files = append(c.Files, f)
		return err
	})
	for name := range s.known {
		if found := constant.FindStringSubmatch(name); found != nil && !slices.Contains(c.Removed, found[1]) {
			if _, kept := now[name]; !kept {
				c.Removed = append(c.Removed, found[1])
			}
		}
	}
	slices.Sort(c.Removed)
	s.known = now
	return c, err
}

// Cut takes note that records may have been cut off, as a run that is resumed does with those after its checkpoint, before more are added: the next change has
// what follows the cut.
func (s *Source) Cut() error {
	for name, of := range s.known {
		if !growing.MatchString(name) {
			continue
		}
		info, err := os.Stat(filepath.Join(s.folder, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if info.Size() < of.size {
			s.known[name] = state{size: info.Size()}
		}
	}
	return nil
}

func ofRun(name string) bool {
	return growing.MatchString(name) || constant.MatchString(name) || replaced.MatchString(name)
}

// read reads the rest of a file.
func read(file string, offset int64) (_ []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// RefusedError: a change is none of a run's folder, or does not follow what the copy has. Whoever sent it is wrong, not this machine.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Apply makes a change to a copy of the folder. It refuses names that no run's folder has (*RefusedError), so that nothing else can be written. If it is
// interrupted, the copy has its last complete checkpoint and at least the records up to that.
func (c *Change) Apply(folder string) error {
	for _, f := range c.Files {
		if !ofRun(f.Name) || f.Offset < 0 || f.Offset > 0 && !f.Grows || f.Grows != growing.MatchString(f.Name) {
			return refuse("%q, from byte %d, is no file of a run's folder: want the same version of evorl", f.Name, f.Offset)
		}
	}
	for _, name := range c.Removed {
		if !saved.MatchString(name) {
			return refuse("%q is no checkpoint of a run's folder: want the same version of evorl", name)
		}
	}
	for _, f := range c.Files { // records before the checkpoint that they lead to
		if f.Grows {
			if err := grow(filepath.Join(folder, filepath.FromSlash(f.Name)), f); err != nil {
				return err
			}
		}
	}
	if err := c.save(folder); err != nil {
		return err
	}
	for _, last := range []bool{false, true} { // a folder with a configuration has a run
		for _, f := range c.Files {
			if replaced.MatchString(f.Name) && last == (f.Name == rundir.ConfigFile) {
				if err := durable.WriteFile(filepath.Join(folder, f.Name), f.Data, 0o644); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range c.Removed {
		if err := os.RemoveAll(filepath.Join(folder, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// grow adds to a file.
func grow(file string, f File) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	info, err := to.Stat()
	if err != nil {
		return err
	}
	if info.Size() < f.Offset {
		return refuse("%s has %d bytes, and more is added at %d: want the file as the worker's was", file, info.Size(), f.Offset)
	}
	if err := to.Truncate(f.Offset); err != nil {
		return err
	}
	if _, err := to.WriteAt(f.Data, f.Offset); err != nil {
		return err
	}
	return to.Sync()
}

// save writes checkpoints, each at once: their files beside them first.
func (c *Change) save(folder string) error {
	all := map[string][]File{}
	for _, f := range c.Files {
		if found := constant.FindStringSubmatch(f.Name); found != nil {
			all[found[1]] = append(all[found[1]], f)
		}
	}
	for name, files := range all {
		to := filepath.Join(folder, filepath.FromSlash(name))
		from := filepath.Join(filepath.Dir(to), scratch+filepath.Base(to))
		if err := errors.Join(os.RemoveAll(from), os.MkdirAll(from, 0o755)); err != nil {
			return err
		}
		for _, f := range files {
			if err := durable.WriteFile(filepath.Join(from, path.Base(f.Name)), f.Data, 0o644); err != nil {
				return err
			}
		}
		if err := errors.Join(os.RemoveAll(to), os.Rename(from, to), durable.SyncDir(filepath.Dir(to))); err != nil {
			return err
		}
	}
	return nil
}
