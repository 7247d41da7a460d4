package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// state is a small set of tensors that differs from step to step.
func state(step int64) []Tensor {
	return []Tensor{
		{"params", F32, []int{2, 3}, floats(1, 2, 3, 4, 5, float32(step))},
		{"iteration", U32, nil, words(uint32(step))},
		{"adam.moment", F32, []int{2}, floats(-1, 0.5)},
	}
}

func save(t *testing.T, dir string, step int64, opts ...Option) Manifest {
	t.Helper()
	opts = append(opts, Version("v0.0.1"), Provenance(map[string]string{"seed": "7", "note": "a <b> & \"c\" é"}))
	m, err := Save(dir, step, slices.Values(state(step)), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func latest(t *testing.T, dir string) (*Checkpoint, []*CorruptError) {
	t.Helper()
	c, refused, err := Latest(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, refused
}

func TestSaveLatestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run", "checkpoints")
	if _, _, err := Latest(dir); !errors.Is(err, ErrNone) {
		t.Fatalf("error %v; want ErrNone", err)
	}
	save(t, dir, 3)
	m := save(t, dir, 12)
	c, refused := latest(t, dir)
	if len(refused) > 0 || c.Manifest.Step != 12 || c.Manifest.Digest != m.Digest || c.Manifest.Version != "v0.0.1" ||
		!maps.Equal(c.Manifest.Provenance, m.Provenance) || c.Path != filepath.Join(dir, "00000012") {
		t.Fatalf("latest is %+v, refused %v; want %+v", c, refused, m)
	}
	want := map[string]Tensor{}
	for _, x := range state(12) {
		want[x.Name] = x
	}
	var names []string
	err := c.Load(func(x Tensor) error {
		names = append(names, x.Name)
		got, err := io.ReadAll(x.Data)
		if err != nil {
			return err
		}
		w := want[x.Name]
		content, _ := io.ReadAll(w.Data)
		if x.DType != w.DType || !slices.Equal(x.Shape, w.Shape) || !bytes.Equal(got, content) {
			t.Errorf("tensor %s is %s %v %v", x.Name, x.DType, x.Shape, got)
		}
		return nil
	})
	if err != nil || !slices.Equal(names, []string{"adam.moment", "iteration", "params"}) {
		t.Fatalf("loaded %v, %v", names, err)
	}
	if err := c.Load(func(Tensor) error { return nil }); err == nil || !strings.Contains(err.Error(), "only 0 of its 8 bytes") {
		t.Fatalf("error %v for data that was not read", err)
	}
}

// The digest is over the tensors alone: not their order, the step, the version or the provenance.
func TestDigestIsOfTheTensors(t *testing.T) {
	reversed := state(5)
	slices.Reverse(reversed)
	a, err := Save(t.TempDir(), 5, slices.Values(state(5)), Version("a"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Save(t.TempDir(), 6, slices.Values(reversed), Version("b"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest != b.Digest {
		t.Error("equal tensors, different digests")
	}
	seen := map[string]bool{a.Digest: true}
	for _, change := range []func([]TensorDigest){
		func(d []TensorDigest) { d[0].Name += "x" },
		func(d []TensorDigest) { d[0].DType = I32 },
		func(d []TensorDigest) { d[0].Shape = []int{1, 2} },
		func(d []TensorDigest) { d[0].SHA256 = d[1].SHA256 },
	} {
		d := slices.Clone(a.Tensors)
		change(d)
		got, err := Digest(d)
		if err != nil || seen[got] {
			t.Errorf("digest %s, %v of %v: not its own", got, err, d[0])
		}
		seen[got] = true
	}
	if _, err := Digest([]TensorDigest{{SHA256: "00"}}); err == nil {
		t.Error("no error for a digest of one byte")
	}
}

// Whichever bit of either file is changed, the checkpoint is refused and the one before it is used.
func TestEveryByteIsGuarded(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1)
	save(t, dir, 2)
	for _, name := range []string{tensorsFile, manifestFile} {
		path := filepath.Join(dir, "00000002", name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			refuse(t, dir, path, bad)
		}
		for n := range good { // truncated at every length
			if n%7 == 0 || n > len(good)-4 {
				refuse(t, dir, path, good[:n])
			}
		}
		refuse(t, dir, path, append(bytes.Clone(good), '\n'))
		refuse(t, dir, path, append([]byte(" "), good...))
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if c, refused := latest(t, dir); c.Manifest.Step != 2 || len(refused) > 0 {
		t.Fatalf("restored, but latest is %d, refused %v", c.Manifest.Step, refused)
	}
}

func refuse(t *testing.T, dir, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	c, refused := latest(t, dir)
	if c.Manifest.Step != 1 || len(refused) != 1 || refused[0].Path == "" || refused[0].What == "" ||
		!strings.HasPrefix(refused[0].Path, filepath.Join(dir, "00000002")) {
		t.Fatalf("latest is %d, refused %v", c.Manifest.Step, refused)
	}
}

func TestMissingAndMisplacedAreRefused(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1)
	for i, spoil := range []func(folder string) error{
		func(f string) error { return os.Remove(filepath.Join(f, tensorsFile)) },
		func(f string) error { return os.Remove(filepath.Join(f, manifestFile)) },
		func(f string) error { return os.Rename(f, filepath.Join(dir, "00000999")) },
	} {
		step := int64(10 + i)
		save(t, dir, step)
		if err := spoil(filepath.Join(dir, folderName(step))); err != nil {
			t.Fatal(err)
		}
		c, refused := latest(t, dir)
		if c.Manifest.Step != 1 || len(refused) != i+1 {
			t.Fatalf("%d: latest is %d, refused %v", i, c.Manifest.Step, refused)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "00000001")); err != nil {
		t.Fatal(err)
	}
	_, refused, err := Latest(dir)
	if !errors.Is(err, ErrNone) || len(refused) != 3 || !errors.Is(refused[1], fs.ErrNotExist) {
		t.Fatalf("refused %v, error %v", refused, err)
	}
}

// A file altered between Open and Load is noticed.
func TestLoadVerifies(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1)
	c, _ := latest(t, dir)
	path := filepath.Join(c.Path, tensorsFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	err = c.Load(func(x Tensor) error { _, err := io.Copy(io.Discard, x.Data); return err })
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || !strings.Contains(corrupt.What, `"params"`) {
		t.Fatalf("error %v", err)
	}
}

// Whatever a killed Save leaves is ignored by readers and removed by the next Save.
func TestInterruptedSaves(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 4)
	for _, name := range []string{".tmp-00000005", ".tmp-replaced-00000004", ".tmp-pruned-00000001"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, "00000004"))); err != nil {
			t.Fatal(err)
		}
	}
	if c, refused := latest(t, dir); c.Manifest.Step != 4 || len(refused) > 0 {
		t.Fatalf("latest is %d, refused %v", c.Manifest.Step, refused)
	}
	save(t, dir, 6)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("folder holds %v, %v; want the two checkpoints", entries, err)
	}
}

