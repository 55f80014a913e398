package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

const largest = 1 << 22 // bytes of a source file or a table

// declaration returns the source of a function, a method such as LayerNorm.Forward, or a type, with its comment.
func (b *book) declaration(path, name string) (string, error) {
	data, err := file.Read(filepath.Join(b.root, path), largest)
	if err != nil {
		return "", err
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, data, parser.ParseComments)
	if err != nil {
		return "", errors.Wrap(err, path)
	}
	for _, d := range f.Decls {
		from, found := d.Pos(), false
		var doc *ast.CommentGroup
		switch d := d.(type) {
		case *ast.FuncDecl:
			found, doc = functionName(d) == name, d.Doc
		case *ast.GenDecl:
			for _, s := range d.Specs {
				t, ok := s.(*ast.TypeSpec)
				found, doc = found || ok && t.Name.Name == name, d.Doc
			}
		}
		if !found {
			continue
		}
		if doc != nil {
			from = doc.Pos()
		}
		return string(data[files.Position(from).Offset:files.Position(d.End()).Offset]), nil
	}
	return "", errors.Errorf("%s: no declaration of %s", path, name)
}

// functionName returns the name of a function, with its receiver's type before it.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// section returns the text of a Markdown file under a heading, up to the next heading.
func (b *book) section(path, heading string) (string, error) {
	data, err := file.Read(filepath.Join(b.root, path), largest)
	if err != nil {
		return "", err
	}
	_, text, ok := strings.Cut(string(data), "\n## "+heading+"\n")
	if !ok {
		return "", errors.Errorf("%s: no heading %q", path, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.Trim(text, "\n"), nil // the first line may be an indented command
}
