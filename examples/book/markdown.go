package main

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"io"
	"strings"

	"github.com/alecthomas/chroma/v2"
	htmlformat "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/pedestrian-ml/pedestrian/examples/book/chapters"
	"github.com/pedestrian-ml/pedestrian/verify/notation"
	"github.com/pkg/errors"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// convert writes the HTML of a chapter. Fenced blocks of code have meanings by their language: derive, exercise, show,
// code and experiment.
func (b *book) convert(c chapters.Chapter, w io.Writer) error {
	source, err := values([]byte(c.Source))
	if err != nil {
		return err
	}
	blocks := &blocks{book: b, chapter: c}
	m := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(),
			parser.WithInlineParsers(util.Prioritized(formulas{}, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks, 100))),
	)
	blocks.markdown = m
	return errors.Wrap(m.Convert(source, w), "markdown")
}

// blocks renders the blocks of a chapter.
type blocks struct {
	book     *book
	chapter  chapters.Chapter
	exercise int // the number of exercises so far
	markdown goldmark.Markdown
}

// RegisterFuncs sets the functions for the nodes that the book renders.
func (r *blocks) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindFencedCodeBlock, r.block)
	to.Register(kindFormula, r.formula)
	to.Register(tables.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		tags := `<div class="scroll"><table>`
		if !entering {
			tags = "</tbody></table></div>\n"
		}
		_, err := w.WriteString(tags)
		return ast.WalkContinue, err
	})
}

func (r *blocks) block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok {
		return ast.WalkStop, errors.Errorf("got the block %s", n.Kind())
	}
	var content strings.Builder
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		content.Write(line.Value(source))
	}
	var info string
	if block.Info != nil {
		info = string(block.Info.Value(source))
	}
	kind, argument, _ := strings.Cut(info, " ")
	render, ok := map[string]func(w io.Writer, argument, content string) error{
		"derive": r.derive, "exercise": r.form, "show": r.show, "code": r.code, "experiment": r.experiment,
		"": r.plain, "go": r.goCode,
	}[kind]
	if !ok {
		return ast.WalkStop, errors.Errorf("got a block %q, want one of derive, exercise, show, code, experiment, go",
			kind)
	}
	return ast.WalkSkipChildren, errors.WithMessagef(render(w, argument, content.String()), "%s %s", kind, argument)
}

// checks is the number of random points at which each step of a derivation is executed.
const checks = 20

// derive executes a derivation and writes its steps.
func (r *blocks) derive(w io.Writer, _, content string) error {
	d, err := notation.ParseDerivation(content)
	if err != nil {
		return err
	}
	if err := d.Check(checks); err != nil {
		return err
	}
	var page struct {
		Lines         []shownLine
		Steps, Points int
	}
	page.Points = checks
	for _, line := range d.Lines {
		shown := shownLine{Sign: "=", Right: display(line.Right), Reason: line.Reason, Check: "✓"}
		switch {
		case line.Name != "":
			named, err := notation.Parse(line.Name)
			if err != nil {
				return err
			}
			shown.Left, shown.Sign, shown.Check = display(named), "≔", ""
		case !line.Continues:
			shown.Left = display(line.Left)
		}
		if shown.Check != "" {
			page.Steps++
		}
		page.Lines = append(page.Lines, shown)
	}
	return errors.Wrap(r.book.page.ExecuteTemplate(w, "derivation", page), "book")
}

// shownLine is a line of a derivation in a page.
type shownLine struct {
	Left, Right         template.HTML
	Sign, Reason, Check string
}

// display returns a formula as MathML with large fractions.
func display(f notation.Formula) template.HTML {
	return template.HTML(`<math displaystyle="true">` + f.MathML() + "</math>")
}

// form writes the form of an exercise.
func (r *blocks) form(w io.Writer, _, content string) error {
	e, err := notation.ParseExercise(content)
	if err != nil {
		return err
	}
	r.exercise++
	return errors.Wrap(r.book.page.ExecuteTemplate(w, "exercise", struct {
		notation.Exercise
		Chapter, Number int
		Signs           []string
		Source          string
	}{e, r.chapter.Number, r.exercise, signs(e), content}), "book")
}

// signs returns the signs of formulas and the Greek letters of an exercise, which keyboards lack.
func signs(e notation.Exercise) []string {
	list := []string{"∘", "·", "ᵗ", "Σ", "Σ_rows", "Σ_cols", "²"}
	for _, g := range e.Given {
		if g.Name > "z" {
			list = append(list, g.Name)
		}
	}
	for _, d := range e.Where {
		if d.Name > "z" {
			list = append(list, d.Name)
		}
	}
	return list
}

// show writes a picture or a table of numbers that a function computes, with its caption.
func (r *blocks) show(w io.Writer, name, caption string) error {
	f, ok := figures[name]
	if !ok {
		return errors.Errorf("no figure %q", name)
	}
	content, err := f()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "<figure>%s<figcaption>", content)
	if err := r.markdown.Convert([]byte(caption), w); err != nil {
		return err
	}
	fmt.Fprint(w, "</figcaption></figure>\n")
	return nil
}

