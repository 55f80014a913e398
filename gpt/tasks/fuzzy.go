package tasks

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// FuzzyRecall is MAD's fuzzy in-context recall with several queries: keys and values are lists of different tokens. The
// answer to a key that occurs again is its value, token by token. In the test every key has the largest length. The
// last token of the vocabulary does not occur: MAD pads rows with it at their beginning, and also trains on the other
// tokens.
type FuzzyRecall struct {
	Vocabulary  int // 16: half of the tokens but the last are in keys, half in values
	KeyLength   int // 3, the most tokens of a key
	ValueLength int // 3, the most tokens of a value
	Length      int // 128, the most tokens of a row
}

func (k FuzzyRecall) rule() (rule, error) {
	o := options{task: "fuzzy-in-context-recall"}
	o.size("Vocabulary", &k.Vocabulary, 16, 3, mostIDs)
	keys := (k.Vocabulary - 1) / 2
	values := k.Vocabulary - 1 - keys
	o.size("KeyLength", &k.KeyLength, min(3, keys), 1, min(keys, 64))
	o.size("ValueLength", &k.ValueLength, min(3, keys), 1, min(values, 64))
	o.size("Length", &k.Length, 128, 2*(k.KeyLength+k.ValueLength), mostIDs)
	return o.rule(mad, k.Vocabulary, k.Length, values, k.draw)
}

// draw ends a row with a pair that it already contains.
func (k FuzzyRecall) draw(rng *rand.Rand, test bool) (r row) {
	last, keys := k.Vocabulary-2, (k.Vocabulary-1)/2
	values, presented := map[string][]int{}, [][]int{}
	for full := false; !full; {
		full = len(r.tokens) > k.Length-2*(k.KeyLength+k.ValueLength)
		key := distinct(rng, pick(test, k.KeyLength, 1+rng.IntN(k.KeyLength)), 0, keys-1)
		if full {
			key = presented[rng.IntN(len(presented))]
		}
		name := fmt.Sprint(key)
		value, again := values[name]
		if !again {
			value = distinct(rng, 1+rng.IntN(k.ValueLength), keys, last)
			values[name] = value
			presented = append(presented, key)
		}
		r.add(slices.Concat(key, value)...)
		if again { // each token of the value is the target of the token before it
			copy(r.targets[len(r.targets)-len(value)-1:], value)
		}
	}
	return r
}
