package shaders

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// MaxIterations is the most iterations that all loops of a user's text may take in an invocation. Mesa's software driver silently leaves an invocation's
// loops after 65,535 iterations in total.
const MaxIterations = 60000

var (
	comment    = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	loop       = regexp.MustCompile(`(\[\[\s*unroll\s*\]\]\s*)?\b(?:for|while)\s*\(`)
	lineOfGLSL = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*line[ \t]+(\d+)(?:[ \t]+"([^"]*)")?[^\n]*$`)
)

// LoopLines returns the line numbers of the loops of a text that are not unrolled ([[unroll]]) and that no macro hides; of do loops the line of the while.
func LoopLines(glsl string) (lines []int) {
	text := comment.ReplaceAllStringFunc(glsl, func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) })
	for _, at := range loop.FindAllStringSubmatchIndex(text, -1) {
		if at[2] < 0 {
			lines = append(lines, 1+strings.Count(text[:at[1]], "\n"))
		}
	}
	return lines
}

// Loops returns the places, as file:line, of the loops of a composed source that are not unrolled, except in the embedded files. The compiler's
// preprocessor finds them, so that neither a macro nor a line that continues hides one. Errors are Compile's.
func Loops(ctx context.Context, glsl string) (places []string, err error) {
	text, err := preprocess(ctx, glsl)
	if err != nil {
		return nil, err
	}
	file, from, line := "", 0, 1 // where the text after the newest #line begins, and its number
	count := func(to int) {
		if name, ok := strings.CutPrefix(file, shown("")); ok {
			if _, err := fs.Stat(tree, name); err == nil {
				return // counted by who wrote it
			}
		}
		for _, at := range LoopLines(text[from:to]) {
			places = append(places, fmt.Sprintf("%s:%d", file, line+at-1))
		}
	}
	for _, at := range lineOfGLSL.FindAllStringSubmatchIndex(text, -1) {
		count(at[0])
		from = min(at[1]+1, len(text))
		line, _ = strconv.Atoi(text[at[2]:at[3]]) // digits
		if at[4] >= 0 {
			file = text[at[4]:at[5]]
		}
	}
	count(len(text))
	return places, nil
}

// preprocess replaces the macros of a composed compute shader and joins lines that continue. #line directives stay.
func preprocess(ctx context.Context, glsl string) (string, error) {
	name, args := "glslc", []string{"-fshader-stage=compute", "-E", "-o", "-", "-"}
	path, err := exec.LookPath(name)
	if err != nil {
		name, args = "glslangValidator", []string{"--stdin", "-E", "-S", "comp"}
		if path, err = exec.LookPath(name); err != nil {
			return "", noCompiler()
		}
	}
	text, messages, err := pipe(ctx, glsl, path, args...)
	if err != nil {
		return "", compileError(ctx, name, string(text)+messages, err)
	}
	return string(text), nil
}
