package tasks

import "math/rand/v2"

// Repetition repeats a list of different tokens to the end of the row. From the first repeated token on the answer is
// the next token. The length of the list is drawn from a quarter to half of Length, so the tokens, and not the
// positions, determine where to look.
type Repetition struct {
	Vocabulary int // 64
	Length     int // 64 tokens
	TestLength int // Length
}

func (k Repetition) rule() (rule, error) {
	o := options{task: "repetition"}
	o.size("Length", &k.Length, 64, 4, mostIDs)
	o.size("TestLength", &k.TestLength, k.Length, k.Length/2+1, mostIDs)
	o.size("Vocabulary", &k.Vocabulary, 64, k.Length/2, mostIDs)
	block := max(k.Length, k.TestLength)
	return o.rule("Olsson et al. 2022, arXiv:2209.11895", k.Vocabulary, block, k.Vocabulary, k.draw)
}

func (k Repetition) draw(rng *rand.Rand, test bool) (r row) {
	list := rng.Perm(k.Vocabulary)[:k.Length/4+rng.IntN(k.Length/2-k.Length/4+1)]
	for i := range pick(test, k.TestLength, k.Length) {
		if i < len(list) {
			r.add(list[i])
		} else {
			r.answer(list[i%len(list)], list[(i+1)%len(list)])
		}
	}
	return r
}
