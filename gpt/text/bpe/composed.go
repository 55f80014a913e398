package bpe

import "golang.org/x/text/unicode/norm"

// composed is a form over bytes that first brings texts into Unicode's form C, in which é is one character however it
// was typed, as Qwen 2 does. Decode also returns text in that form.
type composed struct{ form }

func (f composed) before(text string, _ bool) string { return norm.NFC.String(text) }

// composedLayout returns a layout for texts in form C.
func composedLayout(l layout) layout {
	inner := l.form
	l.form = func(ids map[string]int32) (form, error) {
		f, err := inner(ids)
		return composed{f}, err
	}
	return l
}
