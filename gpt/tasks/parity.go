package tasks

import "math/rand/v2"

// Parity is a row of bits. The answer at each is the parity of the ones so far. Test rows may be longer.
type Parity struct {
	Length     int // 40 tokens
	TestLength int // Length
}

func (k Parity) rule() (rule, error) {
	o := options{task: "parity"}
	o.size("Length", &k.Length, 40, 1, mostIDs)
	o.size("TestLength", &k.TestLength, k.Length, 1, mostIDs)
	return o.rule("Bhattamishra et al. 2020, arXiv:2009.11264", 2, max(k.Length, k.TestLength), 2, k.draw)
}

func (k Parity) draw(rng *rand.Rand, test bool) (r row) {
	sum := 0
	for range pick(test, k.TestLength, k.Length) {
		bit := rng.IntN(2)
		sum ^= bit
		r.answer(bit, sum)
	}
	return r
}
