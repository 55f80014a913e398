package bpe

import (
	"strings"
	"sync"

	"github.com/pkg/errors"
)

// Tokenizer is an encoding: a vocabulary, and the merges that build its tokens. It is safe for concurrent use.
type Tokenizer struct {
	tokens  []string         // the bytes of each id
	special map[string]int32 // tokens that no text is encoded to, by their content
	named   finder           // of special
	plain   int              // number of special tokens that the file does not call special
	merges  merges
	lookup  map[string]int32 // pieces that are looked up before they are merged; may be nil
	split   []splitter
	form    form
	source  []byte // the tokenizer.json that it was read from, if any
	memory  sync.Pool
}

// form converts between a text and the symbols that merges start from.
type form interface {
	before(text string) string                 // returns the text to split
	symbols(ids []int32, piece string) []int32 // appends the tokens of single bytes or characters
}

// errNoVocabulary is the error of a Tokenizer that was not created by a function of this package.
var errNoVocabulary = errors.New("tokenizer: bpe: no vocabulary, want one that was read or trained")

// Size returns the number of tokens, V.
func (t *Tokenizer) Size() int {
	if t == nil {
		return 0
	}
	return len(t.tokens)
}

// Encode returns the ids of a text. Every byte is in the vocabulary, so the only possible error is a Tokenizer without
// a vocabulary. Special tokens are treated as ordinary text.
func (t *Tokenizer) Encode(text string) ([]int, error) {
	if t.Size() == 0 {
		return nil, errNoVocabulary
	}
	return t.appendIDs(make([]int, 0, len(text)/4+1), text), nil
}

// appendIDs appends the ids of a text to ids.
func (t *Tokenizer) appendIDs(ids []int, text string) []int {
	m, ok := t.memory.Get().(*memory)
	if !ok {
		m = newMemory()
	}
	defer t.memory.Put(m)
	pieces(t.form.before(text), t.split, func(piece string) {
		for _, id := range m.encode(t, piece) {
			ids = append(ids, int(id))
		}
	})
	return ids
}

// EncodeSpecial returns the ids of a text in which special tokens stand for themselves; if several begin at one place,
// the longest counts. It is for the program's own texts: a user's text may contain such a token, which must not act as
// one.
func (t *Tokenizer) EncodeSpecial(text string) ([]int, error) {
	if t.Size() == 0 {
		return nil, errNoVocabulary
	}
	var ids []int
	for {
		at, end := t.named.next(text)
		if ids = t.appendIDs(ids, text[:at]); at == len(text) {
			return ids, nil
		}
		ids, text = append(ids, int(t.special[text[at:end]])), text[end:]
	}
}

// Special returns the id of a special token, such as <|endoftext|>; ok is false if there is no such token.
func (t *Tokenizer) Special(content string) (id int, ok bool) {
	if t.Size() == 0 {
		return 0, false
	}
	of, ok := t.special[content]
	return int(of), ok
}

// NonSpecial returns the number of added tokens that the tokenizer.json does not call special. Hugging Face's libraries
// find these in every text; here they are special tokens like the others, and Encode reads them as ordinary text.
func (t *Tokenizer) NonSpecial() int {
	if t == nil {
		return 0
	}
	return t.plain
}

// Decode returns the concatenated bytes of ids. They need not be valid UTF-8: a character may be several tokens. If an
// encoding puts a space before a text or brings it into a normal form, the result has that space or form. An id
// outside [0, Size) is an error.
func (t *Tokenizer) Decode(ids []int) (string, error) {
	var s strings.Builder
	for i, id := range ids {
		if id < 0 || id >= t.Size() {
			return "", errors.Errorf("tokenizer: id %d at position %d is outside the vocabulary of %d tokens",
				id, i, t.Size())
		}
		s.WriteString(t.tokens[id])
	}
	return s.String(), nil
}

// encode returns the ids of a piece, in place of those in room.
func (t *Tokenizer) encode(room []int32, piece string) []int32 {
	if id, ok := t.lookup[piece]; ok {
		return append(room[:0], id)
	}
	return t.merges.apply(t.form.symbols(room[:0], piece))
}
