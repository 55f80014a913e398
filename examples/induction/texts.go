package main

import "math/rand/v2"

// repeat fills ids with random tokens. After the first period each token repeats the one a period before.
func repeat(rng *rand.Rand, ids []int, vocabulary, period int) {
	for i := range ids {
		if ids[i] = rng.IntN(vocabulary); i >= period {
			ids[i] = ids[i-period]
		}
	}
}

// batch fills tokens and targets with texts to learn from. Their periods differ, from a quarter to half of a text, so
// that only the tokens, not the positions, determine where to attend.
func batch(rng *rand.Rand, tokens, targets []int, context, vocabulary int) {
	ids := make([]int, context+1)
	for row := 0; row < len(tokens); row += context {
		repeat(rng, ids, vocabulary, context/4+rng.IntN(context/4+1))
		copy(tokens[row:row+context], ids)
		copy(targets[row:row+context], ids[1:])
	}
}

// probes returns texts to measure on, whose second half repeats the first. They have one token more than the context.
func probes(o options, n int) (list [][]int) {
	rng := rand.New(rand.NewPCG(o.Seed, 0x70726f626573))
	for range n {
		ids := make([]int, o.BlockSize+1)
		repeat(rng, ids, o.VocabSize, o.BlockSize/2)
		list = append(list, ids)
	}
	return list
}
