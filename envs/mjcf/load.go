package mjcf

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/evorl/evorl/internal/regular"
)

// Load is Compile with the user's Python, whose results are kept in the user's cache folder: an MJCF file that was
// compiled before needs no Python, until it, a file that it includes, or this package's compiler changes. Models with
// other files, such as meshes, are compiled every time. file is refused if it is missing or no XML.
func Load(file string) (m *Model, warnings []string, err error) {
	digest, complete, err := digestOf(file)
	if err != nil {
		return nil, nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil || !complete {
		return compiled(file)
	}
	kept := filepath.Join(cache, "evorl", "mjcf", digest+".json")
	if m, err = ReadModel(kept); err == nil {
		m.Name, err = Name(file)
		return m, nil, err
	}
	if m, warnings, err = compiled(file); err == nil {
		keep(kept, m)
	}
	return m, warnings, err
}

// compiled is Compile by the user's Python; an error of Python says how to get what is missing.
func compiled(file string) (*Model, []string, error) {
	m, warnings, err := Compile(Python(), file)
	if errors.Is(err, errNoMuJoCo) {
		err = fmt.Errorf("%s: a model is compiled by MuJoCo, once: %w", file, err)
	}
	return m, warnings, err
}

// keep writes a model beside and renames it; the cache is optional, so a failure is none of the run.
func keep(path string, m *Model) {
	text, err := json.Marshal(m)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "model")
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// digestOf returns the SHA-256 of a file, of what it includes, and of the compiler's scripts. complete is false if the
// model has further files, which it does not cover.
func digestOf(file string) (digest string, complete bool, err error) {
	h := sha256.New()
	err = fs.WalkDir(scripts, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(scripts, name)
		add(h, name, text)
		return err
	})
	if err != nil {
		return "", false, err
	}
	complete = true
	err = covers(h, file, filepath.Dir(file), &complete, 0)
	return hex.EncodeToString(h.Sum(nil)), complete, err
}

// add adds a text with its length, so that two texts cannot be confused with others.
func add(h hash.Hash, name string, text []byte) {
	fmt.Fprintf(h, "%s %d\n", name, len(text))
	h.Write(text)
}

// mostIncludes bounds the depth of files that include each other.
const mostIncludes = 32

// covers adds a file and what it includes, which is found beside it or in the model's folder, as dump.py does.
func covers(h hash.Hash, file, folder string, complete *bool, depth int) error {
	if depth > mostIncludes {
		return fmt.Errorf("%s: included %d deep; want files that do not include themselves", file, depth)
	}
	text, err := regular.ReadLinked(file, maxModel)
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", file)
	case errors.As(err, &of):
		return fmt.Errorf("%s: %w", file, of.Err)
	case err != nil:
		return err
	}
	add(h, filepath.Base(file), text)
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // only names of files are read
	for {
		t, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			line, _ := decoder.InputPos()
			return fmt.Errorf("%s:%d: no XML: %w", file, line, err)
		}
		element, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range element.Attr {
			if len(a.Name.Local) < 4 || a.Name.Local[:4] != "file" {
				continue
			}
			if element.Name.Local != "include" {
				*complete = false
				continue
			}
			beside := filepath.Join(filepath.Dir(file), filepath.FromSlash(a.Value))
			if _, err := os.Stat(beside); err != nil {
				beside = filepath.Join(folder, filepath.FromSlash(a.Value))
			}
			if err := covers(h, beside, folder, complete, depth+1); err != nil {
				return err
			}
		}
	}
}
