package text

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Corpus is the text that a model is trained on: token ids in two parts.
type Corpus interface {
	Train() Split
	Val() Split
	SHA256() string // of its content, in hexadecimal; a resumed run must use the same
}

// Split is one part of a corpus, a sequence of token ids that need not be in memory.
type Split interface {
	Len() int
	// Read fills ids with the tokens from position at on. The caller stays within 0 … Len.
	Read(ids []int, at int) error
}

// Tokens is a Split in memory.
type Tokens []int

// Len returns the number of tokens.
func (t Tokens) Len() int { return len(t) }

// Read copies the tokens from position at on. A range outside 0 … Len is an error.
func (t Tokens) Read(ids []int, at int) error {
	if err := within(len(ids), at, len(t)); err != nil {
		return err
	}
	copy(ids, t[at:])
	return nil
}

// All yields the tokens of a split one by one, for example for WriteShards.
func All(s Split) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		if s == nil {
			yield(0, errors.New("tokens: the split is nil"))
			return
		}
		ids := make([]int, min(s.Len(), 1<<12))
		for at := 0; at < s.Len(); at += len(ids) {
			ids = ids[:min(len(ids), s.Len()-at)]
			if err := s.Read(ids, at); err != nil {
				yield(0, err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// Dataset is a Corpus of two given Splits.
type Dataset struct {
	Training, Validation Split
	Sum                  string // SHA256
}

// Train returns the part to train on.
func (d Dataset) Train() Split { return d.Training }

// Val returns the part to validate on.
func (d Dataset) Val() Split { return d.Validation }

// SHA256 returns Sum.
func (d Dataset) SHA256() string { return d.Sum }

// NewCorpus encodes text and splits its n tokens: the first int(0.9·n) are for training and the rest for validation,
// as in nanoGPT's character-level recipe. Byte pairs could be joined across the cut, so a text for them is cut after
// int(0.9·n) of its n characters and then encoded, as in nanoGPT's recipe for GPT-2's tokens. It is an error if the
// vocabulary lacks a part of the text, if the text is a single token repeated (the loss would be 0 at once; usually it
// is the wrong file), or if a split has fewer than blockSize+1 tokens, one block and the target of its last token.
func NewCorpus(text string, tok Tokenizer, blockSize int) (Corpus, error) {
	if blockSize < 1 {
		return nil, errors.Errorf("corpus: block_size: got %d, want at least 1", blockSize)
	}
	if tok == nil {
		return nil, errors.New("corpus: the tokenizer is nil")
	}
	first, rest, err := encodeParts(text, tok)
	if err != nil {
		return nil, errors.WithMessage(err, "corpus")
	}
	if err := varied(first, rest, tok); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text))
	train, val := pack(first), pack(rest)
	if err := holds(train, blockSize); err != nil {
		return nil, errors.WithMessage(err, "corpus: training split")
	}
	if err := holds(val, blockSize); err != nil {
		return nil, errors.WithMessage(err, "corpus: validation split")
	}
	return Dataset{train, val, hex.EncodeToString(sum[:])}, nil
}

// encodeParts returns the ids to train on and the ids to validate on.
func encodeParts(text string, tok Tokenizer) (train, val []int, err error) {
	if _, joins := tok.(Specials); !joins {
		ids, err := tok.Encode(text)
		cut := nineTenths(len(ids))
		return ids[:cut:cut], ids[cut:], err
	}
	cut := 0
	for range nineTenths(utf8.RuneCountInString(text)) {
		_, width := utf8.DecodeRuneInString(text[cut:])
		cut += width
	}
	if train, err = tok.Encode(text[:cut]); err == nil {
		val, err = tok.Encode(text[cut:])
	}
	return train, val, err
}

func nineTenths(n int) int { return int(0.9 * float64(n)) }

// varied returns an error if the text has fewer than two distinct tokens.
func varied(train, val []int, tok Tokenizer) error {
	one := slices.Concat(train[:min(1, len(train))], val[:min(1, len(val))])
	if len(one) == 0 {
		return errors.New("corpus: the text is empty")
	}
	other := func(id int) bool { return id != one[0] }
	if slices.ContainsFunc(train, other) || slices.ContainsFunc(val, other) {
		return nil
	}
	token, err := tok.Decode(one[:1])
	if err != nil {
		return errors.WithMessage(err, "corpus")
	}
	return errors.Errorf("corpus: the text is %.64q repeated (%d tokens), want at least 2 distinct tokens",
		token, len(train)+len(val))
}

// holds returns an error if s is too short for one block and its targets.
func holds(s Split, blockSize int) error {
	if s == nil {
		return errors.New("got nil, want a Split")
	}
	if n := s.Len(); n <= blockSize {
		return errors.Errorf("got %d tokens, want at least %d (block_size %d and one target more)",
			n, blockSize+1, blockSize)
	}
	return nil
}
