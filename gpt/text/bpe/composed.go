package bpe

import "golang.org/x/text/unicode/norm"

// composed is a form that first brings texts into a normal form of Unicode, such as C, in which é is one character
// however it was typed, as Qwen 2 does. Decode also returns text in that form.
type composed struct {
	form
	by norm.Form
}

func (f composed) before(text string, first bool) string {
	return f.form.before(f.by.String(text), first)
}

// composedLayout returns a layout for texts in a normal form.
func composedLayout(by norm.Form, l layout) layout {
	inner := l.form
	l.form = func(ids map[string]int32) (form, error) {
		f, err := inner(ids)
		return composed{f, by}, err
	}
	return l
}
