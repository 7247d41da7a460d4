// Package diskcache keeps what takes long to compute in the user's cache folder, by the digest of its inputs. It only saves
// time: what cannot be read or written, or was altered, is computed again.
package diskcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"time"
)

// age is how long an entry is kept.
const age = 30 * 24 * time.Hour

// Cache is a folder of entries.
type Cache struct{ dir string }

// Open opens the folder evorl/name in [os.UserCacheDir] and removes old entries.
func Open(name string) Cache {
	user, err := os.UserCacheDir()
	if err != nil {
		return Cache{}
	}
	c := Cache{dir: filepath.Join(user, "evorl", name)}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return c
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = os.Remove(filepath.Join(c.dir, entry.Name())) // tried again next time
		}
	}
	return c
}

// Key returns the name of the entry for inputs.
func Key(inputs ...string) string {
	h := sha256.New()
	for _, input := range inputs {
		sum := sha256.Sum256([]byte(input))
		_, _ = io.WriteString(h, hex.EncodeToString(sum[:])) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Get returns the entry of a key, if there is one.
func (c Cache) Get(key string) ([]byte, bool) {
	if c.dir == "" {
		return nil, false
	}
	file, err := os.ReadFile(filepath.Join(c.dir, key))
	if err != nil || len(file) < sha256.Size {
		return nil, false
	}
	data := file[sha256.Size:]
	sum := sha256.Sum256(data)
	return data, bytes.Equal(sum[:], file[:sha256.Size])
}

// Put writes an entry: a temporary file with the data's digest and the data, renamed, so that readers never see a part of it.
func (c Cache) Put(key string, data []byte) {
	if c.dir == "" || os.MkdirAll(c.dir, 0o755) != nil {
		return
	}
	file, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return
	}
	sum := sha256.Sum256(data)
	_, err = io.Copy(file, io.MultiReader(bytes.NewReader(sum[:]), bytes.NewReader(data)))
	if closed := file.Close(); err == nil && closed == nil {
		err = os.Rename(file.Name(), filepath.Join(c.dir, key))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // Open removes it later
	}
}
