package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/evorl/evorl/internal/regular"
)

// ErrNone is the error of a folder without a usable checkpoint.
var ErrNone = errors.New("no checkpoint")

// CorruptError is the error of a refused checkpoint.
type CorruptError struct {
	Path string // of the file, or of the checkpoint's folder
	What string // the defect
	Err  error  // the cause, or nil
}

func (e *CorruptError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("checkpoint refused: %s: %s: %v", e.Path, e.What, e.Err)
	}
	return fmt.Sprintf("checkpoint refused: %s: %s", e.Path, e.What)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Checkpoint is a verified checkpoint.
type Checkpoint struct {
	Path     string // its folder
	Manifest Manifest
}

// Open verifies the checkpoint in a folder and reads all of it once. Any defect is a [*CorruptError].
func Open(path string) (*Checkpoint, error) {
	m, err := openManifest(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(path, tensorsFile)
	f, err := regular.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, &CorruptError{name, "cannot be read", err}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, &CorruptError{name, "cannot be read", err}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != m.FileSHA256 {
		return nil, &CorruptError{Path: name, What: fmt.Sprintf("its SHA-256 is %s; the manifest says %s", got, m.FileSHA256)}
	}
	tensors, _, err := ReadSafetensors(f, m.FileBytes)
	if err != nil {
		return nil, &CorruptError{name, "bad header", err}
	}
	if !slices.EqualFunc(tensors, m.Tensors, func(t Tensor, d TensorDigest) bool {
		return t.Name == d.Name && t.DType == d.DType && slices.Equal(t.Shape, d.Shape)
	}) {
		return nil, &CorruptError{Path: name, What: "its tensors are not those of the manifest"}
	}
	return &Checkpoint{path, m}, nil
}

// openManifest checks the manifest and the size of the tensor file. Its cost does not depend on the size of the checkpoint.
func openManifest(path string) (Manifest, error) {
	name := filepath.Join(path, manifestFile)
	text, err := regular.ReadFile(name, maxManifestBytes)
	if err != nil {
		return Manifest{}, &CorruptError{name, "cannot be read", err}
	}
	m, err := parseManifest(text)
	if err != nil {
		return Manifest{}, &CorruptError{name, "bad manifest", err}
	}
	if step, ok := parseFolderName(filepath.Base(path)); ok && step != m.Step {
		return Manifest{}, &CorruptError{Path: name, What: fmt.Sprintf("it is of step %d, its folder of step %d", m.Step, step)}
	}
	name = filepath.Join(path, tensorsFile)
	info, err := os.Lstat(name)
	if err != nil {
		return Manifest{}, &CorruptError{name, "cannot be read", err}
	}
	if info.Size() != m.FileBytes {
		return Manifest{}, &CorruptError{Path: name, What: fmt.Sprintf("it has %d bytes; the manifest says %d", info.Size(), m.FileBytes)}
	}
	return m, nil
}

// Latest returns the newest valid checkpoint in dir, and the newer ones that it refused, newest first. If there is no valid
// checkpoint, the error is [ErrNone]: without refusals the folder is empty or missing, otherwise all checkpoints were refused.
func Latest(dir string) (*Checkpoint, []*CorruptError, error) {
	steps, err := Steps(dir)
	if err != nil {
		return nil, nil, err
	}
	var refused []*CorruptError
	for _, step := range slices.Backward(steps) {
		path := filepath.Join(dir, folderName(step))
		c, err := Open(path)
		if err == nil {
			return c, refused, nil
		}
		if _, gone := os.Stat(path); errors.Is(gone, fs.ErrNotExist) {
			continue // removed by the run after it was listed
		}
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			return nil, refused, err
		}
		refused = append(refused, corrupt)
	}
	if len(refused) > 0 {
		return nil, refused, fmt.Errorf("%w can be used in %s: all %d are refused", ErrNone, dir, len(refused))
	}
	return nil, nil, fmt.Errorf("%w in %s", ErrNone, dir)
}

// Path returns the folder of the checkpoint of a step.
func Path(dir string, step int64) string { return filepath.Join(dir, folderName(step)) }

// Steps lists the steps of all checkpoints in dir, valid or not, in ascending order. A missing folder has none.
func Steps(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var steps []int64
	for _, e := range entries {
		if step, ok := parseFolderName(e.Name()); ok && e.IsDir() {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// Prune removes all but the newest keep checkpoints of dir up to the step that was just written. A checkpoint with a wrong manifest or size does not count
// towards keep, so that valid ones stay. Newer ones stay too and do not count: a run that writes an earlier step may have found them damaged.
func Prune(dir string, keep int, written int64) error {
	if keep < 1 {
		return fmt.Errorf("prune checkpoints of %s: keep %d: want at least 1", dir, keep)
	}
	steps, err := Steps(dir)
	if err != nil {
		return err
	}
	kept := 0
	for _, step := range slices.Backward(steps) {
		path := filepath.Join(dir, folderName(step))
		if step > written {
			continue
		}
		if kept < keep {
			if _, err := openManifest(path); err == nil {
				kept++
			}
			continue
		}
		if err := Remove(dir, step); err != nil {
			return fmt.Errorf("prune checkpoints: %w", err)
		}
	}
	return nil
}

// Remove removes the checkpoint of a step. Removal is atomic for readers.
func Remove(dir string, step int64) error {
	gone := filepath.Join(dir, scratchPrefix+"pruned-"+folderName(step))
	if err := os.Rename(Path(dir, step), gone); err != nil {
		return fmt.Errorf("remove checkpoint: %w", err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("remove checkpoint: %w", err)
	}
	return nil
}

// Load passes every tensor to visit, sorted by name. It verifies the bytes again as they are read, since the file may have
// changed since Open. A mismatch is a [*CorruptError]; visit has then already seen the data, and the caller must discard
// what it filled. visit must read all of Data.
func (c *Checkpoint) Load(visit func(Tensor) error) error {
	if c == nil || visit == nil {
		return errors.New("load a checkpoint: the checkpoint or the function that takes its tensors is nil")
	}
	name := filepath.Join(c.Path, tensorsFile)
	f, err := regular.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return &CorruptError{name, "cannot be read", err}
	}
	defer f.Close()
	tensors, _, err := ReadSafetensors(f, c.Manifest.FileBytes)
	if err != nil {
		return &CorruptError{name, "bad header", err}
	}
	digests := make(map[string]string, len(tensors))
	for _, d := range c.Manifest.Tensors {
		digests[d.Name] = d.SHA256
	}
	slices.SortFunc(tensors, func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range tensors {
		v := &countingHash{Hash: sha256.New()}
		t.Data = io.TeeReader(t.Data, v)
		if err := visit(t); err != nil {
			return fmt.Errorf("load tensor %q of %s: %w", t.Name, c.Path, err)
		}
		if n, err := t.Bytes(); err != nil || v.n != n {
			return fmt.Errorf("load tensor %q of %s: only %d of its %d bytes were read", t.Name, c.Path, v.n, n)
		}
		if hex.EncodeToString(v.Sum(nil)) != digests[t.Name] {
			return &CorruptError{Path: name, What: fmt.Sprintf("tensor %q has changed since the file was verified", t.Name)}
		}
	}
	return nil
}

func folderName(step int64) string { return fmt.Sprintf("%08d", step) }

func parseFolderName(name string) (int64, bool) {
	step, err := strconv.ParseInt(name, 10, 64)
	return step, err == nil && step >= 0 && folderName(step) == name
}
