package graph

import (
	"hash/fnv"
	"math/rand/v2"
)

// Init gives entry i of a parameter or value its first number; rng is seeded by the Graph's seed and the full name. It
// is called by several goroutines at once.
type Init func(i int, rng *rand.Rand) float64

// Const returns the same number everywhere.
func Const(x float64) Init { return func(int, *rand.Rand) float64 { return x } }

// Normal draws from N(0, std²).
func Normal(std float64) Init {
	return func(_ int, rng *rand.Rand) float64 { return std * rng.NormFloat64() }
}

// initialise gives t its first numbers, in chunks with a generator each, so that all threads can take part.
func (g *Graph) initialise(name string, t Tensor, init Init) {
	const chunk = 1 << 16
	key := hashName(name)
	g.pool.Range(t.Len(), chunk, func(from, to int) {
		defer func() {
			if r := recover(); r != nil { // here, where the stack still has init's line
				panic(Panicked(r))
			}
		}()
		rng := rand.New(rand.NewPCG(g.seed, key+uint64(from/chunk)))
		for i := from; i < to; i++ {
			t.Set(i, init(i, rng))
		}
	})
}

func hashName(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
