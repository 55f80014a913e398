// Package page writes pages that need nothing else: one file with its style, its script and its numbers, which opens
// without a network. Inside is what goes on in a model on a text, Runs what runs have measured.
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

// write fills page.html with a body, the scripts that it needs, and the data for both.
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

// longest is how many characters of a token are shown where room is short.
const longest = 12

// Seen returns a token of which one can see every character, and no more than twelve.
func Seen(token string) string {
	seen := []rune(strings.NewReplacer(" ", "␣", "\n", "⏎", "\t", "→").Replace(token))
	if len(seen) > longest {
		seen = append(seen[:longest-1], '…')
	}
	return string(seen)
}
