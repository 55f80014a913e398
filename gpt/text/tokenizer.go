package text

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Tokenizer turns text into token ids, 0 … Size−1, and back. It does not change once it is made.
type Tokenizer interface {
	Encode(text string) ([]int, error) // an error names what the vocabulary lacks, and where it stands
	Decode(ids []int) (string, error)  // an error names an id outside the vocabulary
	Size() int                         // V
	json.Marshaler                     // the object of a checkpoint's tokenizer.json; "type" is its Kind's name
}

// Kind is a way to tokenize. A program with a Kind of its own hands it to what opens a tokenizer.
type Kind struct {
	Name string // "type" in tokenizer.json
	New  func(text string) (Tokenizer, error)
	Open func(data []byte) (Tokenizer, error) // the inverse of MarshalJSON
}

// Kinds are the library's, the default first.
func Kinds() []Kind {
	return []Kind{
		{"character", func(s string) (Tokenizer, error) { return NewCharacters(s) }, open[Characters]},
		{"byte", func(string) (Tokenizer, error) { return Bytes{}, nil }, open[Bytes]},
		{"word", func(s string) (Tokenizer, error) { return NewWords(s) }, open[Words]},
	}
}

func open[T any, P interface {
	*T
	Tokenizer
	json.Unmarshaler
}](data []byte) (Tokenizer, error) {
	t := P(new(T))
	return t, t.UnmarshalJSON(data)
}

// KindNames lists the names of your own kinds, then of the library's, as one finds them in a message or a flag's help.
func KindNames(own ...Kind) string {
	var names []string
	for _, k := range append(slices.Clone(own), Kinds()...) {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// KindOf is the Kind of that name, of your own or the library's, or an error that lists the known.
func KindOf(name string, own ...Kind) (Kind, error) {
	for _, k := range append(slices.Clone(own), Kinds()...) {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, errors.Errorf("tokenizer: type: got %.64q, want one of %s", name, KindNames(own...))
}

// Open makes the tokenizer of a tokenizer.json.
func Open(data []byte, own ...Kind) (Tokenizer, error) {
	var object struct{ Type string }
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, errors.Wrap(field.Said(err), "tokenizer")
	}
	k, err := KindOf(object.Type, own...)
	if err != nil {
		return nil, err
	}
	return k.Open(data)
}

// Match is an error if data is not the tokenizer.json of tok: of the same kind, with the same vocabulary.
func Match(tok Tokenizer, data []byte) error {
	if tok == nil {
		return errors.New("tokenizer: got nil, want the one of the vocabulary")
	}
	return errors.WithMessagef(canonical(tok, data), "another vocabulary than the given one of %d tokens", tok.Size())
}

// canonical compares data with the one encoding of the object; encoding/json by itself takes duplicate keys, keys in
// any case, and lone surrogates as U+FFFD.
func canonical(object any, data []byte) error {
	want, err := json.Marshal(object)
	if err != nil {
		return errors.Wrap(err, "tokenizer")
	}
	var compact, got bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return errors.Wrap(field.Said(err), "tokenizer")
	}
	json.HTMLEscape(&got, compact.Bytes())
	if !bytes.Equal(got.Bytes(), want) {
		return errors.Errorf("tokenizer: not the form %s", field.Clip(string(want)))
	}
	return nil
}
