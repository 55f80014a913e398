// Package jinja evaluates templates of conversations: the part of Jinja2 that published models use, with the settings
// of Hugging Face's libraries (trim_blocks, lstrip_blocks, loop controls). A template comes from a stranger, so its
// work is limited: a number of steps, of bytes of text and of nested calls. Every byte of the result is marked with its
// author, so that the text of a user is never taken for that of the template.
package jinja

import (
	"strings"

	"github.com/pkg/errors"
)

// The limits of a template and of its evaluation.
const (
	maxTemplate = 1 << 20 // bytes
	maxNested   = 100     // expressions, statements and calls within each other
	maxSteps    = 1 << 19 // of one evaluation
	maxText     = 1 << 26 // bytes of all texts that one evaluation makes
)

// Text is a string with the author of each byte.
type Text struct {
	S  string
	By string // as long as S
}

// Template is the author of the text of a template and of the values that are not marked otherwise.
const Template = 't'

// By returns a text of an author.
func By(author byte, s string) Text { return Text{s, strings.Repeat(string(author), len(s))} }

func plain(s string) Text { return By(Template, s) }

func (t Text) slice(from, to int) Text { return Text{t.S[from:to], t.By[from:to]} }

// Render returns the text that a template makes of the values of its variables: texts (Text, or string for a text of
// the template), truth values, int, float64, nil, lists ([]any) and objects (map[string]any).
func Render(template string, values map[string]any) (Text, error) {
	if len(template) > maxTemplate {
		return Text{}, errors.Errorf("got %d bytes, want at most %d", len(template), maxTemplate)
	}
	pieces, err := lex(template)
	if err != nil {
		return Text{}, err
	}
	p := &parser{tokens: pieces}
	body, err := p.block()
	if err == nil && p.peek().kind != endOfFile {
		err = p.fail("got %s, want no end here", p.peek().text)
	}
	if err != nil {
		return Text{}, err
	}
	r := &run{}
	f := &frame{run: r, vars: globals()}
	for name, value := range values {
		f.vars[name] = marked(value)
	}
	if _, err := body(f); err != nil {
		return Text{}, err
	}
	return r.text(), r.step(0) // a comparison that was cut off
}

// marked returns a value with texts in place of strings.
func marked(v any) any {
	switch v := v.(type) {
	case string:
		return plain(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = marked(e)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, e := range v {
			object[name] = marked(e)
		}
		return object
	}
	return v
}

// run collects the text of an evaluation, and counts its steps, the bytes of its texts and its nested calls.
type run struct {
	steps, bytes, nested int
	s, by                strings.Builder
}

func (r *run) text() Text { return Text{r.s.String(), r.by.String()} }

// step counts n steps.
func (r *run) step(n int) error {
	if r.steps += n; n < 0 || r.steps > maxSteps {
		return errors.Errorf("the template takes more than %d steps", maxSteps)
	}
	return nil
}

// make counts n bytes of a new text.
func (r *run) make(n int) error {
	if r.bytes += n; r.bytes > maxText {
		return errors.Errorf("the template makes more than %d bytes of text", maxText)
	}
	return nil
}

func (r *run) write(t Text) error {
	r.s.WriteString(t.S)
	r.by.WriteString(t.By)
	return r.make(len(t.S))
}

func (r *run) join(a, b Text) (Text, error) {
	return Text{a.S + b.S, a.By + b.By}, r.make(len(a.S) + len(b.S))
}

// frame holds the variables of a body.
type frame struct {
	*run
	vars  map[string]any
	outer *frame
}

func (f *frame) inner() *frame { return &frame{run: f.run, vars: map[string]any{}, outer: f} }

func (f *frame) find(name string) any {
	for ; f != nil; f = f.outer {
		if v, ok := f.vars[name]; ok {
			return v
		}
	}
	return undefined{name}
}

// undefined is the value of a name that has none.
type undefined struct{ name string }

// namespace is an object whose attributes can be set.
type namespace struct{ vars map[string]any }

// function is a value that can be called.
type function func(f *frame, args []any, named map[string]any) (any, error)
