package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The compiler gets its arguments without the libraries of the bindings that are not used.
func TestWrapper(t *testing.T) {
	script := filepath.Join(t.TempDir(), "cc")
	stubs := t.TempDir()
	if err := os.WriteFile(script, []byte(wrapper([]string{"/bin/echo", "zig"}, stubs)), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(script, "-O2", "-framework", "Cocoa", "a b.c", "-Wl,-rpath,/usr/local/lib", "-F/Library/Frameworks", "-framework", "CoreFoundation",
		"-lMoltenVK", "-lc++", "-framework", "Metal", "-lresolv").CombinedOutput()
	if want := "zig cc -target aarch64-macos -F" + stubs + " -L" + stubs + " -O2 a b.c -framework CoreFoundation -lresolv\n"; err != nil || string(out) != want {
		t.Errorf("%s%v; want %s", out, err, want)
	}
	if err := os.WriteFile(script, []byte(wrapper([]string{"/bin/sh", "-c", "pwd"}, stubs)), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(script, "-c", "-").CombinedOutput(); err != nil || string(out) != stubs+"\n" {
		t.Errorf("a text without a file is compiled in %s%v; want %s", out, err, stubs)
	}
}

// Go's packages import functions of macOS from three libraries; each gets a stub.
func TestStubs(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports, err := goImports(filepath.Join(strings.TrimSpace(string(root)), "src"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := writeStubs(folder, imports); err != nil {
		t.Fatal(err)
	}
	for library, c := range map[string]struct{ file, function string }{
		"/usr/lib/libresolv.9.dylib": {"libresolv.tbd", "res_9_nsearch"},
		"/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation": {"CoreFoundation.framework/CoreFoundation.tbd", "CFDataCreate"},
		"/System/Library/Frameworks/Security.framework/Versions/A/Security":             {"Security.framework/Security.tbd", "SecTrustEvaluateWithError"},
	} {
		if !slices.Contains(imports[library], c.function) {
			t.Errorf("%s: %v; want %s", library, imports[library], c.function)
		}
		text, err := os.ReadFile(filepath.Join(folder, c.file))
		if err != nil || !strings.Contains(string(text), "install-name: '"+library+"'") || !strings.Contains(string(text), " _"+c.function) {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestCheckMac(t *testing.T) {
	if err := checkMac([]byte("no program")); err == nil {
		t.Error("a text is a program for macOS")
	}
}
