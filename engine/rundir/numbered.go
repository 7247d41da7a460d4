package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// NewNumbered makes a folder in another one: PREFIX-N, with N above all existing ones, where what a name of a file cannot have (/, \ and :) is "-". It is safe
// for concurrent processes.
func NewNumbered(below, prefix string) (string, error) {
	if err := os.MkdirAll(below, 0o755); err != nil {
		return "", err
	}
	numbers, err := existing(below, prefix)
	if err != nil {
		return "", err
	}
	next := 1
	for _, n := range numbers {
		next = max(next, n+1)
	}
	for ; ; next++ { // another process may have made it, or a file of a name that differs in case
		path := numbered(below, prefix, next)
		if err := os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// NewestNumbered returns the folder with the largest number of those that NewNumbered made and that have a file of a name; "" if there is none.
func NewestNumbered(below, prefix, file string) (string, error) {
	numbers, err := existing(below, prefix)
	if err != nil {
		return "", err
	}
	newest := 0
	for _, n := range numbers {
		if n <= newest {
			continue
		}
		if _, err := os.Stat(filepath.Join(numbered(below, prefix, n), file)); err == nil {
			newest = n
		}
	}
	if newest == 0 {
		return "", nil
	}
	return numbered(below, prefix, newest), nil
}

func numbered(below, prefix string, n int) string {
	return filepath.Join(below, fmt.Sprintf("%s-%d", fileName(prefix), n))
}

// fileName replaces what separates folders, and drives on Windows.
func fileName(prefix string) string {
	return strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(prefix)
}

// existing returns the numbers of a prefix in a folder.
func existing(below, prefix string) ([]int, error) {
	entries, err := os.ReadDir(below)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), fileName(prefix)+"-")
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && strconv.Itoa(n) == digits {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}
