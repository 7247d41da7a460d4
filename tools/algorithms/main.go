// Command algorithms writes what the pages of docs/algorithms say about the program, between their markers: sources, settings with their
// defaults, metrics, kernels, configurations and the results of the runs that they show.
//
//	go run ./tools/algorithms [-run all|NAME,...]
//
// -run makes the runs of the named pages anew, one after the other, and draws their figures.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/algorithms [-run all|NAME,...], in the root of the repository")
	}
	again := flag.String("run", "", "names of the pages whose runs are made anew, or all")
	flag.Parse()
	if err := update(".", *again); err != nil {
		fmt.Fprintln(os.Stderr, "algorithms:", err)
		os.Exit(1)
	}
}

// update makes runs anew and writes all pages.
func update(root, again string) error {
	if again != "" {
		if err := runAgain(root, again); err != nil {
			return err
		}
	}
	d, err := read(root)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range d.names() {
		path := filepath.Join(root, folder, name+".md")
		if err := d.rewrite(name, path); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
		}
	}
	return errors.Join(failed...)
}

// rewrite writes the generated parts of a page.
func (d *document) rewrite(name, path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := d.fill(name, string(old))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// chosen returns the pages with the given names.
func chosen(names string) ([]page, error) {
	if names == "all" {
		return pages, nil
	}
	var of []page
	for name := range strings.SplitSeq(names, ",") {
		p, ok := lookup(name)
		if !ok {
			return nil, fmt.Errorf("no page is named %q", name)
		}
		of = append(of, p)
	}
	return of, nil
}
