package main

import (
	"bufio"
	"bytes"
	"debug/macho"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A program for macOS is compiled and linked by Zig, whose C compiler has the headers of macOS and a list of the functions of its system library.
// What else the program imports is what Go's own packages declare: stubs of these libraries are made of Go's declarations. The Vulkan bindings name
// further libraries that are not used, since vk loads the Vulkan loader when the program runs; these are left out.

// zigTarget is the name of macOS on Apple silicon for Zig.
const zigTarget = "aarch64-macos"

// unused are the libraries and frameworks that the bindings name for macOS.
var unused = []string{"Cocoa", "IOKit", "IOSurface", "QuartzCore", "Metal", "MoltenVK", "c++"}

// zigVersion is the version of Python's package ziglang.
const zigVersion = "0.15.2"

// installZig returns the command of Zig, which it installs into the user's cache folder if it is not there.
func installZig() ([]string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(cache, "evorl", "zig-"+zigVersion)
	zig := []string{filepath.Join(folder, "bin", "python"), "-m", "ziglang"}
	if exec.Command(zig[0], "-m", "ziglang", "version").Run() == nil {
		return zig, nil
	}
	for _, args := range [][]string{
		{"python3", "-m", "venv", folder}, {zig[0], "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "ziglang==" + zigVersion},
	} {
		if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("installing Zig %s: %s: %w\n%s", zigVersion, strings.Join(args, " "), err, text)
		}
	}
	return zig, nil
}

// macCompiler writes a C compiler for macOS into a folder and returns its path.
func macCompiler(folder string) (string, error) {
	zig, err := installZig()
	if err != nil {
		return "", err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	imports, err := goImports(filepath.Join(strings.TrimSpace(string(root)), "src"))
	if err != nil {
		return "", err
	}
	if err := writeStubs(folder, imports); err != nil {
		return "", err
	}
	script := filepath.Join(folder, "cc")
	return script, os.WriteFile(script, []byte(wrapper(zig, folder)), 0o755)
}

// wrapper is a shell script that calls Zig's C compiler without what the bindings do not use.
func wrapper(zig []string, stubs string) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\nskip=\nfor argument; do\n\tshift\n\tif [ -n \"$skip\" ]; then\n\t\tskip=\n\t\tcase $argument in\n\t\t")
	b.WriteString(strings.Join(unused, "|") + ") continue ;;\n\t\tesac\n\t\tset -- \"$@\" -framework \"$argument\"\n\t\tcontinue\n\tfi\n\tcase $argument in\n")
	b.WriteString("\t-framework) skip=1 ;;\n\t-l" + strings.Join(unused, "|-l") + "|-F/Library/Frameworks|-Wl,-rpath,*) ;;\n")
	fmt.Fprintf(&b, "\t-) cd '%s' && set -- \"$@\" - ;;\n", stubs) // go tries flags on a text without a file, whose object Zig leaves in this folder
	b.WriteString("\t*) set -- \"$@\" \"$argument\" ;;\n\tesac\ndone\n")
	fmt.Fprintf(&b, "exec '%s' cc -target %s -F'%s' -L'%s' \"$@\"\n", strings.Join(zig, "' '"), zigTarget, stubs, stubs)
	return b.String()
}

// goImports lists the functions that Go's packages import on macOS from libraries other than the system's, by library.
func goImports(source string) (map[string][]string, error) {
	imports := map[string][]string{}
	err := filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("//go:cgo_import_dynamic ")) {
			return err
		}
		for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
			fields := strings.Fields(in.Text()) // directive, name in Go, name in the library, "library"
			if len(fields) != 4 || fields[0] != "//go:cgo_import_dynamic" {
				continue
			}
			library := strings.Trim(fields[3], `"`)
			mac := strings.HasPrefix(library, "/System/Library/Frameworks/") || strings.HasPrefix(library, "/usr/lib/") && strings.HasSuffix(library, ".dylib")
			if mac && library != systemLibrary {
				imports[library] = append(imports[library], fields[2])
			}
		}
		return nil
	})
	return imports, err
}

// systemLibrary is the one that Zig knows.
const systemLibrary = "/usr/lib/libSystem.B.dylib"

// writeStubs writes for each library what a linker needs to know: where it is and what it has (TAPI's text format, version 4).
func writeStubs(folder string, imports map[string][]string) error {
	for library, functions := range imports {
		name := path.Base(library) // libresolv.9.dylib is found as libresolv, a framework in its folder
		file := filepath.Join(folder, strings.SplitN(name, ".", 2)[0]+".tbd")
		if strings.Contains(library, ".framework/") {
			file = filepath.Join(folder, name+".framework", name+".tbd")
		}
		slices.Sort(functions)
		text := fmt.Sprintf("--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: '%s'\n"+
			"exports:\n  - targets: [ arm64-macos ]\n    symbols: [ _%s ]\n...\n", library, strings.Join(slices.Compact(functions), ", _"))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// codeSignature is the number of the load command LC_CODE_SIGNATURE.
const codeSignature = 0x1d

// checkMac checks that a program is one of Apple silicon, is signed, and loads no library but macOS's own: it must start on a machine without
// Vulkan.
func checkMac(program []byte) error {
	f, err := macho.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if f.Cpu != macho.CpuArm64 || f.Type != macho.TypeExec {
		return fmt.Errorf("it is a %v for %v; want a program for %v", f.Type, f.Cpu, macho.CpuArm64)
	}
	if !slices.ContainsFunc(f.Loads, func(l macho.Load) bool { return f.ByteOrder.Uint32(l.Raw()) == codeSignature }) {
		return fmt.Errorf("it is not signed; want at least an ad hoc signature, without which it is not started")
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if !strings.HasPrefix(l, "/usr/lib/") && !strings.HasPrefix(l, "/System/Library/Frameworks/") {
			return fmt.Errorf("it loads %s; want only libraries of macOS", l)
		}
	}
	return nil
}