func TestSaveReplacesTheSameStep(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 4)
	if err := os.WriteFile(filepath.Join(dir, "00000004", tensorsFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	m := save(t, dir, 4)
	c, refused := latest(t, dir)
	if c.Manifest.SHA256 != m.SHA256 || len(refused) > 0 {
		t.Fatalf("latest is %+v, refused %v", c.Manifest, refused)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("folder holds %v, %v", entries, err)
	}
}

// fullDisk takes a number of bytes and then fails as a full disk does.
type fullDisk struct {
	*os.File
	left int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n, _ := f.File.Write(p[:f.left])
		f.left = 0
		return n, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	f.left -= len(p)
	return f.File.Write(p)
}

func TestFailedSaveLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1)
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v; want %v", what, err, want)
		}
		entries, readErr := os.ReadDir(dir)
		if readErr != nil || len(entries) != 1 {
			t.Fatalf("%s: folder holds %v, %v; want the earlier checkpoint alone", what, entries, readErr)
		}
		if c, _ := latest(t, dir); c.Manifest.Step != 1 {
			t.Fatalf("%s: latest is %d", what, c.Manifest.Step)
		}
	}
	for _, room := range []int{0, 7, 100, 400, 500, 900} { // ends within the header, the data or the manifest
		full := func(o *options) {
			o.create = func(path string) (file, error) {
				f, err := os.Create(path)
				return &fullDisk{f, room}, err
			}
		}
		_, err := Save(dir, 2, slices.Values(state(2)), full)
		check("full disk", err, syscall.ENOSPC)
	}
	broken := errors.New("the device is gone")
	tensors := append(state(2), Tensor{"z", F32, []int{1}, io.MultiReader(bytes.NewReader([]byte{1}),
		readerFunc(func([]byte) (int, error) { return 0, broken }))})
	_, err := Save(dir, 2, slices.Values(tensors))
	check("read error", err, broken)
	_, err = Save(dir, 2, slices.Values(state(2)), Version("\xff"))
	if err == nil {
		t.Error("no error for a version that is not UTF-8")
	}
	if _, err := Save(dir, -1, slices.Values(state(2))); err == nil {
		t.Error("no error for a negative step")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Save(filepath.Join(file, "checkpoints"), 2, slices.Values(state(2)))
	if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), file) {
		t.Fatalf("error %v", err)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for step := range int64(6) {
		save(t, dir, step)
	}
	// 5 is torn: 4 and 3 are the newest two that can be used, and 5 is left in place.
	if err := os.Truncate(filepath.Join(dir, "00000005", tensorsFile), 3); err != nil {
		t.Fatal(err)
	}
	if err := Prune(dir, 2, 5); err != nil {
		t.Fatal(err)
	}
	steps, err := Steps(dir)
	if err != nil || !slices.Equal(steps, []int64{3, 4, 5}) {
		t.Fatalf("steps %v, %v", steps, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Fatalf("folder holds %v, %v", entries, err)
	}
	// A run that did not begin from 5 has written 4 anew: the contents of 5 may be damaged, and its size right.
	save(t, dir, 5)
	if err := Prune(dir, 1, 4); err != nil {
		t.Fatal(err)
	}
	if steps, err := Steps(dir); err != nil || !slices.Equal(steps, []int64{4, 5}) {
		t.Fatalf("steps %v, %v; want what was written, and the newer one as it was", steps, err)
	}
	if err := Prune(dir, 0, 5); err == nil {
		t.Fatal("no error for keeping none")
	}
	if err := Prune(filepath.Join(dir, "absent"), 1, 5); err != nil {
		t.Fatal(err)
	}
}

func TestFolderNames(t *testing.T) {
	for name, want := range map[string]int64{"00000000": 0, "00001234": 1234, "123456789": 123456789, "1234": -1, "000001234": -1, "-0000001": -1,
		"+0000001": -1, "": -1} {
		got, ok := parseFolderName(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q is %d, %v", name, got, ok)
		}
	}
}
