package tasks

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// MultiQueryRecall is Zoology's multi-query associative recall: pairs of different keys and values, and then every key
// once more, among random tokens, with its value as the answer. The places of the keys are even distances from the end
// of the pairs; distance 2(g−1) has a weight of g^(Power−1).
type MultiQueryRecall struct {
	Vocabulary int     // 8192: the first half are keys, except token 0, the others values
	Pairs      int     // 4, up to 64 in the paper
	Length     int     // 64 tokens, up to 512 in the paper
	Power      float64 // 0.01
}

func (k MultiQueryRecall) rule() (rule, error) {
	o := options{task: "multi-query-associative-recall"}
	o.size("Vocabulary", &k.Vocabulary, 8192, 4, mostIDs)
	o.size("Pairs", &k.Pairs, 4, 1, min(k.Vocabulary/2-1, 1<<10))
	o.size("Length", &k.Length, 64, 4*k.Pairs, mostIDs)
	o.share("Power", &k.Power, 0.01)
	weights := make([]uint64, k.Length/2-k.Pairs)
	for i := range weights { // whole numbers, so that the last bit of a power does not matter
		weights[i] = uint64(math.Ceil(0x1p32 * elementary.Pow(float64(i+1), k.Power-1)))
	}
	draw := func(rng *rand.Rand, _ bool) row { return k.draw(rng, weights) }
	r, err := o.rule("Arora et al. 2023, arXiv:2312.04927", k.Vocabulary, k.Length, k.Vocabulary-k.Vocabulary/2, draw)
	r.set = Set{Train: 100_000, Test: 3000}
	return r, err
}

func (k MultiQueryRecall) draw(rng *rand.Rand, weights []uint64) (r row) {
	half := k.Vocabulary / 2
	keys, values := distinct(rng, k.Pairs, 1, half-1), distinct(rng, k.Pairs, half, k.Vocabulary-1)
	for i, key := range keys {
		r.add(key, values[i])
	}
	for len(r.tokens) < k.Length {
		r.add(rng.IntN(k.Vocabulary))
	}
	for i, gap := range weighted(rng, k.Pairs, weights) {
		at := 2*k.Pairs + 2*gap
		r.tokens[at], r.targets[at] = keys[i], values[i]
	}
	return r
}

// weighted draws n different indices, each with the probability of its weight among those that are left.
func weighted(rng *rand.Rand, n int, weights []uint64) (list []int) {
	left, sum := slices.Clone(weights), uint64(0)
	for _, w := range weights {
		sum += w
	}
	for range n {
		i := 0
		for at := rng.Uint64N(sum); at >= left[i]; i++ {
			at -= left[i]
		}
		list, sum, left[i] = append(list, i), sum-left[i], 0
	}
	return list
}
