package machines

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/nkeys"

	"github.com/evorl/evorl/internal/regular"
)

// Key signs what a run sends its workers to execute. It is an Ed25519 key in the form that NATS has for users (nkeys).
type Key struct {
	pair   nkeys.KeyPair
	public string
}

const wantKey = "want one line, the seed of a user's key (SU…), as evorl writes it into a file that does not exist, or nk -gen user"

// OpenKey reads a key from a file, which only its owner should be able to read. A file that does not exist gets a new key.
func OpenKey(path string) (*Key, error) {
	text, err := regular.ReadLinked(path, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return newKey(path)
	}
	if err != nil {
		return nil, err
	}
	return keyOf(path, bytes.TrimSpace(text))
}

func newKey(path string) (*Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(bytes.Clone(seed), '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return keyOf(path, seed)
}

func keyOf(path string, seed []byte) (*Key, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", path, err, wantKey)
	}
	public, err := pair.PublicKey()
	if err != nil || CheckPublic(public) != nil {
		return nil, fmt.Errorf("%s: a key that is not a user's: %s", path, wantKey)
	}
	return &Key{pair, public}, nil
}

// Public returns the key by which others recognize what this one has signed.
func (k *Key) Public() string {
	if k == nil {
		return ""
	}
	return k.public
}

// CheckPublic returns an error if a text is no public key.
func CheckPublic(text string) error {
	if !nkeys.IsValidPublicUserKey(text) {
		return fmt.Errorf("key %.80q: want the public key that the run shows, U and 55 more letters and digits", text)
	}
	return nil
}

// sign signs a statement.
func (k *Key) sign(statement []byte) ([]byte, error) {
	if k == nil {
		return nil, nil
	}
	return k.pair.Sign(statement)
}

// signedBy reports whether the owner of a public key has signed a statement.
func signedBy(public string, statement, signature []byte) bool {
	if CheckPublic(public) != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify(statement, signature) == nil
}

// statement is what the key of a run signs: in this session of the run, workers are to execute this configuration with this GLSL.
func statement(run, epoch string, configuration, source []byte) []byte {
	return fmt.Appendf(nil, "evorl worker\nrun %s\nsession %s\nconfiguration %x\nsource %x\n", run, epoch, sha256.Sum256(configuration), sha256.Sum256(source))
}
