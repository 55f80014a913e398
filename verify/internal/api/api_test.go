package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The names of a package are those that other modules see: fields and methods, promoted ones too, of all systems.
func TestExported(t *testing.T) {
	tree := fstest.MapFS{
		"gpt/model.go": {Data: []byte(`package gpt
import ("math/big"; "github.com/pedestrian-ml/pedestrian/nn"; "github.com/pedestrian-ml/pedestrian/gpt/internal/base")
type Model struct { nn.Layer; *base.State; Size *big.Int; secret int }
func (*Model) Step() {}
func New() *Model { return nil }
type Reader interface { nn.Sizer; Read() }
const Limit, hidden = 1, 2
`)},
		"gpt/model_linux.go":           {Data: []byte("package gpt\nfunc Peak() {}")},
		"gpt/model_windows.go":         {Data: []byte("package gpt\nfunc Peak() {}")},
		"gpt/model_test.go":            {Data: []byte("package gpt\nfunc Helper() {}")},
		"gpt/internal/base/state.go":   {Data: []byte("package base\ntype State struct{ Done int }")},
		"nn/layer.go":                  {Data: []byte("package nn\ntype Layer struct{ Weight int }")},
		"nn/sizer.go":                  {Data: []byte("package nn\ntype Sizer interface{ Len() int }")},
		"gpt/testdata/a.go":            {Data: []byte("package a\nvar A int")},
		"examples/graph/main.go":       {Data: []byte("package main\nvar B int")},
		".github/c.go":                 {Data: []byte("package c\nvar C int")},
		"gpt/broken/testdata/wrong.go": {Data: []byte("package")},
	}
	want := strings.Fields(`gpt.Limit gpt.Model gpt.Model.Done gpt.Model.Layer gpt.Model.Size gpt.Model.State
		gpt.Model.Step gpt.Model.Weight gpt.New gpt.Peak gpt.Reader gpt.Reader.Len gpt.Reader.Read
		nn.Layer nn.Layer.Weight nn.Sizer nn.Sizer.Len`)
	for i, name := range want {
		want[i] = strings.Replace(name, ".", " ", 1)
	}
	if got, err := exported(tree); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := exported(fstest.MapFS{"nn/wrong.go": {Data: []byte("package")}}); err == nil {
		t.Error("got no error for a file that is no Go, want one")
	}
}

// This module exports what it did, about: if an import were not resolved, names would be missing without an error.
func TestExportedHere(t *testing.T) {
	got, err := exported(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 4000 {
		t.Errorf("got %d exported names, want at least 4000", len(got))
	}
	for _, name := range []string{"gpt Config.Attention", "nn Site.Param", "verify/hand LayerNorm.Backward"} {
		if _, found := slices.BinarySearch(got, name); !found {
			t.Errorf("got no name %s, want it", name)
		}
	}
}

// Two commits, and a commit and the working tree, are compared.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"},
			args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		t.Helper()
		git("add", ".")
		git("commit", "-q", "-m", "a change")
	}
	if err := os.Mkdir(filepath.Join(dir, "nn"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	write("CHANGELOG.md", "")
	write("nn/a.go", "package nn\nfunc Same() {}\nfunc Old() {}")
	commit()
	write("nn/a.go", "package nn\nfunc Same() {}\nfunc New() {}")
	commit()
	write("nn/a.go", "package nn\nfunc Same() {}\nfunc Newer() {}")
	for _, c := range []struct {
		changelog, want string
		mentioned       bool
		commits         []string
	}{
		{"", "- nn Old\n+ nn New\n", false, []string{"HEAD~1", "HEAD"}},
		{"", "- nn New\n+ nn Newer\n", false, []string{"HEAD"}},
		{"`nn.New` is `nn.Newer`", "- nn New\n+ nn Newer\n", true, []string{"HEAD"}},
		{"", "", true, []string{"HEAD", "HEAD"}},
	} {
		write("CHANGELOG.md", c.changelog)
		var out bytes.Buffer
		if err := run(c.commits, dir, &out); (err == nil) != c.mentioned || out.String() != c.want {
			t.Errorf("%v with the changelog %q: got %q, %v, want %q, mentioned %v",
				c.commits, c.changelog, out.String(), err, c.want, c.mentioned)
		}
	}
	for _, commits := range [][]string{nil, {"HEAD", "HEAD", "HEAD"}, {"other"}, {"--output=x"}} {
		if err := run(commits, dir, io.Discard); err == nil {
			t.Errorf("%q: got no error, want one", commits)
		}
	}
}

func TestUnmentioned(t *testing.T) {
	names := []string{"gpt Decoder", "gpt Decoder.Step", "nn Block"}
	gone := []string{"gpt Decoder.Window", "gpt Old", "gpt Old.Field", "verify GPTForward", "nn Plain"}
	for _, test := range []struct {
		changelog string
		want      []string
	}{
		{"", gone},
		{"Window, Old, GPTForward and Plain are gone", gone},
		{"`Window`, `Decoder`", gone},
		{"`gpt.Decoder.Window` is gone", gone[1:]},
		{"`gpt`, `verify`, `nn`", []string{"gpt Decoder.Window", "gpt Old", "gpt Old.Field", "nn Plain"}},
		{"`Decoder.Window()`, `gpt.Old`, `verify.*Forward`, `Plain`", nil},
		{
			"`Decoder.Window`, `Old.Field`, `*Backward`, `hand.Plain`",
			[]string{"gpt Old", "verify GPTForward", "nn Plain"},
		},
	} {
		if got := unmentioned(test.changelog, gone, names); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.changelog, got, test.want)
		}
	}
}
