package tasks

import "math/rand/v2"

// Compression is MAD's compression as a text: random symbols, then a mark for each symbol, whose answers are the
// symbols in their order. MAD's decoder reads only the vector of the first mark. A text cannot hide the symbols from
// the model: a recurrent model must compress them into its state, but softmax attention can read them.
type Compression struct {
	Vocabulary int // 16, of which the last token is the mark
	Length     int // 32 tokens to compress, with the mark
}

func (k Compression) rule() (rule, error) {
	o := options{task: "compression"}
	o.size("Vocabulary", &k.Vocabulary, 16, 3, mostIDs)
	o.size("Length", &k.Length, 32, 2, mostIDs/2)
	return o.rule(mad, k.Vocabulary, 2*(k.Length-1), k.Vocabulary-1, k.draw)
}

func (k Compression) draw(rng *rand.Rand, _ bool) (r row) {
	mark := k.Vocabulary - 1
	for range k.Length - 1 {
		r.add(rng.IntN(mark))
	}
	for _, x := range r.tokens {
		r.answer(mark, x)
	}
	return r
}
