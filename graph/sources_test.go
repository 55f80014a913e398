package graph

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// sourceFile is a Go file of this package.
type sourceFile struct {
	dir    string
	test   bool
	syntax *ast.File
}

// sources parses the files of this package.
func sources(t *testing.T) (files []sourceFile) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, sourceFile{"graph", strings.HasSuffix(path, "_test.go"), syntax})
	}
	return files
}
