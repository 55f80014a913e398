package tasks

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// rule makes the rows of a task.
type rule struct {
	Facts
	set  Set                                 // default numbers of rows
	draw func(rng *rand.Rand, test bool) row // draws a row of one of the parts
	all  []row                               // every row, if all are listed; draw is then nil
}

// row holds tokens and their targets, text.Ignore for tokens without an answer.
type row struct{ tokens, targets []int }

// add appends tokens without an answer.
func (r *row) add(tokens ...int) {
	for _, x := range tokens {
		r.answer(x, text.Ignore)
	}
}

// answer appends a token with its answer.
func (r *row) answer(token, target int) {
	r.tokens, r.targets = append(r.tokens, token), append(r.targets, target)
}

// rows returns one of the parts and adds it to the sum.
func (r rule) rows(s Set, test bool, sum hash.Hash) (text.Split, error) {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(pick(test, 2, 1))))
	split, err := text.Rows(func(yield func(tokens, targets []int) bool) {
		for i := range pick(test, s.Test, s.Train) {
			x := r.row(rng, test, i+pick(test, s.Train, 0))
			sum.Write(encode(slices.Concat(x.tokens, x.targets)))
			if !yield(x.tokens, x.targets) {
				return
			}
		}
	}, r.BlockSize)
	return split, errors.WithMessage(err, "too few different rows for training and test")
}

// row returns row at of a list, or draws rows until one belongs to the part; after 1000 it returns an empty one. A
// quarter of the rows are for the test. The hash is cryptographic, because the bits of a simpler one follow rules of
// the tokens: the last bit of FNV-1a is their parity.
func (r rule) row(rng *rand.Rand, test bool, at int) row {
	if r.all != nil {
		return r.all[at]
	}
	for range 1000 {
		x := r.draw(rng, test)
		x.add(make([]int, r.BlockSize-len(x.tokens))...) // padding
		sum := sha256.Sum256(encode(x.tokens))
		if forTest := sum[0]%4 == 0; forTest == test && slices.Max(x.targets) >= 0 {
			return x
		}
	}
	return row{}
}

func encode(ids []int) []byte {
	b := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

// distinct draws n different numbers from first to last.
func distinct(rng *rand.Rand, n, first, last int) []int {
	list := make([]int, 0, n)
	for len(list) < n {
		if x := first + rng.IntN(last-first+1); !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}
