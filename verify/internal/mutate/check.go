package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"
	"slices"
)

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

// weavePackage writes the mutants into the package's files. It marks and omits mutants that do not compile.
func weavePackage(m *module, s *source, mutants []*mutant) error {
	first := s.files[0]
	s.files = append(s.files, &file{name: filepath.Join(filepath.Dir(first.name), "mutant_runtime.go"),
		woven: "package " + first.syntax.Name.Name + "\n" + runtimeText})
	for {
		copies := map[string][]span{}
		for _, f := range s.files[:len(s.files)-1] {
			f.woven, copies[f.name] = weave(m.fset, f, slices.DeleteFunc(slices.Clone(mutants), func(mu *mutant) bool {
				return mu.file != f || mu.Status != ""
			}))
		}
		_, _, faults := m.check(s)
		if len(faults) == 0 {
			return nil
		}
		for _, f := range faults {
			in := func(s span) bool { return s.from <= f.at.Offset && f.at.Offset < s.to }
			i := slices.IndexFunc(copies[f.at.Filename], in)
			if i < 0 {
				return fmt.Errorf("woven source: %w", f.err)
			}
			copies[f.at.Filename][i].mutant.Status = notCompiling
		}
	}
}
