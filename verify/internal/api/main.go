// Api compares the names that two commits of the module export, where a version is made or a change is reviewed.
//
//	go run ./verify/internal/api HEAD
//
// compares HEAD with the working tree, and OLD NEW compares two commits. A line "+ gpt Decoder.Step" is a new name, and
// "- gpt Decoder.Window" one that is gone. It fails if CHANGELOG.md does not mention a name that is gone.
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// run compares the commits, or one of them and the files in dir.
func run(commits []string, dir string, w io.Writer) error {
	if len(commits) == 0 || len(commits) > 2 {
		return fmt.Errorf("got %d arguments, want an old commit and possibly a new one", len(commits))
	}
	before, err := archive(dir, commits[0])
	if err != nil {
		return err
	}
	after := os.DirFS(dir)
	if len(commits) == 2 {
		if after, err = archive(dir, commits[1]); err != nil {
			return err
		}
	}
	return compare(before, after, w)
}

// archive returns the files of a commit.
func archive(dir, commit string) (fs.FS, error) {
	git := exec.Command("git", "-C", dir, "archive", "--format=zip", "--end-of-options", commit)
	var stderr bytes.Buffer
	git.Stderr = &stderr
	data, err := git.Output()
	if err != nil {
		return nil, fmt.Errorf("git archive %s: %w\n%s", commit, err, stderr.String())
	}
	return zip.NewReader(bytes.NewReader(data), int64(len(data)))
}

// compare prints the names that only one of two trees of the module exports.
func compare(before, after fs.FS, w io.Writer) error {
	old, err := exported(before)
	if err != nil {
		return err
	}
	now, err := exported(after)
	if err != nil {
		return err
	}
	text, err := fs.ReadFile(after, "CHANGELOG.md")
	if err != nil {
		return err
	}
	gone := without(old, now)
	lines := slices.Concat(prefixed("- ", gone), prefixed("+ ", without(now, old)))
	if _, err := io.WriteString(w, strings.Join(lines, "")); err != nil {
		return err
	}
	if list := unmentioned(string(text), gone, now); len(list) > 0 {
		return errors.New("CHANGELOG.md does not mention that these are gone:\n" + strings.Join(list, "\n"))
	}
	return nil
}

// prefixed returns a line for each name.
func prefixed(prefix string, names []string) (lines []string) {
	for _, name := range names {
		lines = append(lines, prefix+name+"\n")
	}
	return lines
}

// without returns the names of a sorted list that another sorted list lacks.
func without(names, other []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, found := slices.BinarySearch(other, name)
		return found
	})
}
