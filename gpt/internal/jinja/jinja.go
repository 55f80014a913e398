// Package jinja evaluates templates of conversations: the part of Jinja2 that published models use, with the settings
// of Hugging Face's libraries (trim_blocks, lstrip_blocks, loop controls). Every byte of the result is marked with its
// author, so that the text of a user is never taken for the template's.
//
// A template comes from a stranger, so Render counts work and memory together, in bytes, before they are spent, heeds a
// context, and never panics. That is why the package does not use another interpreter: none has authors of bytes, and
// gonja, the maintained one, has neither a limit nor a context, ends the program by a stack overflow when a macro calls
// itself, and sorts the keys of objects.
package jinja

import (
	"context"
	"strings"

	"github.com/pkg/errors"
)

// The limits of a template and of its evaluation.
const (
	maxTemplate = 1 << 20 // bytes
	maxNested   = 100     // expressions, statements, calls and values within each other
	maxWork     = 1 << 28 // bytes that one evaluation reads, compares and allocates
	stepWork    = 1 << 9  // bytes that a step counts for
)

// Text is a string with the author of each byte.
type Text struct {
	S    string
	By   string // as long as S
	safe bool   // HTML: a text that is added to it is escaped
}

// ByTemplate is the author of the text of a template.
const ByTemplate = 't'

// By returns a text of an author.
func By(author byte, s string) Text {
	return Text{S: s, By: strings.Repeat(string(rune(author)), len(s))}
}

func plain(s string) Text { return By(ByTemplate, s) }

func (t Text) slice(from, to int) Text { return Text{t.S[from:to], t.By[from:to], t.safe} }

// Template is a template that has been parsed. It is safe for concurrent use.
type Template struct {
	body   body
	tables tables
	work   int // bytes of work and memory of an evaluation
}

// Parse parses a template.
func Parse(template string) (t *Template, err error) {
	p := &parser{lexer: newLexer(template), tables: newTables()}
	defer recovered(&err, &p.line)
	if len(template) > maxTemplate {
		return nil, errors.Errorf("got %d bytes, want at most %d", len(template), maxTemplate)
	}
	return &Template{body: p.block(), tables: p.tables, work: maxWork}, nil
}

// Render returns the text that the template makes of the values of its variables: Text, truth values, int, float64,
// nil, lists ([]any) and objects (*Object).
func (t *Template) Render(ctx context.Context, values map[string]any) (text Text, err error) {
	r := &run{ctx: ctx, tables: t.tables, left: t.work}
	defer recovered(&err, &r.line)
	f := &frame{run: r, out: &output{}, vars: map[string]any{}}
	for name, row := range t.tables.functions {
		f.vars[name] = row.function(name, nil)
	}
	for name, value := range values {
		f.vars[name] = value
	}
	t.body(f)
	return f.concat(f.out.parts), nil
}

// fault is the value with which parser and evaluation panic, up to Parse and Render.
type fault struct{ error }

func failure(format string, args ...any) fault { return fault{errors.Errorf(format, args...)} }

// recovered turns a panic into an error with its line.
func recovered(err *error, line *int) {
	switch p := recover().(type) {
	case nil:
		return
	case fault:
		*err = p.error
	default:
		*err = errors.Errorf("a fault of the interpreter: %v", p)
	}
	*err = errors.WithMessagef(*err, "line %d", *line)
}

// run counts the work of an evaluation and its nested calls.
type run struct {
	ctx    context.Context
	tables tables
	left   int // bytes that may be spent
	nested int
	line   int
}

// spend counts n bytes of work or memory, before they are spent.
func (r *run) spend(n int) {
	if n < 0 || n > r.left {
		panic(failure("the template takes too many bytes of work and memory"))
	}
	before := r.left
	if r.left -= n; before>>16 != r.left>>16 && r.ctx.Err() != nil {
		panic(fault{context.Cause(r.ctx)})
	}
}

// each counts n things of size bytes each.
func (r *run) each(n, size int) { r.spend(min(n, maxWork) * size) }

func (r *run) step() { r.spend(stepWork) }

// enter counts a call or a value within another one, until leave.
func (r *run) enter() {
	if r.nested++; r.nested > maxNested {
		panic(failure("more than %d calls and values within each other", maxNested))
	}
	r.step()
}

func (r *run) leave() { r.nested-- }

// concat returns texts as one. If some of them are HTML, it escapes the others.
func (r *run) concat(parts []Text) Text {
	if len(parts) == 1 {
		return parts[0]
	}
	n, safe := 0, false
	for _, t := range parts {
		n += len(t.S)
		safe = safe || t.safe
	}
	r.spend(2*n + 32*len(parts))
	var s, by strings.Builder
	s.Grow(n)
	by.Grow(n)
	for _, t := range parts {
		if safe && !t.safe {
			t = r.escape(t)
		}
		s.WriteString(t.S)
		by.WriteString(t.By)
	}
	return Text{s.String(), by.String(), safe}
}

// output collects the texts that statements write.
type output struct{ parts []Text }

func (f *frame) write(t Text) {
	t.safe = false
	f.spend(200) // of the list as it grows
	f.out.parts = append(f.out.parts, t)
}

// frame holds the variables of a body.
type frame struct {
	*run
	out   *output
	vars  map[string]any
	outer *frame
}

func (f *frame) inner() *frame {
	return &frame{run: f.run, out: f.out, vars: map[string]any{}, outer: f}
}

func (f *frame) find(name string) any {
	for ; f != nil; f = f.outer {
		if v, ok := f.vars[name]; ok {
			return v
		}
	}
	return undefined{name}
}
