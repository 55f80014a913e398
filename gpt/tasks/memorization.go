package tasks

import "math/rand/v2"

// Memorization is MAD's memorization: random keys, each before a mark whose answer is the key's value. A drawn table
// has the value of each key. It is the same for all rows, so the test asks for the facts of the training in other
// orders.
type Memorization struct {
	Vocabulary int    // 256: a key and a value for every two tokens, the last token is the mark
	Pairs      int    // 16 keys, each with a mark
	Seed       uint64 // of the table
}

func (k Memorization) rule() (rule, error) {
	o := options{task: "memorization"}
	o.size("Vocabulary", &k.Vocabulary, 256, 3, mostIDs)
	o.size("Pairs", &k.Pairs, 16, 1, mostIDs/2)
	keys := (k.Vocabulary - 1) / 2
	value := rand.New(rand.NewPCG(k.Seed, 0x7461626c65)).Perm(keys)
	r, err := o.rule(mad, k.Vocabulary, 2*k.Pairs, keys, func(rng *rand.Rand, _ bool) (r row) {
		for range k.Pairs {
			key := rng.IntN(keys)
			r.add(key)
			r.answer(k.Vocabulary-1, keys+value[key])
		}
		return r
	})
	r.set.Train = 256
	return r, err
}
