// Command benchmarks writes docs/benchmarks.md and its pictures from the results in docs/benchmarks, to which it adds
// the given ones:
//
//	evorl bench --suite score --out result.json
//	go run ./tools/benchmarks result.json
//
// A result replaces an earlier one of the same suite, device, driver and processor.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/evorl/evorl/cmd/bench"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/benchmarks [RESULT.json...]")
	}
	flag.Parse()
	if err := run("docs", flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// run adds files to the results in a folder and writes the page of all results.
func run(docs string, files []string) error {
	for _, path := range files {
		results, err := bench.ReadFile(path)
		if err != nil {
			return err
		}
		for _, r := range results {
			if err := bench.WriteFile(filepath.Join(docs, folder, slug(r)+".json"), []*bench.Result{r}); err != nil {
				return err
			}
		}
	}
	pages, err := pagesOf(docs)
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(docs, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// folder holds the results, in docs.
const folder = "benchmarks"

// slug returns the file name of a result.
func slug(r *bench.Result) string {
	words := strings.FieldsFunc(strings.ToLower(strings.Join([]string{r.Suite, r.Device.Name, r.Device.Driver, r.Host.Processor}, " ")), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	return strings.Join(words, "-")
}

// pagesOf returns the page and its pictures, by their names in docs.
func pagesOf(docs string) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(docs, folder, "*.json")) // sorted
	if err != nil {
		return nil, err
	}
	var suites []string
	bySuite := map[string][]*bench.Result{}
	for _, path := range paths {
		results, err := bench.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			if bySuite[r.Suite] == nil {
				suites = append(suites, r.Suite)
			}
			bySuite[r.Suite] = append(bySuite[r.Suite], r)
		}
	}
	pages := map[string][]byte{}
	var page strings.Builder
	page.WriteString(head)
	for _, suite := range suites {
		results := bySuite[suite]
		c, err := bench.Compare(results, 0)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&page, "\n## Suite %s\n\n", suite)
		if len(results) > 1 {
			picture := "benchmarks-" + suite + ".svg"
			var b bytes.Buffer
			if err := c.WriteSVG(&b); err != nil {
				return nil, err
			}
			pages[picture] = b.Bytes()
			fmt.Fprintf(&page, "![Speed relative to the first device](%s)\n\n", picture)
		}
		page.WriteString(c.Markdown())
		for i, r := range results {
			if score, err := r.Score(); err == nil {
				fmt.Fprintf(&page, "\n- %s: score %s env steps/s", bench.Letter(i), bench.Figure(score))
				if r.Busy {
					page.WriteString(", on a busy machine")
				}
			}
		}
		page.WriteString("\n")
	}
	pages["benchmarks.md"] = []byte(page.String())
	return pages, nil
}

// head is the beginning of the page.
const head = `# Speed across vendors

Measurements by evorl bench on devices and drivers. Figures are medians of repetitions of a whole suite; a ratio is the speed relative to the first
column. Below a suite's first table is what makes a result unreliable: evorl bench detects other programs that used the processors
during the measurement, and cases that varied between repetitions.

A device is added by two commands, on a machine that does nothing else; the suite score takes about two minutes, core some more:

` + "```" + `
evorl bench --suite score --out result.json
go run ./tools/benchmarks result.json
` + "```" + `

The second regenerates this page from the files in [benchmarks](benchmarks). evorl bench --json describes
each case, the doc comments of package cmd/bench the contents of a file. evorl bench compare compares two files.
`
