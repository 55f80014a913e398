package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a module that a package links.
type module struct{ Path, Version, Dir string }

// modules returns the modules that the packages below dir link, sorted by path: the union over three systems and a
// build for several ranks.
func modules(dir string) ([]module, error) {
	linked := map[string]module{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-tags", "mpi", "-deps", "-json=Module", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		var failure bytes.Buffer
		cmd.Stderr = &failure
		out, err := cmd.Output()
		if err != nil {
			return nil, errors.Join(err, errors.New(failure.String()))
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var pkg struct{ Module *module }
			if err := d.Decode(&pkg); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			if m := pkg.Module; m != nil && m.Version != "" {
				linked[m.Path] = *m
			}
		}
	}
	list := slices.SortedFunc(maps.Values(linked), func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	root, err := exec.Command("go", "env", "GOROOT").Output()
	goes := module{Path: "Go's standard library", Dir: strings.TrimSpace(string(root))}
	return append([]module{goes}, list...), err
}

// licence is a file of a module.
type licence struct{ name, text string }

// licences reads the files of a module that state its licences. Freetype-Go offers a choice of two; licences takes the
// FreeType License.
func (m module) licences() (list []licence, err error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	add := func(name string) error {
		text, err := os.ReadFile(filepath.Join(m.Dir, name))
		list = append(list, licence{filepath.ToSlash(name), strings.ReplaceAll(string(text), "\r\n", "\n")})
		return err
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		switch {
		case e.IsDir() && (upper == "LICENSES" || upper == "THIRD_PARTY_LICENSES"):
			more, err := os.ReadDir(filepath.Join(m.Dir, e.Name()))
			if err != nil {
				return nil, err
			}
			for _, f := range more {
				if f.Name() == "gpl.txt" {
					continue
				}
				if err := add(filepath.Join(e.Name(), f.Name())); err != nil {
					return nil, err
				}
			}
		case !e.IsDir() &&
			(strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "NOTICE") || upper == "COPYING"):
			if err := add(e.Name()); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}
