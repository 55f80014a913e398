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
	if len(out) != 9 {
		t.Errorf("%d files, want 9", len(out))
	}
	for name, want := range out {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the generator writes: go generate ./graph/internal/kernel", name)
		}
	}
}
