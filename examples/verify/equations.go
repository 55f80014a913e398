package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/book/chapters"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pedestrian-ml/pedestrian/verify/index"
	"github.com/pkg/errors"
)

// equations writes the page of the papers' equations to a file.
func equations(w io.Writer, path string) error {
	root, err := index.Root()
	if err != nil {
		return errors.WithMessage(err, "-page")
	}
	x, err := index.Read(root)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return errors.Wrap(err, "-page")
	}
	relative, err := filepath.Rel(folder, root)
	if err != nil {
		return errors.Wrap(err, "-page")
	}
	links, err := derivations(filepath.ToSlash(relative))
	if err != nil {
		return err
	}
	if err := file.Replace(path, page.NewEquations(x, filepath.ToSlash(relative), links).Write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "saved %s, a page for a browser\n", path)
	return err
}

// derivations returns the chapters of the book by the formulas by hand whose code they show, with links below root.
func derivations(root string) (map[string]page.Chapter, error) {
	list, err := chapters.Read()
	if err != nil {
		return nil, err
	}
	found := map[string]page.Chapter{}
	for _, c := range list {
		for line := range strings.Lines(c.Source) {
			if !strings.HasPrefix(line, "verify/hand/") {
				continue
			}
			_, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
			for _, name := range strings.Split(names, ", ") {
				if _, earlier := found[name]; !earlier {
					found[name] = page.Chapter{
						Title: fmt.Sprintf("chapter %d, %s", c.Number, c.Title),
						Link:  root + "/examples/book/chapters/" + c.File + ".md",
					}
				}
			}
		}
	}
	return found, nil
}
