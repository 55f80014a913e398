package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// module holds the packages to mutate, parsed and with their types.
type module struct {
	root     string // directory of go.mod
	fset     *token.FileSet
	packages []*source
	suites   []listed // packages whose tests run
	importer types.Importer
}

// source is a package to mutate.
type source struct {
	name  string // path in the module, as verify/hand
	path  string // as it is imported
	files []*file
	info  *types.Info
}

type file struct {
	name   string // absolute
	text   string
	woven  string // text with mutants in it
	syntax *ast.File
}

// listed is what go list says of a package.
type listed struct {
	path, dir string
	files     []string
	judges    map[string]bool // packages whose mutants its tests run on; "" is all of them
}

// load lists, parses and checks the packages. Their imports come compiled, from the build cache.
func load(packages, tests []string) (*module, error) {
	root, err := command("", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	m := &module{root: strings.TrimSpace(root), fset: token.NewFileSet()}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Export}}\t{{join .GoFiles \"\t\"}}"}
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
	m.importer = importer.ForCompiler(m.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
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

// fault is an error that the compiler would find.
type fault struct {
	at  token.Position
	err error
}

// check parses the woven files of a package and finds the types and the faults.
func (m *module) check(s *source) (trees []*ast.File, info *types.Info, faults []fault) {
	for _, f := range s.files {
		tree, err := parser.ParseFile(m.fset, f.name, f.woven, parser.SkipObjectResolution)
		if list, ok := err.(scanner.ErrorList); ok {
			faults = append(faults, fault{list[0].Pos, list[0]})
		}
		trees = append(trees, tree)
	}
	if len(faults) > 0 {
		return trees, nil, faults
	}
	config := types.Config{Importer: m.importer, Sizes: types.SizesFor("gc", runtime.GOARCH), Error: func(err error) {
		faults = append(faults, fault{m.fset.Position(err.(types.Error).Pos), err})
	}}
	info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config.Check(s.path, m.fset, trees, info) // its error is the first of faults
	return trees, info, faults
}

// command returns what a program prints, or an error with what it complains of.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, stderr.String())
	}
	return string(out), nil
}
