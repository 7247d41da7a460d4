package layout

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// docs/bindings.md says how much of the bindings is in use, the same of both.
func TestBindings(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	count := func(text, pattern string) string {
		return strconv.Itoa(len(regexp.MustCompile(pattern).FindAllString(text, -1)))
	}
	page, tables, abi := read("docs/bindings.md"), read("vk/shim_internal.h"), read("vk/abi.h")
	for _, file := range []string{"vk/binding_goki.go", "vk/binding_vulkango.go"} {
		text := read(file)
		blocks := map[string]string{}
		for _, kind := range []string{"type", "const", "var"} {
			_, block, _ := strings.Cut(text, "\n"+kind+" (\n")
			blocks[kind], _, _ = strings.Cut(block, "\n)")
		}
		const alias = `(?m)^\t\w+ += binding\.`
		for _, want := range []string{
			"| functions | " + count(blocks["var"], alias) + " | " + count(tables, `(?m)^  (?:[\w ]+\*?\(\*[A-Z]\w+\)|PFN_vkGetDeviceProcAddr)`) + " |",
			"| types | " + count(blocks["type"], alias) + " | " + count(abi, `(?m)^typedef struct`) + " |",
			"| constants | " + count(blocks["const"], alias) + " | |",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("docs/bindings.md does not say, of %s: %s", file, want)
			}
		}
	}
}
