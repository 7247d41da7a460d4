package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// usageError is an error in the command line, independent of the machine.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// interrupted is the cause of a context that was cancelled by a signal.
type interrupted struct{ signal syscall.Signal }

func (e *interrupted) Error() string {
	name := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[e.signal]
	return "stopped by " + cmp.Or(name, "SIGINT")
}

// Exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
	statusSignal = 128 // plus the signal's number
)

func exitStatus(err error) int {
	var (
		signal *interrupted
		usage  *usageError
		cfg    *config.Error
		other  *evorl.DifferenceError
		index  *vk.DeviceIndexError
		name   *vk.DeviceNameError
		member *evorl.MemberError
		file   *configFileError
		source *shaders.CompileError
	)
	switch {
	case errors.As(err, &signal):
		return statusSignal + int(signal.signal)
	case errors.As(err, &usage), errors.As(err, &cfg), errors.As(err, &other), errors.As(err, &index), errors.As(err, &name), errors.As(err, &member),
		errors.As(err, &file), errors.As(err, &source):
		return statusUsage
	}
	return statusFailed
}

// configFileError is the error of an unreadable configuration file.
type configFileError struct{ err error }

func (e *configFileError) Error() string { return e.err.Error() }
func (e *configFileError) Unwrap() error { return e.err }

// shownError is an error that has been printed.
type shownError struct{ error }

func (e *shownError) Unwrap() error { return e.error }

// show prints an error, or what has not been printed of several, and returns it as one that has been.
func show(w io.Writer, err error) error {
	var shown *shownError
	if !errors.As(err, &shown) {
		if text := describe(err); text != "" {
			fmt.Fprintln(w, text)
		}
	} else if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			show(w, e)
		}
	}
	return &shownError{err}
}

// closing closes what an error, or nil, came from. It prints the error first, since a driver can crash when a lost device is closed.
func closing(screen io.Writer, err error, closed func() error) error {
	if err != nil {
		err = show(screen, err)
	}
	return errors.Join(err, closed())
}

// describe returns the message for the user; "" if everything has been reported.
func describe(err error) string {
	var cfg *config.Error
	if errors.As(err, &cfg) {
		return plainLines(cfg.Error()) // begins with file and line, as editors expect
	}
	var signal *interrupted
	if errors.As(err, &signal) {
		return ""
	}
	var source *shaders.CompileError
	if errors.As(err, &source) {
		return plainLines(source.Messages) // likewise
	}
	text := "evorl: " + plainLines(strings.TrimPrefix(strings.TrimSpace(err.Error()), "evorl: "))
	var index *vk.DeviceIndexError
	var name *vk.DeviceNameError
	var memory *vk.OutOfMemoryError
	var place *fs.PathError
	switch {
	case errors.As(err, &index), errors.As(err, &name):
		text += "\nsee: evorl devices"
	case errors.As(err, &memory):
		text += "\nuse fewer members, environments, steps, episodes or cells, or a smaller network"
	case errors.As(err, &place) && errors.Is(err, syscall.ENOSPC):
		text += "\nfree some space; a run goes on from its last checkpoint with --resume"
	case errors.Is(err, shaders.ErrNoCompiler):
		text += "\n" + compilerHint
	case errors.Is(err, vk.ErrDeviceLost), errors.Is(err, vk.ErrTimeout):
		text += "\nthe run goes on from its last checkpoint with --resume"
	}
	return text
}

// compilerHint describes how to install a GLSL compiler, which only user-defined environments and problems need.
const compilerHint = "environments and problems of your own need a GLSL compiler: apt install glslc (or glslang-tools), dnf install glslc, " +
	"pacman -S shaderc, apk add shaderc, brew install shaderc, or the Vulkan SDK"

// warn prints a warning: something that does not end the command.
func warn(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, "evorl: warning: "+plain(fmt.Sprintf(format, args...)))
}

// plain escapes control characters, so that text from files cannot control the terminal.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainLines is plain for text of several lines.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// parseSeed parses the seed of a flag.
func parseSeed(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, usagef("--seed %s: want a whole number from 0 to %d", text, uint32(math.MaxUint32))
	}
	return uint32(n), nil
}
