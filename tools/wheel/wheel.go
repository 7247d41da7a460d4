// Package wheel makes the Python package evorlgpu: wheels with the program inside, one a platform, of the files in evorlgpu. They need no compiler and no
// Python to be made, and the same program gives the same bytes.
package wheel

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed evorlgpu/*.py evorlgpu/py.typed README.md
var source embed.FS

// Name is the package's name. PyPI has another program's evorl.
const Name = "evorlgpu"

// requires is the oldest Python that the package is for.
const requires = ">=3.9"

// Wheel is a file that pip installs.
type Wheel struct {
	Name string // such as evorlgpu-0.1.0-py3-none-win_amd64.whl
	Data []byte
}

// New makes the wheel of a program, which was built for a target such as "linux/amd64". version is git's description of the revision.
func New(target, version string, program []byte) (Wheel, error) {
	platform, err := platform(target, program)
	if err != nil {
		return Wheel{}, fmt.Errorf("the wheel for %s: %w", target, err)
	}
	number := Version(version)
	files, err := files(target, number, platform, program)
	if err != nil {
		return Wheel{}, fmt.Errorf("the wheel for %s: %w", target, err)
	}
	data, err := pack(files)
	return Wheel{fmt.Sprintf("%s-%s-py3-none-%s.whl", Name, number, platform), data}, err
}

// described is git's description of a revision: tag, commits since, commit, and whether there are changes. A revision without a tag has the commit alone.
var described = regexp.MustCompile(`^(?:v(\d+(?:\.\d+)*)(?:-(\d+)-g([0-9a-f]+))?|([0-9a-f]+))(-dirty)?$`)

// Version returns a description of a revision as Python has versions (PEP 440): v0.1.0 is 0.1.0, v0.1.0-5-gabc is 0.1.0.post5+gabc, abc is 0.0.0+gabc.
func Version(of string) string {
	m := described.FindStringSubmatch(of)
	if m == nil {
		return "0.0.0+" + strings.Trim(regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(of, "."), ".")
	}
	number, local := m[1], []string(nil)
	if m[2] != "" {
		number += ".post" + m[2]
		local = append(local, "g"+m[3])
	}
	if m[4] != "" {
		number, local = "0.0.0", append(local, "g"+m[4])
	}
	if m[5] != "" {
		local = append(local, "dirty")
	}
	if len(local) == 0 {
		return number
	}
	return number + "+" + strings.Join(local, ".")
}

// file is a file in a wheel.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// files lists the files of a wheel, the list of them last.
func files(target, version, platform string, program []byte) ([]file, error) {
	binary := Name + "/bin/evorl"
	if strings.HasPrefix(target, "windows/") {
		binary += ".exe"
	}
	all := []file{{binary, 0o755, program}}
	err := fs.WalkDir(source, Name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := source.ReadFile(path)
		all = append(all, file{path, 0o644, data})
		return err
	})
	if err != nil {
		return nil, err
	}
	readme, err := source.ReadFile("README.md")
	if err != nil {
		return nil, err
	}
	info := fmt.Sprintf("%s-%s.dist-info/", Name, version)
	metadata := "Metadata-Version: 2.1\nName: " + Name + "\nVersion: " + version + "\n" +
		"Summary: evorl from Python: evolutionary reinforcement learning on any vendor's GPU\nRequires-Python: " + requires + "\n" +
		"Requires-Dist: numpy\n" +
		"Provides-Extra: pandas\nRequires-Dist: pandas; extra == \"pandas\"\n" +
		"Provides-Extra: gymnasium\nRequires-Dist: gymnasium>=1.1; extra == \"gymnasium\"\n" +
		"Description-Content-Type: text/markdown\n\n" + string(readme)
	all = append(all,
		file{info + "METADATA", 0o644, []byte(metadata)},
		file{info + "WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: evorl\nRoot-Is-Purelib: false\nTag: py3-none-" + platform + "\n")},
		file{info + "entry_points.txt", 0o644, []byte("[console_scripts]\n" + Name + " = " + Name + ".program:main\n")},
		file{info + "top_level.txt", 0o644, []byte(Name + "\n")},
	)
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var record strings.Builder
	for _, f := range all {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	return append(all, file{info + "RECORD", 0o644, []byte(record.String())}), nil
}

// pack makes the archive. Its times depend on no machine.
func pack(files []file) ([]byte, error) {
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(f.mode)
		to, err := out.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return b.Bytes(), err
}
