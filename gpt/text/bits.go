package text

import (
	"math"
	"slices"

	"github.com/pkg/errors"
)

// BitsPerByte returns a loss in nats per token as bits per byte of text, loss/ln 2/bytesPerToken. Unlike nats per
// token, models with different tokenizers can be compared by it.
func BitsPerByte(loss, bytesPerToken float64) float64 { return loss / math.Ln2 / bytesPerToken }

// BytesPerToken returns the mean number of bytes of text per token of s. In examples from LoadAnswers it counts the
// tokens of the loss alone. It decodes every id with tok: if tok normalises texts, or puts a space before them, the
// bytes of the normal form and the space count. A special token that no text is encoded to, such as the token that ends
// an answer, counts as a token without bytes. BytesPerToken reads the split once, in pieces.
func BytesPerToken(s Split, tok Tokenizer) (float64, error) {
	if tok == nil {
		return 0, errors.New("bytes per token: the tokenizer is nil")
	}
	ids := All(s)
	if r, ok := s.(*rows); ok {
		ids = r.learnt
	}
	width := map[int]int{} // of an id, in bytes
	tokens, bytes := 0, 0
	for id, err := range ids {
		if err != nil {
			return 0, errors.WithMessage(err, "bytes per token")
		}
		n, known := width[id]
		if !known {
			var err error
			if n, err = bytesOf(id, tok); err != nil {
				return 0, errors.WithMessage(err, "bytes per token")
			}
			width[id] = n
		}
		tokens, bytes = tokens+1, bytes+n
	}
	if bytes == 0 {
		return 0, errors.Errorf("bytes per token: got %d tokens of 0 bytes, want a text", tokens)
	}
	return float64(bytes) / float64(tokens), nil
}

// bytesOf returns the number of bytes of text that a token stands for.
func bytesOf(id int, tok Tokenizer) (int, error) {
	piece, err := tok.Decode([]int{id})
	if err != nil {
		return 0, err
	}
	if specials, ok := tok.(Specials); ok {
		if of, named := specials.Special(piece); named && of == id {
			if ids, err := tok.Encode(piece); err != nil || !slices.Contains(ids, id) {
				return 0, nil // a text with its name has other tokens
			}
		}
	}
	return len(piece), nil
}
