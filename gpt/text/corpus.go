package text

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/pkg/errors"
)

// Split is a run of token ids from which blocks are drawn.
type Split []int

// Corpus is a tokenized text in two parts, the first int(0.9·n) of its n tokens
// for training and the rest for validation, as in nanoGPT's character-level
// recipe.
type Corpus struct {
	Train, Val Split
	SHA256     string // of the text, in hexadecimal: a resumed run has to use the same
}

// NewCorpus encodes text and splits it. It is an error if a character is not in
// the vocabulary, if the text is one single character repeated (a loss of 0 at
// once: nothing to learn, usually a wrong file), or if a split has fewer than
// blockSize+1 tokens, one block and the target of its last token.
func NewCorpus(text string, tok *Tokenizer, blockSize int) (*Corpus, error) {
	if blockSize < 1 {
		return nil, errors.Errorf("corpus: block_size: got %d, want at least 1", blockSize)
	}
	ids, err := tok.Encode(text)
	if err != nil {
		return nil, errors.WithMessage(err, "corpus")
	}
	if err := varied(ids, tok); err != nil {
		return nil, err
	}
	cut := int(0.9 * float64(len(ids)))
	sum := sha256.Sum256([]byte(text))
	c := &Corpus{Train: Split(ids[:cut:cut]), Val: Split(ids[cut:]), SHA256: hex.EncodeToString(sum[:])}
	if err := c.Train.holds(blockSize); err != nil {
		return nil, errors.WithMessage(err, "corpus: training split")
	}
	if err := c.Val.holds(blockSize); err != nil {
		return nil, errors.WithMessage(err, "corpus: validation split")
	}
	return c, nil
}

// varied refuses a text without at least two distinct characters.
func varied(ids []int, tok *Tokenizer) error {
	if len(ids) == 0 {
		return errors.New("corpus: the text is empty")
	}
	for _, id := range ids {
		if id != ids[0] {
			return nil
		}
	}
	return errors.Errorf("corpus: the text is %q repeated (%d characters), want at least 2 distinct characters",
		tok.chars[ids[0]], len(ids))
}

// holds refuses a split that is too short for one block and its targets.
func (s Split) holds(blockSize int) error {
	if len(s) <= blockSize {
		return errors.Errorf("got %d tokens, want at least %d (block_size %d and one target more)", len(s), blockSize+1, blockSize)
	}
	return nil
}
