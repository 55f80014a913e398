// Package chapters holds the chapters of the book: Markdown whose blocks are executed.
package chapters

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/notation"
	"github.com/pkg/errors"
)

//go:embed *.md
var files embed.FS

// Chapter is a chapter as its file holds it.
type Chapter struct {
	Number    int
	File      string // without .md, such as 04-layer-norm
	Title     string
	Asks      string // its question
	Source    string // without the title
	Exercises []notation.Exercise
}

// Read returns the chapters in their order.
func Read() (list []Chapter, err error) {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, errors.Wrap(err, "chapters")
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, errors.Wrap(err, "chapters")
		}
		c := Chapter{File: strings.TrimSuffix(name, ".md")}
		number, _, _ := strings.Cut(name, "-")
		if c.Number, err = strconv.Atoi(number); err != nil {
			return nil, errors.Errorf("%s: want a name that begins with the chapter's number", name)
		}
		first, rest, _ := strings.Cut(string(data), "\n")
		asks, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		c.Title, c.Source = strings.TrimPrefix(first, "# "), rest
		if c.Asks = strings.Trim(asks, "*"); c.Title == first || "**"+c.Asks+"**" != asks {
			return nil, errors.Errorf("%s: want a title, # …, and a question, **…**", name)
		}
		for _, block := range strings.Split(rest, "\n```exercise\n")[1:] {
			text, _, _ := strings.Cut(block, "\n```")
			e, err := notation.ParseExercise(text)
			if err != nil {
				return nil, errors.Wrapf(err, "%s: exercise %d", name, len(c.Exercises)+1)
			}
			c.Exercises = append(c.Exercises, e)
		}
		list = append(list, c)
	}
	return list, nil
}
