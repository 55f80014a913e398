package tasks

import "math/rand/v2"

// InContextRecall is MAD's in-context recall with several queries: pairs of a key and a value, where a key has one
// value in a row. The answer to a key that occurs again is its value. MAD also trains on the other tokens.
type InContextRecall struct {
	Vocabulary int // 16: half of the tokens are keys, half values
	Pairs      int // 64
}

func (k InContextRecall) rule() (rule, error) {
	o := options{task: "in-context-recall"}
	o.size("Vocabulary", &k.Vocabulary, 16, 2, mostIDs)
	return NoisyRecall{Vocabulary: k.Vocabulary, Pairs: k.Pairs}.pairs(o)
}

// NoisyRecall is MAD's noisy in-context recall: some pairs are replaced by two random tokens of another alphabet.
type NoisyRecall struct {
	Vocabulary int     // 32: half of the tokens that are not noise are keys, half values
	Noises     int     // 16 tokens of the vocabulary are noise
	Noise      float64 // 0.2, the probability that a pair is noise
	Pairs      int     // 64, with those that are noise
}

func (k NoisyRecall) rule() (rule, error) {
	o := options{task: "noisy-in-context-recall"}
	o.size("Vocabulary", &k.Vocabulary, 32, 3, mostIDs)
	o.size("Noises", &k.Noises, 16, 1, k.Vocabulary-2)
	o.share("Noise", &k.Noise, 0.2)
	return k.pairs(o)
}

func (k NoisyRecall) pairs(o options) (rule, error) {
	o.size("Pairs", &k.Pairs, 64, 2, mostIDs/2)
	letters := k.Vocabulary - k.Noises
	return o.rule(mad, k.Vocabulary, 2*k.Pairs, letters-letters/2, k.draw)
}

// draw ends a row with a pair that it already contains.
func (k NoisyRecall) draw(rng *rand.Rand, _ bool) (r row) {
	letters := k.Vocabulary - k.Noises
	values, presented := map[int]int{}, []int{}
	sure := rng.IntN(k.Pairs - 1) // a pair that is not noise
	for i := range k.Pairs {
		key := rng.IntN(letters / 2)
		if i == k.Pairs-1 {
			key = presented[rng.IntN(len(presented))]
		} else if i != sure && rng.Float64() < k.Noise {
			r.add(letters+rng.IntN(k.Noises), letters+rng.IntN(k.Noises))
			continue
		}
		if value, again := values[key]; again {
			r.answer(key, value)
		} else {
			r.add(key)
			values[key] = letters/2 + rng.IntN(letters-letters/2)
			presented = append(presented, key)
		}
		r.add(values[key])
	}
	return r
}
