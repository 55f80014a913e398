package graph

import (
	"hash/fnv"
	"math/rand/v2"
)

// Init returns the initial value of entry i of a parameter or value. The generator rng is seeded by the Graph's seed
// and the full name. Several goroutines call an Init at the same time.
type Init func(i int, rng *rand.Rand) float64

// Const returns an Init that gives every entry the number x.
func Const(x float64) Init { return func(int, *rand.Rand) float64 { return x } }

// Normal returns an Init that draws from N(0, std²).
func Normal(std float64) Init {
	return func(_ int, rng *rand.Rand) float64 { return std * rng.NormFloat64() }
}

// initialise fills t with initial values, in chunks with one generator each, so that all threads can take part.
func (g *Graph) initialise(name string, t Tensor, init Init) {
	const chunk = 1 << 16
	key := hashName(name)
	g.pool.Range(t.Len(), chunk, func(from, to int) {
		defer func() {
			if r := recover(); r != nil { // here the stack still contains init's line
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
