package bpe

import (
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
)

// Tokenizer is an encoding: a vocabulary, and the merges that build its tokens. It is safe for concurrent use.
type Tokenizer struct {
	tokens  []string         // the bytes of each id
	special map[string]int32 // added tokens by their content
	named   finder           // of the added tokens
	normal  finder           // of those that are found after the form's before
	merges  merges
	lookup  map[string]int32 // pieces that are looked up before they are merged; may be nil
	split   []cutter
	form    form
	source  []byte // the tokenizer.json that it was read from, if any
	memory  sync.Pool
}

// form converts between a text and the symbols that merges start from.
type form interface {
	before(text string, first bool) string     // returns the text to split; first: no token comes before it
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

// Encode returns the ids of a text. Every byte is in the vocabulary, so the only possible errors are a Tokenizer
// without a vocabulary, and a regular expression of a tokenizer.json that takes too long for a text: more than two
// seconds, and 20 µs for each byte. Special tokens are treated as ordinary text. Added tokens that the tokenizer.json
// does not call special, such as runs of spaces, are found in every text, as by Hugging Face's libraries.
func (t *Tokenizer) Encode(text string) ([]int, error) { return t.encode(text, false, true) }

// EncodeAfter returns the ids of a text that follows a special token. Encode returns the same, but an encoding that
// puts a space before the first text only (prepend_scheme "first") puts none before this one.
func (t *Tokenizer) EncodeAfter(text string) ([]int, error) { return t.encode(text, false, false) }

// EncodeSpecial returns the ids of a text in which special tokens stand for themselves; if several begin at one place,
// the longest counts. It is for the program's own texts: a user's text may contain such a token, which must not act as
// one.
func (t *Tokenizer) EncodeSpecial(text string) ([]int, error) { return t.encode(text, true, true) }

// encode returns the ids of a text, in which special tokens may act. first reports that no token comes before it.
func (t *Tokenizer) encode(text string, acting, first bool) ([]int, error) {
	if t.Size() == 0 {
		return nil, errNoVocabulary
	}
	m, ok := t.memory.Get().(*memory)
	if !ok {
		m = newMemory()
	}
	defer t.memory.Put(m)
	ids := make([]int, 0, len(text)/4+1)
	until := time.Now().Add(patternTime + time.Duration(len(text))*patternByte)
	for {
		at, end, found := t.named.next(text, acting)
		var err error
		if ids, err = t.section(m, ids, t.form.before(text[:at], first), until, acting); err != nil || found == nil {
			return ids, err
		}
		ids, text, first = append(ids, int(found.id)), text[end:], false
	}
}

// section appends the ids of a normalized text between two added tokens.
func (t *Tokenizer) section(m *memory, ids []int, text string, until time.Time, acting bool) ([]int, error) {
	for {
		at, end, found := t.normal.next(text, acting)
		err := pieces(text[:at], t.split, until, func(piece string) {
			for _, id := range m.encode(t, piece) {
				ids = append(ids, int(id))
			}
		})
		if err != nil {
			return nil, err
		}
		if found == nil {
			return ids, nil
		}
		ids, text = append(ids, int(found.id)), text[end:]
	}
}

// NextSpecial returns the place of the first added token of a text, with the white space that it takes in, and its id;
// or len(text) twice, and −1.
func (t *Tokenizer) NextSpecial(text string) (at, end, id int) {
	if t.Size() == 0 {
		return len(text), len(text), -1
	}
	at, end, found := t.named.next(text, true)
	if a, e, normal := t.normal.next(text[:at], true); normal != nil {
		at, end, found = a, e, normal
	}
	if found == nil {
		return at, end, -1
	}
	return at, end, int(found.id)
}

// Special returns the id of an added token, such as <|endoftext|>; ok is false if there is no such token.
func (t *Tokenizer) Special(content string) (id int, ok bool) {
	if t.Size() == 0 {
		return 0, false
	}
	of, ok := t.special[content]
	return int(of), ok
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

// piece returns the ids of a piece, in place of those in room.
func (t *Tokenizer) piece(room []int32, piece string) []int32 {
	if id, ok := t.lookup[piece]; ok {
		return append(room[:0], id)
	}
	return t.merges.apply(t.form.symbols(room[:0], piece))
}
