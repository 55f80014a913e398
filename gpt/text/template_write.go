package text

import (
	"regexp"
	"slices"
	"strings"
)

// special is a Tokenizer with tokens that no text is encoded to, as those of bpe.
type special interface {
	Special(content string) (id int, ok bool)
}

// writer makes tokens of a template's text and of what users wrote.
type writer struct {
	tok    Tokenizer
	ids    []int
	answer []bool // of each id
	learns bool   // what is written is an answer
	before string // what was encoded last, if no special token stands behind it
	wrote  string // what is not encoded yet
	err    error
}

// markup is what may be a special token in the text of a template.
var markup = regexp.MustCompile(`<[^<>\s]+>`)

// text appends what a user wrote: a special token in it is ordinary text.
func (w *writer) text(s string) { w.wrote += s }

// mark appends a template's text, in which special tokens stand for themselves.
func (w *writer) mark(s string) {
	if specials, ok := w.tok.(special); ok {
		for _, found := range markup.FindAllString(s, -1) {
			if id, is := specials.Special(found); is {
				at := strings.Index(s, found)
				w.text(s[:at])
				w.encode()
				w.append(id)
				w.before, s = "", s[at+len(found):]
			}
		}
	}
	w.text(s)
}

// turn says whether what follows is an answer.
func (w *writer) turn(learns bool) {
	w.encode()
	w.learns = learns
}

func (w *writer) done() ([]int, []bool, error) {
	w.encode()
	return w.ids, w.answer, w.err
}

// encode makes tokens of what was written. They are those that follow in the tokens of it and of what stands before it
// together; but its own, where one of these would reach over the border: a model goes on behind the tokens of a prompt.
func (w *writer) encode() {
	if w.wrote == "" || w.err != nil {
		return
	}
	var first, ids []int
	if first, w.err = w.tok.Encode(w.before); w.err == nil {
		ids, w.err = w.tok.Encode(w.before + w.wrote)
	}
	if n := len(first); n <= len(ids) && slices.Equal(first, ids[:n]) {
		ids = ids[n:]
	} else if w.err == nil {
		ids, w.err = w.tok.Encode(w.wrote)
	}
	w.append(ids...)
	w.before, w.wrote = w.wrote, ""
}

func (w *writer) append(ids ...int) {
	for _, id := range ids {
		w.ids, w.answer = append(w.ids, id), append(w.answer, w.learns)
	}
}
