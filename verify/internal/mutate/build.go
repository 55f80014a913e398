package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// bench is where mutants meet tests: a copy of the module and a program of tests for each package.
type bench struct {
	dir    string // everything, removed at the end
	blocks int
	suites []*suite
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

// build weaves the mutants into the packages, drops those that do not compile, and compiles the tests.
func build(m *module, mutants []*mutant, progress io.Writer) (*bench, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir}
	blocks := map[string]int{}
	for i, mu := range mutants {
		at := fmt.Sprint(mu.File, mu.block)
		if _, ok := blocks[at]; !ok {
			blocks[at] = len(blocks)
		}
		mu.id, mu.hit = i+1, blocks[at]
	}
	b.blocks = len(blocks)
	overlay := map[string]string{}
	for _, s := range m.packages {
		if err := weavePackage(m, s, mutants); err != nil {
			return nil, err
		}
		for _, f := range s.files {
			if f.woven == f.text {
				continue
			}
			overlay[f.name] = filepath.Join(dir, fmt.Sprint(len(overlay), ".go"))
			if err := os.WriteFile(overlay[f.name], []byte(f.woven), 0o644); err != nil {
				return nil, err
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644); err != nil {
		return nil, err
	}
	if _, err := command(m.root, "sh", "-c", `mkdir "$1" && cp -r * "$1"`, "sh", filepath.Join(dir, "module")); err != nil {
		return nil, err
	}
	for i, p := range m.suites {
		fmt.Fprintf(progress, "building the tests of %s\n", p.path)
		bin := filepath.Join(dir, fmt.Sprint(i, ".test"))
		args := []string{"test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, p.path}
		if _, err := command(m.root, "go", args...); err != nil {
			return nil, err
		}
		if _, err := os.Stat(bin); err == nil { // a package without tests has no program
			rel, _ := filepath.Rel(m.root, p.dir)
			b.suites = append(b.suites, &suite{listed: p, program: bin, home: filepath.Join(dir, "module", rel)})
		}
	}
	return b, nil
}

// weavePackage writes the mutants into the package's files; those with errors are marked and left out.
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

// runtimeText is what every mutated package has: the mutant of this run, and a note of the blocks entered, in a file
// that outlives the process.
const runtimeText = `
import (
	"os"
	"strconv"
	"syscall"
)

var mutantID, _ = strconv.Atoi(os.Getenv("MUTANT"))

var mutantHits = func() []byte {
	n, _ := strconv.Atoi(os.Getenv("MUTANT_BLOCKS"))
	f, err := os.OpenFile(os.Getenv("MUTANT_HITS"), os.O_RDWR, 0)
	if err != nil {
		return make([]byte, n)
	}
	defer f.Close()
	hits, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return hits
}()
`
