package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// write writes the pages of the repository in root into a folder of the same layout, so that links between them hold.
func write(root, to string) error {
	pages := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	repository := os.DirFS(root)
	err := fs.WalkDir(repository, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range pages {
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		if err := put(to, name, text); err != nil {
			return err
		}
		if err := copyLinked(repository, to, name, string(text)); err != nil {
			return err
		}
	}
	return reference(root, to)
}

func put(folder, name string, text []byte) error {
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// copyLinked copies the pictures and other files to which a page links.
func copyLinked(repository fs.FS, to, name, page string) error {
	for _, found := range link.FindAllStringSubmatch(page, -1) {
		file := path.Join(path.Dir(name), found[1])
		if path.Ext(file) == ".md" {
			continue
		}
		info, err := fs.Stat(repository, file)
		if err != nil {
			return fmt.Errorf("%s: a link to %s: %w", name, found[1], err)
		}
		if info.IsDir() {
			if err := listing(repository, to, file); err != nil {
				return err
			}
			continue
		}
		text, err := fs.ReadFile(repository, file)
		if err != nil {
			return err
		}
		if err := put(to, file, text); err != nil {
			return err
		}
	}
	return nil
}

// listing makes a page of the files in a folder and copies them.
func listing(repository fs.FS, to, folder string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", folder)
	err := fs.WalkDir(repository, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		below, _ := strings.CutPrefix(name, folder+"/")
		fmt.Fprintf(&b, "- [%s](%s)\n", below, below)
		return put(to, name, text)
	})
	if err != nil {
		return err
	}
	return put(to, folder+"/index.md", []byte(b.String()))
}
