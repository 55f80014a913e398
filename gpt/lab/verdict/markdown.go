package verdict

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	_ "embed"
)

//go:embed report.md.tmpl
var markdown string

//go:embed page.html.tmpl
var page string

// functions returns the functions of the templates.
func functions() map[string]any {
	return map[string]any{
		"forest": (*Report).forest,
	}
}

// String returns the questions with their answers, one in a line, and what was not tried. It is empty for a nil Report.
func (r *Report) String() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	for _, a := range r.Answers {
		fmt.Fprintf(&b, "%s %s. %s\n", a.Question, strings.ToUpper(a.Verdict[:1])+a.Verdict[1:], a.Sentence)
	}
	if len(r.NotTried) > 0 {
		fmt.Fprintf(&b, "Not tried: %s.\n", strings.Join(r.NotTried, "; "))
	}
	return b.String()
}

// writeMarkdown writes the report as Markdown.
func (r *Report) writeMarkdown(w io.Writer) error {
	t, err := template.New("report").Funcs(functions()).Parse(markdown)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}
