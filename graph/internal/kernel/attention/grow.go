package attention

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// least is the number of tokens for which a cache has room at first.
const least = 64

// Grown returns the number of tokens for which a cache makes room when it needs room for n: a power of two, so that
// growing takes a constant time per token, and at most the given number.
func Grown(n, most int) int {
	room := least
	for room < n {
		room *= 2
	}
	return min(room, most)
}

// grow returns the numbers of blocks with room for the given number of tokens, each after what the block holds.
func grow[T kernel.Float](x []T, blocks, features, before, now int) []T {
	all := kernel.Make[T](blocks * now * features)
	for i := range blocks {
		copy(all[i*now*features:], x[i*before*features:(i+1)*before*features])
	}
	return all
}
