// Package page writes self-contained pages: one file with its style, its script and its numbers, which opens without a
// network. Inside shows the inside of a model on a text, Runs the measurements of runs, Study a comparison of
// architectures, Equations the equations of the papers. Explore asks the server that serves it.
package page

import (
	"embed"
	"html/template"
	"io"
	"strings"

	"github.com/pkg/errors"
)

//go:embed *.html *.css *.js
var files embed.FS

// write fills page.html with a body, its scripts and their data.
func write(w io.Writer, title, body string, data any, scripts ...string) error {
	t, err := template.ParseFS(files, "page.html", body)
	if err != nil {
		return errors.Wrap(err, "page")
	}
	style, err := files.ReadFile("page.css")
	if err != nil {
		return errors.Wrap(err, "page")
	}
	var script strings.Builder
	for _, name := range scripts {
		text, err := files.ReadFile(name)
		if err != nil {
			return errors.Wrap(err, "page")
		}
		script.Write(text)
	}
	return errors.Wrap(t.ExecuteTemplate(w, "page.html", struct {
		Title  string
		Style  template.CSS
		Script template.JS
		Data   any
	}{title, template.CSS(style), template.JS(script.String()), data}), "page")
}

// longest is the largest number of characters of a token that are shown in little space.
const longest = 12

// Seen returns a token with all characters visible, cut to twelve.
func Seen(token string) string {
	seen := []rune(strings.NewReplacer(" ", "␣", "\n", "⏎", "\t", "→").Replace(token))
	if len(seen) > longest {
		seen = append(seen[:longest-1], '…')
	}
	return string(seen)
}
