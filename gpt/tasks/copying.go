package tasks

import "math/rand/v2"

// SelectiveCopying is MAD's selective copying: symbols with blanks before them, a mark, and a blank for each symbol,
// whose answers are the symbols in their order. The last two tokens of the vocabulary are the blank and the mark.
type SelectiveCopying struct {
	Vocabulary int // 16
	Copied     int // 16 symbols
	Length     int // 256 tokens
}

func (k SelectiveCopying) rule() (rule, error) {
	o := options{task: "selective-copying"}
	o.size("Vocabulary", &k.Vocabulary, 16, 4, mostIDs)
	o.size("Copied", &k.Copied, 16, 1, mostIDs/2-1)
	o.size("Length", &k.Length, 256, 2*k.Copied+1, mostIDs)
	return o.rule(mad, k.Vocabulary, k.Length, k.Vocabulary-2, k.draw)
}

func (k SelectiveCopying) draw(rng *rand.Rand, _ bool) (r row) {
	mark, blank := k.Vocabulary-1, k.Vocabulary-2
	before := make([]int, k.Copied) // blanks before each symbol
	for range k.Length - 2*k.Copied - 1 {
		before[rng.IntN(k.Copied)]++
	}
	symbols := make([]int, k.Copied)
	for i, n := range before {
		for range n {
			r.add(blank)
		}
		symbols[i] = rng.IntN(blank)
		r.add(symbols[i])
	}
	r.add(mark)
	for _, x := range symbols {
		r.answer(blank, x)
	}
	return r
}
