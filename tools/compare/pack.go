package main

import (
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// packName is the file that holds the packed programs, beside compare.
const packName = "programs.zst"

// A pack is a Zstandard stream of files in gob's encoding. Every program contains the same compiled kernels, 17 MB, which the copy of the
// repository has that travels with the pack. So files are cut into pieces where their content says so, wherever it lies, and a piece that was
// there before, or that the repository's kernels have, is its number. What is left are the same functions at other addresses, which
// Zstandard finds again within its window.

// seed is the content that both sides of a pack have: the pieces of a folder's files.
type seed struct {
	pieces [][]byte
	sum    [sha256.Size]byte // of all of them
}

// kernels is the folder, in the repository, whose files the programs contain.
const kernels = "shaders"

// readSeed cuts all files of a folder into pieces.
func readSeed(folder string) (s seed, err error) {
	whole := sha256.New()
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, _ = whole.Write(data) // has no error
		for len(data) > 0 {
			n := cut(data)
			s.pieces, data = append(s.pieces, data[:n]), data[n:]
		}
		return nil
	})
	whole.Sum(s.sum[:0])
	return s, err
}

// header begins a pack.
type header struct{ Seed [sha256.Size]byte }

// packed is a file of a pack.
type packed struct {
	Name   string
	Pieces []piece
}

// piece is a part of a file.
type piece struct {
	Data []byte // nil: it is an earlier piece of the pack
	Same int    // index of that piece, among those of the seed and those with data
}

// window is larger than all that is left of the programs.
const window = 128 << 20

// Sizes of pieces in bytes: a cut where the low bits of the hash are zero, after 640 bytes on average, so that a piece that overlaps a kernel's
// end costs little.
const (
	smallestPiece = 128
	largestPiece  = 128 << 10
	cutMask       = 512 - 1
)

// gear has a random number for each byte: the low 9 bits of the hash depend on the last 9 bytes.
var gear = func() (table [256]uint64) {
	for i := range table {
		sum := sha256.Sum256([]byte{byte(i)})
		for _, b := range sum[:8] {
			table[i] = table[i]<<8 | uint64(b)
		}
	}
	return table
}()

// cut returns the length of the first piece of data.
func cut(data []byte) int {
	hash, end := uint64(0), min(len(data), largestPiece)
	for i := range end {
		if hash = hash<<1 + gear[data[i]]; i >= smallestPiece && hash&cutMask == 0 {
			return i + 1
		}
	}
	return end
}

// pack writes files of a folder, in their order.
func pack(to io.Writer, folder string, names []string, from seed) error {
	compressed, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	out, known := gob.NewEncoder(compressed), map[[sha256.Size]byte]int{}
	pieces := len(from.pieces)
	for i, p := range from.pieces {
		known[sha256.Sum256(p)] = i
	}
	if err := out.Encode(header{from.sum}); err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		file := packed{Name: name}
		for len(data) > 0 {
			n := cut(data)
			sum := sha256.Sum256(data[:n])
			if same, ok := known[sum]; ok {
				file.Pieces = append(file.Pieces, piece{Same: same})
			} else {
				known[sum] = pieces
				pieces++
				file.Pieces = append(file.Pieces, piece{Data: data[:n]})
			}
			data = data[n:]
		}
		if err := out.Encode(file); err != nil {
			return err
		}
	}
	return compressed.Close()
}

// unpack writes the files of a pack into a folder, as programs.
func unpack(from io.Reader, folder string, has seed) error {
	compressed, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer compressed.Close()
	in := gob.NewDecoder(compressed)
	var of header
	if err := in.Decode(&of); err != nil {
		return err
	}
	if of.Seed != has.sum {
		return fmt.Errorf("it was built with other files in %s; want those of the repository in which -build ran", kernels)
	}
	known := slices.Clip(has.pieces)
	for {
		var file packed
		if err := in.Decode(&file); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if !fs.ValidPath(file.Name) || filepath.Base(file.Name) != file.Name {
			return fmt.Errorf("%q is no name of a program", file.Name)
		}
		var data []byte
		for _, p := range file.Pieces {
			switch {
			case p.Data != nil:
				known = append(known, p.Data)
			case p.Same < 0 || p.Same >= len(known):
				return fmt.Errorf("%s: piece %d of %d", file.Name, p.Same, len(known))
			default:
				p.Data = known[p.Same]
			}
			data = append(data, p.Data...)
		}
		if err := os.WriteFile(filepath.Join(folder, file.Name), data, 0o755); err != nil {
			return err
		}
	}
}

// unpackFile is unpack from a file, in the root of the repository. Its error wraps fs.ErrNotExist if there is no such file.
func unpackFile(name, folder string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	has, err := readSeed(kernels)
	if err != nil {
		return err
	}
	return unpack(from, folder, has)
}
