// Command site builds the documentation as a static site that can be read offline, by Material for MkDocs:
//
//	go run ./tools/site [-out site] [-pages DIR]
//
// The pages are README.md and docs as they are, and a reference of the Go packages from their doc comments. Python with venv is needed; MkDocs is
// installed into the user's cache folder. -pages only writes the pages.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/site [-out DIR] [-pages DIR], in the root of the repository")
	}
	out := flag.String("out", "site", "folder of the site")
	pages := flag.String("pages", "", "write only the pages, into this folder")
	flag.Parse()
	if err := run(*out, *pages); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run writes the pages, and builds the site of them unless only the pages are wanted.
func run(out, pages string) error {
	if pages != "" {
		return write(".", pages)
	}
	folder, err := os.MkdirTemp("", "evorl-site")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := write(".", filepath.Join(folder, "pages")); err != nil {
		return err
	}
	for _, name := range []string{"mkdocs.yml", "hooks.py", "style.css", "worker.js"} {
		text, err := os.ReadFile(filepath.Join("tools/site", name))
		if err != nil {
			return err
		}
		to := filepath.Join(folder, name)
		if name == "style.css" || name == "worker.js" { // part of the site
			to = filepath.Join(folder, "pages", name)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	python, err := install("tools/site/requirements.txt")
	if err != nil {
		return err
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	return command(python, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", filepath.Join(folder, "mkdocs.yml"), "--site-dir", to)
}

// install makes a virtual environment with the requirements in the user's cache folder, and returns its Python.
func install(requirements string) (python string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "evorl", "site")
	python = filepath.Join(folder, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		if err := command("python3", "-m", "venv", folder); err != nil {
			return "", err
		}
	}
	return python, command(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements)
}

func command(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "NO_MKDOCS_2_WARNING=1", "PYTHONWARNINGS=ignore")
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}
