package mjcf

import (
	"bytes"
	"context"
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
	"strings"

	"github.com/evorl/evorl/internal/diskcache"
	"github.com/evorl/evorl/internal/regular"
)

// Load is Compile with the user's Python, with results, warnings among them, kept in the user's cache folder: an MJCF file that was
// compiled before needs no Python, until it, a file that it includes, or this package's compiler changes. Models with
// other files, such as meshes, are compiled every time. file is refused if it is missing, no XML, or too large. The
// context ends the compiler.
func Load(ctx context.Context, file string) (m *Model, warnings []string, err error) {
	source, err := readMJCF(file)
	if err != nil {
		return nil, nil, err
	}
	if !source.complete {
		return compiled(ctx, file)
	}
	cache, key := diskcache.Open("mjcf"), source.digest()
	if text, ok := cache.Get(key); ok {
		if m, warnings, err = parseCached(file, text); err == nil {
			m.Name, err = Name(file)
			return m, warnings, err
		}
	}
	if m, warnings, err = compiled(ctx, file); err != nil {
		return m, warnings, err
	}
	if text, err := cachedText(m, warnings); err == nil {
		cache.Put(key, text)
	}
	return m, warnings, nil
}

// cached is an entry of the cache. Warnings are kept, since the file still has what they are of.
type cached struct {
	Warnings []string        `json:"warnings"`
	Model    json.RawMessage `json:"model"`
}

// cachedText returns the entry of a model with its warnings.
func cachedText(m *Model, warnings []string) ([]byte, error) {
	model, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(cached{warnings, model})
}

// parseCached reads an entry of a file. One without a model is an error.
func parseCached(file string, text []byte) (*Model, []string, error) {
	var entry cached
	if err := json.Unmarshal(text, &entry); err != nil {
		return nil, nil, err
	}
	m, err := ParseModel(file, entry.Model)
	return m, entry.Warnings, err
}

// compiled is Compile by the user's Python; an error of Python says how to get what is missing.
func compiled(ctx context.Context, file string) (*Model, []string, error) {
	m, warnings, err := Compile(ctx, Python(), file)
	if errors.Is(err, errNoMuJoCo) {
		err = fmt.Errorf("%s: a model is compiled by MuJoCo, once: %w", file, err)
	}
	return m, warnings, err
}

// mjcfSource is what is known of an MJCF file, with what it includes, before it is compiled.
type mjcfSource struct {
	hash.Hash
	folder   string
	complete bool // the model has no further files, such as meshes, which the digest does not cover
	dofs     int  // degrees of freedom that are written out; replicated bodies, ball joints and composites have more
}

// readMJCF reads a file and what it includes.
func readMJCF(file string) (*mjcfSource, error) {
	s := &mjcfSource{Hash: sha256.New(), folder: filepath.Dir(file), complete: true}
	err := fs.WalkDir(scripts, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(scripts, name)
		s.add(name, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.read(file, "", 0); err != nil {
		return nil, err
	}
	if s.dofs > mostDOFs { // MuJoCo takes minutes to read models of thousands
		return nil, fmt.Errorf("%s: %w", file, tooLarge(s.dofs))
	}
	return s, nil
}

// digest returns the SHA-256 of the file, of what it includes, and of the compiler's scripts.
func (s *mjcfSource) digest() string { return hex.EncodeToString(s.Sum(nil)) }

// add adds a text with its length, so that two texts cannot be confused with others.
func (s *mjcfSource) add(name string, text []byte) {
	fmt.Fprintf(s, "%s %d\n", name, len(text))
	s.Write(text)
}

// mostIncludes bounds the depth of files that include each other.
const mostIncludes = 32

// read adds a file and what it includes, which is found beside it or in the model's folder, as dump.py does. The elements of
// an included file are in place of the <include>, below parent.
func (s *mjcfSource) read(file, parent string, depth int) error {
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
	s.add(filepath.Base(file), text)
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // only names are read
	var above []string
	for {
		t, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			line, _ := decoder.InputPos()
			return fmt.Errorf("%s:%d: no XML: %w", file, line, err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			above = above[:len(above)-1]
		case xml.StartElement:
			within := parent
			if n := len(above); n > 1 || n == 1 && parent == "" {
				within = above[n-1]
			}
			if err := s.element(t, file, within, depth); err != nil {
				return err
			}
			above = append(above, t.Name.Local)
		}
	}
}

// element notes an element of a file below one of the given name.
func (s *mjcfSource) element(e xml.StartElement, file, within string, depth int) error {
	if within == "body" || within == "frame" || within == "replicate" { // not the joints of tendons and the like
		switch e.Name.Local {
		case "joint":
			s.dofs++
		case "freejoint":
			s.dofs += 6
		}
	}
	for _, a := range e.Attr {
		if !strings.HasPrefix(a.Name.Local, "file") {
			continue
		}
		if e.Name.Local != "include" {
			s.complete = false
			continue
		}
		beside := filepath.Join(filepath.Dir(file), filepath.FromSlash(a.Value))
		if _, err := os.Stat(beside); err != nil {
			beside = filepath.Join(s.folder, filepath.FromSlash(a.Value))
		}
		if err := s.read(beside, within, depth+1); err != nil {
			return err
		}
	}
	return nil
}
