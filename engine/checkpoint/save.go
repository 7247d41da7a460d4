package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorl/evorl/internal/durable"
)

const (
	tensorsFile  = "tensors.safetensors"
	manifestFile = "manifest.json"
	// Folders with this prefix are unfinished or replaced. They are never read, and the next Save removes them.
	scratchPrefix = ".tmp-"
)

// Option configures [Save].
type Option func(*options)

type options struct {
	version    string
	provenance map[string]string
	before     func() error
	create     func(path string) (file, error) // os.Create; tests simulate a full disk
}

type file interface {
	io.WriteCloser
	Sync() error
}

// Before calls check, unless nil, before anything is written. Save returns its error.
func Before(check func() error) Option {
	return func(o *options) {
		if check != nil {
			o.before = check
		}
	}
}

// Version records the version of the program in the manifest.
func Version(v string) Option { return func(o *options) { o.version = v } }

// Provenance records facts about the run in the manifest, such as seed, device and driver.
func Provenance(facts map[string]string) Option { return func(o *options) { o.provenance = facts } }

// Save writes the checkpoint of a step into dir, which it creates if missing, and returns its manifest. The tensors are
// stored sorted by name. Each Data is read once, while it is written. An earlier checkpoint of the same step is
// replaced. After a failure (a full disk, a read error) nothing of the attempt remains, and earlier checkpoints are unchanged.
//
// Only one Save may run in a folder at a time, since it removes the remains of interrupted ones.
func Save(dir string, step int64, tensors iter.Seq[Tensor], opts ...Option) (_ Manifest, err error) {
	o := options{before: func() error { return nil }, create: func(path string) (file, error) { return os.Create(path) }}
	defer func() {
		if err != nil {
			err = fmt.Errorf("save checkpoint %d in %s: %w", step, dir, err)
		}
	}()
	for _, opt := range opts {
		if opt == nil {
			return Manifest{}, errors.New("an option is nil")
		}
		opt(&o)
	}
	if tensors == nil {
		return Manifest{}, errors.New("the tensors are nil")
	}
	if step < 0 {
		return Manifest{}, errors.New("the step is negative")
	}
	if err := o.before(); err != nil {
		return Manifest{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Manifest{}, err
	}
	if err := removeScratch(dir); err != nil {
		return Manifest{}, err
	}
	scratch := filepath.Join(dir, scratchPrefix+folderName(step))
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return Manifest{}, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(scratch)
		}
	}()
	m, err := writeFolder(scratch, step, tensors, o)
	if err != nil {
		return Manifest{}, err
	}
	if err := durable.SyncDir(scratch); err != nil {
		return Manifest{}, err
	}
	if err := replaceFolder(scratch, filepath.Join(dir, folderName(step))); err != nil {
		return Manifest{}, err
	}
	return m, durable.SyncDir(dir)
}

// writeFolder writes and syncs the two files of a checkpoint.
func writeFolder(folder string, step int64, tensors iter.Seq[Tensor], o options) (Manifest, error) {
	sorted := slices.SortedFunc(tensors, func(a, b Tensor) int { return cmp.Compare(a.Name, b.Name) })
	sums := make([]hash.Hash, len(sorted))
	for i := range sorted {
		if sorted[i].Data != nil {
			sums[i] = sha256.New()
			sorted[i].Data = io.TeeReader(sorted[i].Data, sums[i])
		}
	}
	whole := &countingHash{Hash: sha256.New()}
	err := writeSynced(filepath.Join(folder, tensorsFile), o, func(w io.Writer) error {
		return WriteSafetensors(io.MultiWriter(w, whole), sorted, map[string]string{"format": format})
	})
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Format: format, Step: step, Version: o.version,
		FileBytes: whole.n, FileSHA256: hex.EncodeToString(whole.Sum(nil)),
		Tensors: make([]TensorDigest, len(sorted)), Provenance: make(map[string]string),
	}
	maps.Copy(m.Provenance, o.provenance)
	for i, t := range sorted {
		shape := append([]int{}, t.Shape...) // never null in the manifest
		m.Tensors[i] = TensorDigest{t.Name, t.DType, shape, hex.EncodeToString(sums[i].Sum(nil))}
	}
	text, err := m.seal()
	if err != nil {
		return Manifest{}, err
	}
	if m, err = parseManifest(text); err != nil { // text that JSON cannot represent, such as invalid UTF-8
		return Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	return m, writeSynced(filepath.Join(folder, manifestFile), o, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func writeSynced(path string, o options, write func(io.Writer) error) error {
	f, err := o.create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// replaceFolder renames from to to. A folder cannot be renamed over a non-empty one, so the two are exchanged atomically.
// Where the system cannot do that, the old one is renamed first, and a crash between the two renames loses it.
func replaceFolder(from, to string) error {
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(from, to)
	} else if err != nil {
		return err
	}
	if exchange(from, to) == nil {
		return os.RemoveAll(from)
	}
	old := filepath.Join(filepath.Dir(to), scratchPrefix+"replaced-"+filepath.Base(to))
	if err := os.Rename(to, old); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(old, to))
	}
	return os.RemoveAll(old)
}

func removeScratch(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), scratchPrefix) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

type countingHash struct {
	hash.Hash
	n int64
}

func (c *countingHash) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}
