package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	spvFolder    = "shaders/spv"
	versionFile  = spvFolder + "/VERSION"
	manifestFile = spvFolder + "/MANIFEST"
	goFile       = "kernels_gen.go"

	manifestHeader = "# Digests (SHA-256) by tools/shaders: of each module's composed source and its SPIR-V; of each generated Go file.\n"
)

// The ways an output can differ.
const (
	missing  = "missing"
	stale    = "stale"
	leftOver = "left over: no kernel makes it"
)

// difference is an output that is not what it should be; file is slash-separated, from the repository's root.
type difference struct{ file, kind string }

// outputs builds everything: the content of every file the sources give.
func (b *builder) outputs(ctx context.Context, glslc compiler) (map[string][]byte, error) {
	all, err := b.variants()
	if err != nil {
		return nil, err
	}
	if err := b.compile(ctx, glslc, all); err != nil {
		return nil, err
	}
	want, err := generate(all)
	if err != nil {
		return nil, err
	}
	var manifest bytes.Buffer
	manifest.WriteString(manifestHeader)
	for _, v := range all {
		want[spvFolder+"/"+v.name()+".spv"] = v.code
		fmt.Fprintf(&manifest, "spv %s %s %s\n", v.name(), digest([]byte(v.source)), digest(v.code))
	}
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if path.Base(file) == goFile {
			fmt.Fprintf(&manifest, "go %s %s\n", file, digest(want[file]))
		}
	}
	want[manifestFile] = manifest.Bytes()
	want[versionFile] = []byte(glslc.version)
	return want, nil
}

// existing reads all outputs there are: what lies in shaders/spv, and generated Go files of this tool.
func (b *builder) existing() (map[string][]byte, error) {
	have := map[string][]byte{}
	err := filepath.WalkDir(b.root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(b.root, file)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if name := entry.Name(); relative != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Name() != goFile && !strings.HasPrefix(relative, spvFolder+"/") {
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if entry.Name() != goFile || bytes.HasPrefix(content, []byte(generatedBy)) {
			have[relative] = content
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("shaders: read the outputs: %w", err)
	}
	return have, nil
}

// compare lists what differs from want, sorted by file.
func (b *builder) compare(want map[string][]byte) ([]difference, error) {
	have, err := b.existing()
	if err != nil {
		return nil, err
	}
	var all []difference
	for _, file := range slices.Sorted(maps.Keys(want)) {
		if content, ok := have[file]; !ok {
			all = append(all, difference{file, missing})
		} else if !bytes.Equal(content, want[file]) {
			all = append(all, difference{file, stale})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[file]; !ok {
			all = append(all, difference{file, leftOver})
		}
	}
	return all, nil
}

// compareDigests is compare without a compiler: the sources must be those the manifest knows, the outputs those it was
// written with.
func (b *builder) compareDigests() ([]difference, error) {
	have, err := b.existing()
	if err != nil {
		return nil, err
	}
	manifest, ok := have[manifestFile]
	if !ok {
		return []difference{{manifestFile, missing}}, nil
	}
	sources, outputs, err := parseManifest(string(manifest))
	if err != nil {
		return nil, err
	}
	variants, err := b.variants()
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for file, want := range outputs {
		if content, ok := have[file]; !ok {
			kinds[file] = missing
		} else if digest(content) != want {
			kinds[file] = stale
		}
	}
	for file := range have {
		if _, ok := outputs[file]; !ok && file != manifestFile && file != versionFile {
			kinds[file] = leftOver
		}
	}
	known := map[string]bool{}
	for _, v := range variants {
		known[v.name()] = true
		file := spvFolder + "/" + v.name() + ".spv"
		if want, ok := sources[v.name()]; !ok {
			kinds[file] = missing
		} else if want != digest([]byte(v.source)) {
			kinds[file] = stale
		}
	}
	for name := range sources {
		if !known[name] {
			kinds[spvFolder+"/"+name+".spv"] = leftOver
		}
	}
	var all []difference
	for _, file := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, difference{file, kinds[file]})
	}
	return all, nil
}

// parseManifest returns the digest of each module's source, and of each output file.
func parseManifest(text string) (sources, outputs map[string]string, err error) {
	sources, outputs = map[string]string{}, map[string]string{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case len(f) == 4 && f[0] == "spv":
			sources[f[1]] = f[2]
			outputs[spvFolder+"/"+f[1]+".spv"] = f[3]
		case len(f) == 3 && f[0] == "go":
			outputs[f[1]] = f[2]
		default:
			return nil, nil, fmt.Errorf("%s:%d: %q is no line of a manifest; rebuild by go run ./tools/shaders", manifestFile, i+1, line)
		}
	}
	return sources, outputs, nil
}

// remove deletes a file and the folders in shaders/spv that this leaves empty: embedding refuses empty ones.
func (b *builder) remove(file string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	spv := filepath.Join(b.root, filepath.FromSlash(spvFolder))
	for dir := filepath.Dir(file); strings.HasPrefix(dir, spv+string(filepath.Separator)); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return nil
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
