package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/evorl/evorl"

// reference writes a page of every package that others can import, from its doc comments, and a list of them.
func reference(root, to string) error {
	folders, err := packages(root)
	if err != nil {
		return err
	}
	var list strings.Builder
	list.WriteString("# Go packages\n\n| package | |\n|---|---|\n")
	for _, folder := range folders {
		p, err := document(root, folder)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		name := strings.ReplaceAll(path.Join("evorl", folder), "/", "-") + ".md"
		fmt.Fprintf(&list, "| [%s](%s) | %s |\n", path.Join(module, folder), name, p.pkg.Synopsis(p.pkg.Doc))
		if err := put(to, "reference/"+name, p.page()); err != nil {
			return err
		}
	}
	return put(to, "reference/index.md", []byte(list.String()))
}

// packages returns the folders of the packages that can be imported, from the root, sorted.
func packages(root string) ([]string, error) {
	var folders []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base[0] == '.' || base == "internal" || base == "testdata" || base == "cmd" || base == "tools"):
			return fs.SkipDir
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !slices.Contains(folders, path.Dir(name)):
			folders = append(folders, path.Dir(name))
		}
		return nil
	})
	slices.Sort(folders)
	return folders, err
}

// documented is a package with its sources.
type documented struct {
	pkg   *doc.Package
	files *token.FileSet
}

func document(root, folder string) (*documented, error) {
	d := &documented{files: token.NewFileSet()}
	var parsed []*ast.File
	sources, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_gen.go") {
			continue
		}
		f, err := parser.ParseFile(d.files, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	d.pkg, err = doc.NewFromFiles(d.files, parsed, path.Join(module, folder))
	return d, err
}

// page writes a package as Markdown.
func (d *documented) page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# package %s\n\n```go\nimport \"%s\"\n```\n\n%s\n", d.pkg.Name, d.pkg.ImportPath, d.markdown(d.pkg.Doc))
	d.values(&b, d.pkg.Consts)
	d.values(&b, d.pkg.Vars)
	d.functions(&b, "##", "", d.pkg.Funcs)
	for _, t := range d.pkg.Types {
		fmt.Fprintf(&b, "## type %s\n\n", t.Name)
		d.declaration(&b, t.Decl)
		b.WriteString(d.markdown(t.Doc))
		d.values(&b, t.Consts)
		d.values(&b, t.Vars)
		d.functions(&b, "###", "", t.Funcs)
		d.functions(&b, "###", t.Name+".", t.Methods)
	}
	return b.Bytes()
}

// markdown converts a doc comment; its headings are below the page's.
func (d *documented) markdown(text string) string {
	p := d.pkg.Printer()
	p.HeadingLevel = 4
	p.DocLinkBaseURL = "https://pkg.go.dev"
	return string(p.Markdown(d.pkg.Parser().Parse(text))) + "\n"
}

func (d *documented) values(b *bytes.Buffer, list []*doc.Value) {
	for _, v := range list {
		d.declaration(b, v.Decl)
		b.WriteString(d.markdown(v.Doc))
	}
}

func (d *documented) functions(b *bytes.Buffer, level, of string, list []*doc.Func) {
	for _, f := range list {
		fmt.Fprintf(b, "%s func %s%s\n\n", level, of, f.Name)
		d.declaration(b, f.Decl)
		b.WriteString(d.markdown(f.Doc))
	}
}

// declaration writes a declaration as code, without a function's body.
func (d *documented) declaration(b *bytes.Buffer, decl ast.Decl) {
	switch of := decl.(type) {
	case *ast.FuncDecl:
		of.Body, of.Doc = nil, nil
	case *ast.GenDecl:
		of.Doc = nil
	}
	b.WriteString("```go\n")
	_ = format.Node(b, d.files, decl) // what was parsed can be written
	b.WriteString("\n```\n\n")
}
