package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Nearest returns the valid name that a misspelt one most likely means, or "" if none is close. It ignores letter case, the
// difference between "-" and "_", and a version suffix such as "-v1".
func Nearest(name string, valid []string) string {
	best, distance := "", 0
	plain := normal(name)
	for _, v := range valid {
		n := normal(v)
		d := editDistance(plain, n)
		if limit := max(1, min(len(plain), len(n))/3); d > limit && !abbreviates(plain, n) {
			continue
		}
		if best == "" || d < distance {
			best, distance = v, d
		}
	}
	return best
}

func normal(s string) string {
	return version.ReplaceAllString(strings.ReplaceAll(strings.ToLower(s), "-", "_"), "")
}

var version = regexp.MustCompile(`_v\d+$`)

// abbreviates reports whether short is a prefix of long, or the initials of its words, as lr of learning_rate.
func abbreviates(short, long string) bool {
	if len(short) < 2 {
		return false
	}
	initials := ""
	for word := range strings.SplitSeq(long, "_") {
		if word != "" {
			initials += word[:1]
		}
	}
	return strings.HasPrefix(long, short) || initials == short
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string
// alignment distance).
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}

// listed is the number of keys that are few.
const listed = 20

// hintFor suggests the nearest name, or lists all names if they are not more than most.
func hintFor(name string, valid []string, most int) string {
	if near := Nearest(name, valid); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(valid) > 0 && len(valid) <= most {
		return "valid: " + strings.Join(valid, ", ")
	}
	return ""
}
