package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const module = "github.com/pedestrian-ml/pedestrian"

// tree type-checks the declarations of the files of the module, without the bodies of functions. Packages of other
// modules are empty: their types are invalid, which does not change a name of this module.
type tree struct {
	fs.FS
	files    *token.FileSet
	packages map[string]*types.Package
}

// exported returns the exported names of the packages that other modules can import, as "folder Name" and "folder
// Type.Member", sorted. Members include the members of embedded types of this module.
func exported(files fs.FS) (list []string, err error) {
	t := tree{files, token.NewFileSet(), map[string]*types.Package{}}
	err = fs.WalkDir(files, ".", func(folder string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		base := path.Base(folder)
		if slices.Contains([]string{"internal", "testdata", "examples"}, base) || folder != "." && base[0] == '.' {
			return fs.SkipDir
		}
		pkg, err := t.Import(path.Join(module, folder))
		if err != nil {
			return err
		}
		list = append(list, names(folder, pkg)...)
		return nil
	})
	slices.Sort(list)
	return slices.Compact(list), err
}

// Import type-checks a package of the module, and returns an empty one for every other path.
func (t tree) Import(name string) (*types.Package, error) {
	if pkg := t.packages[name]; pkg != nil {
		return pkg, nil
	}
	folder, ours := strings.CutPrefix(name, module)
	if !ours {
		pkg := types.NewPackage(name, path.Base(name))
		pkg.MarkComplete()
		t.packages[name] = pkg
		return pkg, nil
	}
	folder = path.Join(".", folder)
	entries, err := fs.ReadDir(t, folder)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		name := path.Join(folder, e.Name())
		text, err := fs.ReadFile(t, name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(t.files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	// The files of all systems together declare some names twice, and empty packages lack names: errors are expected.
	conf := types.Config{Importer: t, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}}
	pkg, _ := conf.Check(name, t.files, files, nil)
	t.packages[name] = pkg
	return pkg, nil
}

// names returns the exported names of one package.
func names(folder string, pkg *types.Package) (list []string) {
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		list = append(list, folder+" "+name)
		if t, ok := object.(*types.TypeName); ok {
			for _, member := range members(t.Type(), map[types.Type]bool{}) {
				list = append(list, folder+" "+name+"."+member)
			}
		}
	}
	return list
}

// members returns the exported fields and methods of a type, including the embedded types'.
func members(t types.Type, seen map[types.Type]bool) (list []string) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	add := func(object types.Object) {
		if object.Exported() {
			list = append(list, object.Name())
		}
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		for m := range named.Methods() {
			add(m)
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if add(f); f.Embedded() {
				list = append(list, members(f.Type(), seen)...)
			}
		}
	case *types.Interface:
		for m := range u.ExplicitMethods() {
			add(m)
		}
		for e := range u.EmbeddedTypes() {
			list = append(list, members(e, seen)...)
		}
	}
	return list
}
