package shaders

import "io/fs"

// Overlay is a tree of shaders in which some files are replaced or added, by path. A nil Tree is the embedded one.
type Overlay struct {
	Tree  fs.FS
	Texts map[string]string
}

// Open implements fs.FS, only for the files of the tree.
func (o Overlay) Open(name string) (fs.File, error) { return o.tree().Open(name) }

// ReadFile implements fs.ReadFileFS.
func (o Overlay) ReadFile(name string) ([]byte, error) {
	if text, ok := o.Texts[name]; ok {
		return []byte(text), nil
	}
	return fs.ReadFile(o.tree(), name)
}

func (o Overlay) tree() fs.FS {
	if o.Tree == nil {
		return tree
	}
	return o.Tree
}

// ComposeText is Compose for the text of a compute shader outside the tree. It may include files of the tree. Compiler messages call it shaders/NAME.comp.
func ComposeText(name, text string) (string, error) {
	return ComposeFrom(Overlay{Texts: map[string]string{name + ".comp": text}}, name, nil)
}
