package shaders

import "io/fs"

// Overlay is a tree of shaders with other texts in the place of some files, or beside them, by their paths. Its zero Tree is the embedded one.
type Overlay struct {
	Tree  fs.FS
	Texts map[string]string
}

// Open implements fs.FS, for the files of the tree alone.
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

// ComposeText is Compose for the text of a compute shader that is not in the tree, whose files it may include. Compiler messages name it shaders/NAME.comp.
func ComposeText(name, text string) (string, error) {
	return ComposeFrom(Overlay{Texts: map[string]string{name + ".comp": text}}, name, nil)
}
