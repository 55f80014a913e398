package seq2seq

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/pkg/errors"
)

// Pair is a source and its target, as ids without Begin and End.
type Pair struct{ Source, Target []int }

// Pairs is the data that a model is trained on.
type Pairs interface {
	Len() int
	Pair(i int) (Pair, error)
}

// survey reads every pair once. It returns an error if one does not fit into the model, and otherwise the SHA-256 of
// all pairs.
func survey(c Config, pairs Pairs) (sum string, err error) {
	if pairs.Len() < 1 {
		return "", errors.New("no pairs")
	}
	h, buffer, fits := sha256.New(), []byte(nil), c.fits()
	for i := range pairs.Len() {
		p, err := pairs.Pair(i)
		if err != nil {
			return "", errors.Wrapf(err, "pair %d", i)
		}
		if err := fits(i, p); err != nil {
			return "", err
		}
		buffer = buffer[:0]
		for _, ids := range [][]int{p.Source, p.Target} {
			buffer = binary.AppendVarint(buffer, int64(len(ids)))
			for _, id := range ids {
				buffer = binary.AppendVarint(buffer, int64(id))
			}
		}
		h.Write(buffer)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fits returns a function that checks the lengths of pair i and names the side that is too long or too short.
func (c Config) fits() func(i int, p Pair) error {
	fixed := c.attention().fixed
	return func(i int, p Pair) error {
		if got := len(p.Source); got < 1 || got > c.SourceSize {
			return errors.Errorf("pair %d: the source has %d tokens, source_size is %d", i, got, c.SourceSize)
		}
		if got := len(p.Source); fixed && got != c.SourceSize {
			return errors.Errorf("pair %d: the source has %d tokens, source_size is %d: "+
				"with attention %s all have this length, without padding",
				i, got, c.SourceSize, c.Attention)
		}
		if got := len(p.Target) + 1; got > c.TargetSize {
			return errors.Errorf("pair %d: the target has %d tokens with its end, target_size is %d",
				i, got, c.TargetSize)
		}
		return nil
	}
}
