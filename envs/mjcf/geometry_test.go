package mjcf

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestGeometry: the output for every model is valid Go, also in a user's package.
func TestGeometry(t *testing.T) {
	for _, name := range models(t) {
		m, states := read(t, name)
		if len(states) == 0 {
			t.Fatal("no states")
		}
		for _, pkg := range []string{"envs", "robots"} {
			text, err := Geometry(m, pkg)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name+"_gen.go", text, 0)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			imports := len(file.Imports)
			if file.Name.Name != pkg || (pkg == "envs") != (imports == 0) ||
				strings.Contains(string(text), "envs.Pose{") != (pkg != "envs") {
				t.Errorf("%s in package %s: package %s with %d imports", name, pkg, file.Name.Name, imports)
			}
		}
	}
	for kind, refused := range map[string]bool{"mesh": false, "sdf": true} { // meshes are not drawn
		shape := &Model{Bodies: []Body{{Geoms: []Geom{{Name: "hull", Type: kind}}}}}
		if _, err := Geometry(shape, "envs"); (err != nil) != refused || refused && !strings.Contains(err.Error(), `geom "hull"`) {
			t.Errorf("a %s: %v", kind, err)
		}
	}
}
