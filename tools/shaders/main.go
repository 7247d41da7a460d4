// Command shaders builds every kernel of the repository: it composes the GLSL in shaders/, compiles each variant
// with glslc to shaders/spv, validates it with spirv-val, and writes the Go bindings, kernels_gen.go of each package.
//
//	go run ./tools/shaders           write what is missing or stale, remove what is left over
//	go run ./tools/shaders -check    write nothing; exit 1 naming what is missing, stale or left over
//	go run ./tools/shaders -reproduce   as -check, with all modules optimized anew: minutes with an empty cache
//
// A kernel's Go struct has a field for each buffer, push constant and specialization constant, except those that follow from others:
//
//   - imageBuffer x_texels, and a buffer of vec4 x4[], are other views of the buffer whose array is x[] and bind its range.
//   - const bool HAS_X is true if a range is given for buffer X, which is then optional.
//   - A buffer whose declaration has a comment with the word "optional" may be omitted if other constants keep the kernel from using it.
//   - bool, as a specialization constant (false by default) or as a push constant, is a bool in Go.
//
// Push constants are stored without gaps, so members follow one another by falling alignment.
//
// Kernels with cooperative matrices are written with GL_NV_cooperative_matrix, the extension that Debian 12's glslc and spirv-val know. Their
// modules, once validated, are turned into modules of SPV_KHR_cooperative_matrix.
//
// Compiled modules are cached in the user's cache folder by the digest of their composed source, so only changed ones are
// compiled. Modules depend on the compiler's version, which shaders/spv/VERSION records. With another version, -check compares
// the digests in shaders/spv/MANIFEST instead of bytes. Optimizing a robot takes glslc a minute, so a module is taken as optimized
// from its source if the manifest has the digests of both; all are compiled and validated without optimization.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/evorl/evorl/internal/diskcache"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its exit status: 0 done or up to date, 1 errors or differences, 2 usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("shaders", flag.ContinueOnError)
	flags.SetOutput(stderr)
	check := flags.Bool("check", false, "write nothing; exit 1 when an output is missing, stale or left over")
	reproduce := flags.Bool("reproduce", false, "like -check, with all modules optimized anew")
	root := flags.String("root", "", "the repository's root (default: the nearest folder upwards with a go.mod)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "shaders: unexpected argument %q; all kernels are built\n", flags.Arg(0))
		return 2
	}
	if *root == "" {
		found, err := findRoot()
		if err != nil {
			fmt.Fprintln(stderr, "shaders:", err)
			return 1
		}
		*root = found
	}
	b := &builder{root: *root, cache: diskcache.Open("spirv")}
	var err error
	if *check || *reproduce {
		err = b.check(ctx, stdout, !*reproduce)
	} else {
		err = b.write(ctx, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func (b *builder) versionFile() string { return filepath.Join(b.root, filepath.FromSlash(versionFile)) }

func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above; run in the repository or give -root", start)
		}
	}
}

// write updates all outputs and prints those that changed. Modules that agree with their manifest are not made again.
func (b *builder) write(ctx context.Context, stdout io.Writer) error {
	glslc, err := findGlslc(ctx)
	if err != nil {
		return err
	}
	if built, err := os.ReadFile(b.versionFile()); err == nil && glslc.version == string(built) {
		if b.agreed, err = b.agreeing(); err != nil {
			return err
		}
	}
	want, err := b.outputs(ctx, glslc)
	if err != nil {
		return err
	}
	differences, err := b.compare(want)
	if err != nil {
		return err
	}
	for _, d := range differences {
		path := filepath.Join(b.root, filepath.FromSlash(d.file))
		if d.kind == leftOver {
			if err := b.remove(path); err != nil {
				return err
			}
			fmt.Fprintln(stdout, "removed", d.file)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, want[d.file], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stdout, "wrote", d.file)
	}
	return nil
}

// check compares all outputs with the expected ones. With manifest it does not optimize modules that agree with their manifest.
func (b *builder) check(ctx context.Context, stdout io.Writer, manifest bool) error {
	built, err := os.ReadFile(b.versionFile())
	if err != nil {
		return fmt.Errorf("shaders: nothing was built yet: %w; run go run ./tools/shaders", err)
	}
	glslc, err := findGlslc(ctx)
	if err != nil && !errors.Is(err, errNoGlslc) {
		return err
	}
	var differences []difference
	if err == nil && glslc.version == string(built) {
		if manifest {
			if b.agreed, err = b.agreeing(); err != nil {
				return err
			}
		}
		want, err := b.outputs(ctx, glslc)
		if err != nil {
			return err
		}
		if differences, err = b.compare(want); err != nil {
			return err
		}
	} else {
		installed := "none is installed"
		if err == nil {
			installed = "installed is " + oneLine(glslc.version)
		}
		fmt.Fprintf(stdout, "shaders: shaders/spv was built by glslc %s; %s: comparing digests of sources, not modules\n", oneLine(string(built)), installed)
		if differences, err = b.compareDigests(); err != nil {
			return err
		}
	}
	if len(differences) == 0 {
		return nil
	}
	var names []string
	for _, d := range differences {
		names = append(names, fmt.Sprintf("%s: %s", d.file, d.kind))
	}
	return fmt.Errorf("%s\nshaders: %d files differ from their sources; run go run ./tools/shaders", strings.Join(names, "\n"), len(differences))
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), ", ")
}
