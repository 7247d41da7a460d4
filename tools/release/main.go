// Command release builds the archives of a release into a folder, and wheels of the Python package with the program inside, with their checksums and a
// bill of materials:
//
//	go run ./tools/release [-out release] [-targets linux/amd64,linux/arm64,windows/amd64,darwin/arm64]
//
// A target other than this machine's needs a C compiler for it: gcc-aarch64-linux-gnu and gcc-mingw-w64-x86-64 of Debian, which setup.sh release installs,
// and for macOS Zig, which is installed into the user's cache folder. The same revision, Go and compilers give the same bytes.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/evorl/evorl/tools/wheel"
)

func main() {
	out := flag.String("out", "release", "folder of the archives")
	targets := flag.String("targets", strings.Join(allTargets, ","), "systems and architectures")
	version := flag.String("version", "", "version (default git describe)")
	flag.Parse()
	if err := release(*out, strings.Split(*targets, ","), *version); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// allTargets are what releases are built for.
var allTargets = []string{"linux/amd64", "linux/arm64", "windows/amd64", macTarget}

// macTarget is macOS on Apple silicon, whose compiler is macCompiler.
const macTarget = "darwin/arm64"

// compilers are the C compilers for other targets than this machine.
var compilers = map[string]string{"linux/amd64": "x86_64-linux-gnu-gcc", "linux/arm64": "aarch64-linux-gnu-gcc", "windows/amd64": "x86_64-w64-mingw32-gcc"}

// extras are the files of the repository that go with the program.
var extras = []string{"README.md", "CHANGELOG.md", "docs", "configs"}

func release(out string, targets []string, version string) error {
	if version == "" {
		text, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
		if err != nil {
			return fmt.Errorf("git describe: %w; want -version", err)
		}
		version = strings.TrimSpace(string(text))
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, target := range targets {
		if !slices.Contains(allTargets, target) {
			return fmt.Errorf("target %q; want some of %s", target, strings.Join(allTargets, ", "))
		}
		program, err := build(target, version)
		if err != nil {
			return err
		}
		name := "evorl-" + version + "-" + strings.ReplaceAll(target, "/", "-")
		archive, err := pack(target, name, program)
		if err != nil {
			return err
		}
		bill, err := billOf(program, version)
		if err != nil {
			return err
		}
		python, err := wheel.New(target, version, program)
		if err != nil {
			return err
		}
		for _, f := range []packed{{name: name + suffix(target), data: archive}, {name: name + ".cdx.json", data: bill}, {name: python.Name, data: python.Data}} {
			if err := os.WriteFile(filepath.Join(out, f.name), f.data, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.data), f.name)
		}
		fmt.Println(filepath.Join(out, name+suffix(target)))
		fmt.Println(filepath.Join(out, python.Name))
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

func suffix(target string) string {
	if strings.HasPrefix(target, "windows/") {
		return ".zip"
	}
	return ".tar.gz"
}

// build compiles the program for a target.
func build(target, version string) ([]byte, error) {
	system, architecture, _ := strings.Cut(target, "/")
	folder, err := os.MkdirTemp("", "evorl-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "evorl")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X github.com/evorl/evorl/engine/rundir.release="+version, "-o", file, "./cmd/evorl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS="+system, "GOARCH="+architecture)
	compiler := compilers[target]
	if target != runtime.GOOS+"/"+runtime.GOARCH {
		if target == macTarget {
			if compiler, err = macCompiler(folder); err != nil {
				return nil, err
			}
		}
		cmd.Env = append(cmd.Env, "CC="+compiler)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s with %s: %w\n%s", target, compiler, err, text)
	}
	program, err := os.ReadFile(file)
	if err == nil && target == macTarget {
		err = checkMac(program)
	}
	return program, err
}

// packed is a file in an archive.
type packed struct {
	name string
	mode int64
	data []byte
}

// pack makes the archive of a program. Its times depend on no machine.
func pack(target, name string, program []byte) ([]byte, error) {
	binary := "evorl"
	if strings.HasPrefix(target, "windows/") {
		binary += ".exe"
	}
	files := []packed{{name + "/" + binary, 0o755, program}}
	for _, extra := range extras {
		err := filepath.WalkDir(extra, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			files = append(files, packed{name + "/" + filepath.ToSlash(path), 0o644, data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b packed) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	write := writeTar
	if suffix(target) == ".zip" {
		write = writeZip
	}
	err := write(&b, files)
	return b.Bytes(), err
}

// epoch is the time of all files: the first that zip knows.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func writeTar(w io.Writer, files []packed) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	for _, f := range files {
		if err := out.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := out.Write(f.data); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(w io.Writer, files []packed) error {
	out := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
		header.SetMode(os.FileMode(f.mode))
		to, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := to.Write(f.data); err != nil {
			return err
		}
	}
	return out.Close()
}