// code writes declarations of two files side by side. A line of content is a file, a colon and names.
func (r *blocks) code(w io.Writer, _, content string) error {
	fmt.Fprint(w, `<div class="columns">`)
	for line := range strings.Lines(strings.TrimSpace(content)) {
		path, names, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return errors.Errorf("got %q, want a file, a colon and names", line)
		}
		var parts []string
		for _, name := range strings.Split(names, ", ") {
			part, err := r.book.declaration(path, name)
			if err != nil {
				return err
			}
			parts = append(parts, part)
		}
		fmt.Fprintf(w, "<section><h4>%s</h4>", path)
		if err := r.goCode(w, "", strings.Join(parts, "\n\n")); err != nil {
			return err
		}
		fmt.Fprint(w, "</section>")
	}
	fmt.Fprint(w, "</div>\n")
	return nil
}

// plain writes a block of code without a language, such as a command.
func (r *blocks) plain(w io.Writer, _, content string) error {
	_, err := fmt.Fprintf(w, "<pre><code>%s</code></pre>\n", html.EscapeString(content))
	return err
}

// goCode writes Go code in colours.
func (r *blocks) goCode(w io.Writer, _, content string) error {
	tokens, err := chroma.Coalesce(lexers.Get("go")).Tokenise(nil, content)
	if err != nil {
		return err
	}
	return formatter.Format(w, styles.Fallback, tokens) // book.css has the colours
}

var formatter = htmlformat.New(htmlformat.WithClasses(true))

// experiment writes a section of a file of results, the record of an experiment with its command.
func (r *blocks) experiment(w io.Writer, path, heading string) error {
	section, err := r.book.section(path, strings.TrimSpace(heading))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, `<aside class="experiment" aria-label="experiment">`)
	if err := r.markdown.Convert([]byte(section), w); err != nil {
		return err
	}
	flags := ", whose top has the flags that its studies share"
	if strings.Contains(section, "go run ") {
		flags = ""
	}
	fmt.Fprintf(w, "<p>From <code>%s</code>%s.</p></aside>\n", html.EscapeString(path), flags)
	return nil
}

// inline returns a formula or an equality, in parts, as MathML within a line, or the text if it is neither.
func inline(parts ...string) template.HTML {
	s := strings.Join(parts, "")
	if math, ok := mathOf(s); ok {
		return math
	}
	return template.HTML(html.EscapeString(s))
}

// mathOf returns a formula or an equality as MathML.
func mathOf(s string) (math template.HTML, ok bool) {
	var list []string
	for _, part := range strings.Split(s, "=") {
		f, err := notation.Parse(part)
		if err != nil {
			return "", false
		}
		list = append(list, f.MathML())
	}
	return template.HTML("<math>" + strings.Join(list, "<mo>=</mo>") + "</math>"), true
}

// formulas reads a formula between two signs $ within a line.
type formulas struct{}

var kindFormula = ast.NewNodeKind("Formula")

// formulaNode is a formula within a line.
type formulaNode struct {
	ast.BaseInline
	text string
}

// Kind returns the kind of the node.
func (n *formulaNode) Kind() ast.NodeKind { return kindFormula }

// Dump prints the node.
func (n *formulaNode) Dump(source []byte, level int) {
	ast.DumpHelper(n, source, level, map[string]string{"text": n.text}, nil)
}

// Trigger returns the sign with which a formula begins.
func (formulas) Trigger() []byte { return []byte{'$'} }

// Parse reads a formula.
func (formulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	length := bytes.IndexByte(line[1:], '$')
	if length < 0 {
		return nil
	}
	block.Advance(length + 2)
	return &formulaNode{text: string(line[1 : 1+length])}
}

func (r *blocks) formula(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if f, ok := n.(*formulaNode); ok && entering {
		content, ok := mathOf(f.text)
		if !ok {
			return ast.WalkStop, errors.Errorf("$%s$ is not a formula", f.text)
		}
		w.WriteString(string(content))
	}
	return ast.WalkContinue, nil
}

// values replaces {{name}} by the value of a number that a function computes.
func values(source []byte) ([]byte, error) {
	var out bytes.Buffer
	for {
		before, rest, ok := bytes.Cut(source, []byte("{{"))
		out.Write(before)
		if !ok {
			return out.Bytes(), nil
		}
		name, after, ok := bytes.Cut(rest, []byte("}}"))
		if !ok {
			return nil, errors.Errorf("got {{%.20s without }}", rest)
		}
		f, ok := numbers[string(name)]
		if !ok {
			return nil, errors.Errorf("no number %q", name)
		}
		v, err := f()
		if err != nil {
			return nil, errors.WithMessagef(err, "%s", name)
		}
		out.WriteString(v)
		source = after
	}
}
