package text

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Tokenizer turns text into token ids, 0 … Size−1, and back. It is immutable.
type Tokenizer interface {
	Encode(text string) ([]int, error) // an error names what the vocabulary lacks, and its position
	Decode(ids []int) (string, error)  // an error names an id outside the vocabulary
	Size() int                         // V
	// MarshalJSON returns the object of a checkpoint's file; except for bpe, "type" is its Kind's name.
	json.Marshaler
}

// Specials is a Tokenizer whose tokens depend on the text beside them, and with special tokens, which stand for
// themselves in the text of a template, such as the byte pairs of gpt/text/bpe.
type Specials interface {
	Tokenizer
	// Special returns the id of a special token.
	Special(content string) (id int, ok bool)
	// NextSpecial returns the place and the id of the first special token in a text; without one, id is −1.
	NextSpecial(text string) (at, end, id int)
	// EncodeAfter encodes a text that follows a special token.
	EncodeAfter(text string) ([]int, error)
}

// Kind describes a way to tokenize. A program passes its own Kinds to the functions that open a tokenizer.
type Kind struct {
	Name string // "type" in tokenizer.json
	New  func(text string) (Tokenizer, error)
	Open func(data []byte) (Tokenizer, error) // the inverse of MarshalJSON
	// Sized returns the Kind with at most size tokens, for names such as bpe:8192. It is optional.
	Sized func(size int) (Kind, error)
}

// Kinds returns the kinds of this package, the default first.
func Kinds() []Kind {
	return []Kind{
		{Name: "character", New: func(s string) (Tokenizer, error) { return NewCharacters(s) }, Open: open[Characters]},
		{Name: "byte", New: func(string) (Tokenizer, error) { return Bytes{}, nil }, Open: open[Bytes]},
		{Name: "word", New: func(s string) (Tokenizer, error) { return NewWords(s) }, Open: open[Words]},
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

// KindNames lists the names of your own kinds and of this package's kinds, for a message or the help of a flag.
func KindNames(own ...Kind) string { return strings.Join(kindNames(own), ", ") }

func kindNames(own []Kind) (names []string) {
	for _, k := range append(slices.Clone(own), Kinds()...) {
		names = append(names, k.Name)
	}
	return names
}

// KindOf returns the Kind of that name, your own or one of this package, or an error that lists the known names. The
// name bpe:8192 means bpe with at most 8192 tokens.
func KindOf(name string, own ...Kind) (Kind, error) {
	kind, size, sized := strings.Cut(name, ":")
	for _, k := range append(slices.Clone(own), Kinds()...) {
		switch {
		case k.Name == name:
			return k, nil
		case sized && k.Name == kind && k.Sized != nil:
			n, err := strconv.Atoi(size)
			if err != nil {
				return Kind{}, errors.Errorf("tokenizer: %s: got %.64q tokens, want a number", kind, size)
			}
			return k.Sized(n)
		}
	}
	return Kind{}, errors.Errorf("tokenizer: type: got %.64q, want one of %s%s",
		name, KindNames(own...), spelling.Hint(name, kindNames(own)))
}

// KindIn returns the Kind of a tokenizer's file: the one that its "type" names, or bpe if it has no type but a BPE
// model, as in Hugging Face's files. Kind of gpt/text/bpe must be among your own for that.
func KindIn(data []byte, own ...Kind) (Kind, error) {
	var object struct {
		Type  string `json:"type"`
		Model struct {
			Type string `json:"type"`
		} `json:"model"`
	}
	if err := field.Unmarshal(data, &object); err != nil {
		return Kind{}, errors.Wrap(err, "tokenizer")
	}
	if object.Type == "" && object.Model.Type == "BPE" {
		object.Type = "bpe"
	}
	k, err := KindOf(object.Type, own...)
	if err != nil {
		return k, errors.Errorf("%v; another kind, such as bpe.Kind of gpt/text/bpe, must be passed to open its files",
			err)
	}
	return k, nil
}

// Open returns the tokenizer of a tokenizer.json. own holds the kinds that are not in Kinds.
func Open(data []byte, own ...Kind) (Tokenizer, error) {
	k, err := KindIn(data, own...)
	if err != nil {
		return nil, err
	}
	return k.Open(data)
}

// Match returns an error if data is not the tokenizer.json of tok: of the same kind, with the same vocabulary.
func Match(tok Tokenizer, data []byte) error {
	if tok == nil {
		return errors.New("tokenizer: got nil, want the one of the vocabulary")
	}
	return errors.WithMessagef(canonical(tok, data), "another vocabulary than the given one of %d tokens", tok.Size())
}

// canonical compares data with the only valid encoding of the object. On its own, encoding/json accepts duplicate
// keys, keys in any case, and lone surrogates as U+FFFD.
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

// FileNames lists the names of a tokenizer's file in a checkpoint, in the order in which they count. Earlier versions
// wrote every tokenizer under the second.
func FileNames() []string { return []string{"characters.json", "tokenizer.json", "vocabulary.json"} }

// FileName returns the name of a tokenizer's file in a checkpoint: what its method of that name returns, or the last of
// FileNames.
func FileName(tok Tokenizer) string {
	if named, ok := tok.(interface{ FileName() string }); ok {
		return named.FileName()
	}
	return FileNames()[2]
}
