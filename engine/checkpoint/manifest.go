package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxManifestBytes is above the size of a manifest with maxTensors tensors.
const maxManifestBytes = 64 << 20

// format identifies the layout of a checkpoint folder. A reader refuses any other.
const format = "evorl checkpoint 1"

// Manifest describes one checkpoint and holds its digests. All digests are SHA-256 in lower-case hex.
type Manifest struct {
	Format  string `json:"format"`
	Step    int64  `json:"step"`    // of the workflow, as in the folder's name
	Version string `json:"version"` // of the program that wrote it

	// Digest covers all tensors, sorted by name: for each the name, element type, shape and the digest of its bytes
	// (see [Digest]). It does not depend on the layout of the file, so equal states have equal digests.
	Digest string `json:"digest"`

	FileBytes  int64             `json:"file_bytes"`  // length of tensors.safetensors
	FileSHA256 string            `json:"file_sha256"` // digest of tensors.safetensors
	Tensors    []TensorDigest    `json:"tensors"`     // sorted by name
	Provenance map[string]string `json:"provenance"`  // facts given by the caller

	// SHA256 is the digest of the manifest file with this value left empty.
	SHA256 string `json:"manifest_sha256"`
}

// TensorDigest is the manifest's entry for one tensor.
type TensorDigest struct {
	Name   string `json:"name"`
	DType  DType  `json:"dtype"`
	Shape  []int  `json:"shape"`
	SHA256 string `json:"sha256"` // of the bytes
}

// Digest returns the digest of a set of tensors: SHA-256 over, for each tensor sorted by name, the length of the name as u64 and
// its bytes, the same for the element type, the rank and dimensions as u64, and the 32 bytes of the digest of its data. All
// integers are little-endian.
func Digest(tensors []TensorDigest) (string, error) {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b TensorDigest) int { return cmp.Compare(a.Name, b.Name) })
	h := sha256.New()
	number := func(n int) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	for _, t := range sorted {
		sum, err := hex.DecodeString(t.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return "", fmt.Errorf("tensor %q: %q is not a SHA-256 digest", t.Name, t.SHA256)
		}
		number(len(t.Name))
		h.Write([]byte(t.Name))
		number(len(t.DType))
		h.Write([]byte(t.DType))
		number(len(t.Shape))
		for _, d := range t.Shape {
			number(d)
		}
		h.Write(sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// encode returns the canonical text of a manifest. The reader accepts no other text, so every byte of the file is checked.
func (m Manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// seal sets the digest over the tensors and the manifest's own digest, and returns the text.
func (m *Manifest) seal() ([]byte, error) {
	var err error
	if m.Digest, err = Digest(m.Tensors); err != nil {
		return nil, err
	}
	m.SHA256 = ""
	text, err := m.encode()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	m.SHA256 = hex.EncodeToString(sum[:])
	return m.encode()
}

// parseManifest reads a manifest's text and checks everything except the tensors.
func parseManifest(text []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, fmt.Errorf("not a manifest: %w", err)
	}
	if m.Format != format {
		return Manifest{}, fmt.Errorf("format %q: this version reads %q", m.Format, format)
	}
	same := m
	canonical, err := same.seal()
	if err != nil {
		return Manifest{}, err
	}
	if !bytes.Equal(text, canonical) {
		return Manifest{}, errors.New("it does not match its own digest")
	}
	return m, nil
}
