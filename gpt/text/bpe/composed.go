package bpe

import "golang.org/x/text/unicode/norm"

// composed is a form over bytes of texts that are brought into Unicode's form C first, in which é is one character
// however it was typed: Qwen 2's. What Decode gives back is in that form too.
type composed struct{ form }

func (f composed) before(text string) string { return norm.NFC.String(text) }

// composedLayout returns a layout for texts in form C.
func composedLayout(l layout) layout {
	inner := l.form
	l.form = func(ids map[string]int32) (form, error) {
		f, err := inner(ids)
		return composed{f}, err
	}
	return l
}
