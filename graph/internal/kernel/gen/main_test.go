package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheCommittedFilesAreCurrent(t *testing.T) {
	out, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../*/*.s", "../*/*_stubs_*.go"} {
		committed, err := filepath.Glob(pattern)
		if err != nil || len(committed) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(committed), err)
		}
		for _, path := range committed {
			name := filepath.ToSlash(path[len("../"):])
			if _, written := out[name]; !written && name != "kerneltest/flags_amd64.s" &&
				name != "cache/cpuid_amd64.s" {
				t.Errorf("the generator does not write %s", path)
			}
		}
	}
	for name, want := range out {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s differs from the generator's output: go generate ./graph/internal/kernel", name)
		}
	}
}
