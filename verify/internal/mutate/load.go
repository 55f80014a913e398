package main

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module holds the packages to mutate, parsed and with their types.
type module struct {
	root     string // directory of go.mod
	tags     string // build tags
	fset     *token.FileSet
	packages []*source
	suites   []listed // packages with the tests to run
	importer types.Importer
}

// source is a package to mutate.
type source struct {
	name  string // path in the module, such as verify/hand
	path  string // import path
	files []*file
	info  *types.Info
}

type file struct {
	name   string // absolute
	text   string
	woven  string // text with mutants in it
	syntax *ast.File
}

// listed describes a package as go list prints it.
type listed struct {
	path, dir string
	files     []string
	judges    map[string]bool // packages whose mutants its tests judge; "" means all of them
}

// load lists, parses and checks the packages. It reads their compiled imports from the build cache.
func load(packages, tests []string, tags string) (*module, error) {
	root, err := command("", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	m := &module{root: strings.TrimSpace(root), tags: tags, fset: token.NewFileSet()}
	args := []string{"list", "-tags", tags, "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Dir}}\t{{.Export}}\t{{join .GoFiles \"\t\"}}"}
	names, judges := slices.Clone(packages), map[string]map[string]bool{}
	for _, p := range packages {
		judges[p] = map[string]bool{p: true}
	}
	for _, t := range tests {
		of, name, one := strings.Cut(t, "=")
		if !one {
			of, name = "", t
		}
		if judges[name] == nil {
			names, judges[name] = append(names, name), map[string]bool{}
		}
		judges[name][of] = true
	}
	for _, name := range names {
		args = append(args, "./"+name)
	}
	args = append(args, "os", "strconv", "syscall") // imported by the woven code
	text, err := command(m.root, "go", args...)
	if err != nil {
		return nil, err
	}
	exports, byDir := map[string]string{}, map[string]listed{}
	for _, line := range strings.Split(text, "\n") {
		if p := strings.Split(line, "\t"); len(p) > 3 {
			exports[p[0]], byDir[p[1]] = p[2], listed{path: p[0], dir: p[1], files: p[3:]}
		}
	}
	m.importer = importer.ForCompiler(m.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for i, name := range names {
		p := byDir[filepath.Join(m.root, filepath.FromSlash(name))]
		p.judges = judges[name]
		m.suites = append(m.suites, p)
		if i >= len(packages) {
			continue
		}
		s := &source{name: name, path: p.path}
		for _, f := range p.files {
			f = filepath.Join(p.dir, f)
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			s.files = append(s.files, &file{name: f, text: string(text), woven: string(text)})
		}
		trees, info, faults := m.check(s)
		if len(faults) > 0 {
			return nil, faults[0].err
		}
		for i, f := range s.files {
			f.syntax = trees[i]
		}
		s.info = info
		m.packages = append(m.packages, s)
	}
	return m, nil
}
