package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"time"
)

// cacheAge is how long a compiled module is kept.
const cacheAge = 30 * 24 * time.Hour

// cache stores validated modules by the digest of all their inputs. It only saves time: if it cannot read or write,
// modules are compiled.
type cache struct{ dir string }

// openCache opens the cache in the user's cache folder and removes old entries.
func openCache() cache {
	user, err := os.UserCacheDir()
	if err != nil {
		return cache{}
	}
	c := cache{dir: filepath.Join(user, "evorl", "shaders")}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return c
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > cacheAge {
			_ = os.Remove(filepath.Join(c.dir, entry.Name())) // tried again next time
		}
	}
	return c
}

func (c cache) key(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = io.WriteString(h, digest([]byte(part))) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c cache) get(key string) ([]byte, bool) {
	if c.dir == "" {
		return nil, false
	}
	code, err := os.ReadFile(filepath.Join(c.dir, key))
	return code, err == nil
}

// put writes a temporary file and renames it, so that readers never see a partial module.
func (c cache) put(key string, code []byte) {
	if c.dir == "" || os.MkdirAll(c.dir, 0o755) != nil {
		return
	}
	file, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return
	}
	_, err = file.Write(code)
	if closed := file.Close(); err == nil && closed == nil {
		err = os.Rename(file.Name(), filepath.Join(c.dir, key))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // openCache drops it later
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
