package chat

import (
	"regexp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// encoder turns the text of a template and the text of users into tokens.
type encoder struct {
	tok    text.Tokenizer
	ids    []int
	answer []bool // for each id
	learns bool   // the text being written is an answer
	after  bool   // a special token comes before the text not encoded yet
	before string // the text encoded last, if no special token follows it
	wrote  string // the text not encoded yet
	err    error
}

// markup matches a mark in the text of a template whose tokenizer has no token for it.
var markup = regexp.MustCompile(`^<[^<>\s]+>`)

// text appends text of a user: a special token in it is ordinary text.
func (w *encoder) text(s string) { w.wrote += s }

// mark appends text of a template: a special token in it stands for itself.
func (w *encoder) mark(s string) {
	if specials, ok := w.tok.(text.Specials); ok {
		for at, end, id := specials.NextSpecial(s); id >= 0; at, end, id = specials.NextSpecial(s) {
			w.text(s[:at])
			w.encode()
			w.append(id)
			w.before, w.after, s = "", true, s[end:]
		}
	}
	w.text(s)
}

// turn sets whether the text that follows is an answer.
func (w *encoder) turn(learns bool) {
	if w.learns != learns {
		w.encode()
		w.learns = learns
	}
}

func (w *encoder) done() ([]int, []bool, error) {
	w.encode()
	return w.ids, w.answer, w.err
}

// encode encodes the text that was written. It encodes that text together with the text before it and keeps the tokens
// of the new part. If one of these tokens would cross the border, it encodes the new text alone, because a model
// continues after the tokens of a prompt.
func (w *encoder) encode() {
	if w.wrote == "" || w.err != nil {
		return
	}
	encode := w.tok.Encode
	if specials, ok := w.tok.(text.Specials); ok && w.after {
		encode = specials.EncodeAfter
	}
	var first, ids []int
	if first, w.err = encode(w.before); w.err == nil {
		ids, w.err = encode(w.before + w.wrote)
	}
	if n := len(first); n <= len(ids) && slices.Equal(first, ids[:n]) {
		ids = ids[n:]
	} else if w.err == nil {
		ids, w.err = encode(w.wrote)
	}
	w.append(ids...)
	w.before, w.wrote = w.wrote, ""
}

func (w *encoder) append(ids ...int) {
	for _, id := range ids {
		w.ids, w.answer = append(w.ids, id), append(w.answer, w.learns)
	}
}
