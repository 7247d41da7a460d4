package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is an error in a configuration and its position. Its text is, for example,
//
//	configs/pbt.toml:7:1: unknown key "learning_rat" in [ppo]
//	  learning_rat = 3e-4
//	  ^^^^^^^^^^^^
//	did you mean "learning_rate"?
type Error struct {
	File    string // as given by the caller; empty if Flag is set
	Flag    string // the command-line flag that contains the text, such as --set
	Line    int    // from 1; within the flag's text if Flag is set
	Column  int    // from 1, in characters
	Width   int    // characters to underline, at least 1
	Source  string // the line
	Message string
	Hint    string // a suggestion; may be empty
}

// clipColumns is the number of characters shown of a long line.
const clipColumns = 100

func (e *Error) Error() string {
	var b strings.Builder
	if e.Flag != "" {
		fmt.Fprintf(&b, "%s: %s", e.Flag, e.Message)
	} else {
		fmt.Fprintf(&b, "%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	}
	line := []rune(strings.Map(printable, e.Source))
	if len(line) > 0 {
		from := 0
		if e.Column > clipColumns*3/4 {
			from = min(e.Column-1-clipColumns/4, len(line))
		}
		to := min(from+clipColumns, len(line))
		before := min(max(e.Column-1, from), to)
		fmt.Fprintf(&b, "\n  %s\n  ", string(line[from:to]))
		for _, r := range line[from:before] {
			if r != '\t' {
				r = ' ' // tabs are kept, so that the caret is below its character
			}
			b.WriteRune(r)
		}
		b.WriteString(strings.Repeat("^", max(1, min(e.Width, to-before))))
	}
	if e.Hint != "" {
		b.WriteString("\n" + e.Hint)
	}
	return b.String()
}

// printable replaces control characters, so that a file cannot send them to the terminal.
func printable(r rune) rune {
	if r != '\t' && unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}

// source is a configuration text.
type source struct {
	name string
	flag string
	text string
}

// span is a range of bytes of a source.
type span struct{ start, end int }

func (s *source) slice(at span) string {
	start := min(max(at.start, 0), len(s.text))
	return s.text[start:min(max(at.end, start), len(s.text))]
}

// errorAt returns an error for a range of the text.
func (s *source) errorAt(at span, message, hint string) *Error {
	start := min(max(at.start, 0), len(s.text))
	begin := strings.LastIndexByte(s.text[:start], '\n') + 1
	line := s.text[begin:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = strings.TrimSuffix(line, "\r")
	end := min(max(at.end, start), begin+len(line))
	e := &Error{
		File: s.name, Flag: s.flag, Source: line, Message: message, Hint: hint,
		Line:   strings.Count(s.text[:begin], "\n") + 1,
		Column: utf8.RuneCountInString(s.text[begin:start]) + 1,
		Width:  1,
	}
	if end > start {
		e.Width = utf8.RuneCountInString(s.text[start:end])
	}
	if s.flag != "" {
		e.File = ""
	}
	return e
}
