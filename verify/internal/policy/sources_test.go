package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../../.."
	module = "github.com/pedestrian-ml/pedestrian/"
)

// sourceFile is a Go file of the module. Its paths are relative to the module's root.
type sourceFile struct {
	path, dir string
	test      bool
	imports   []string
	text      string
	syntax    *ast.File
}

// top returns the first folder of the file's path.
func (f sourceFile) top() string {
	top, _, _ := strings.Cut(f.dir, "/")
	return top
}

// positions holds the positions of every file that sources returns.
var positions = token.NewFileSet()

// parsed reads every Go file of the module once.
var parsed = sync.OnceValues(func() (files []sourceFile, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		f := sourceFile{
			path: path, dir: filepath.ToSlash(filepath.Dir(path)), test: strings.HasSuffix(path, "_test.go"),
			text: string(text),
		}
		f.syntax, err = parser.ParseFile(positions, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, s := range f.syntax.Imports {
			name, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, name)
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

// sources returns every Go file of the module.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// inTree reports whether path is tree or lies below it.
func inTree(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }
