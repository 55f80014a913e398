package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// bench holds a copy of the module and a test program for each package, in which mutants run.
type bench struct {
	dir    string // holds all files, removed at the end
	blocks int
	suites []*suite
	left   []string // tests that fail without a mistake
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
	copied := filepath.Join(dir, "module")
	if _, err := command(m.root, "sh", "-c", `mkdir "$1" && cp -r * "$1"`, "sh", copied); err != nil {
		return nil, err
	}
	for i, p := range m.suites {
		fmt.Fprintf(progress, "building the tests of %s\n", p.path)
		bin := filepath.Join(dir, fmt.Sprint(i, ".test"))
		args := []string{"test", "-c", "-vet=off", "-tags", m.tags,
			"-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, p.path}
		if _, err := command(m.root, "go", args...); err != nil {
			return nil, err
		}
		if _, err := os.Stat(bin); err == nil { // a package without tests has no program
			rel, _ := filepath.Rel(m.root, p.dir)
			b.suites = append(b.suites, &suite{listed: p, program: bin, home: filepath.Join(copied, rel)})
		}
	}
	return b, nil
}

// command returns the output of a program, or an error with its error output.
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
