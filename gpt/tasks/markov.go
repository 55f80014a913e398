package tasks

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Markov is a source of random symbols, each of which depends on the last Order symbols. The drawn table of the
// probabilities is the same for all rows, so a model learns it by heart. The answers are the next symbols. They are
// random: Optimum has their entropy, exact for the positions of a test row, and a model's excess is its loss minus
// this. Test rows may be longer: then attention must find the last Order symbols at positions it was not trained on.
type Markov struct {
	Symbols    int    // 4
	Order      int    // 2
	Length     int    // 128 tokens
	TestLength int    // Length
	Seed       uint64 // of the table
}

func (k Markov) rule() (rule, error) {
	o := options{task: "markov"}
	o.size("Symbols", &k.Symbols, 4, 2, 1<<7)
	most := int(14/math.Log2(float64(k.Symbols))) - 1 // the table has at most 2¹⁴ probabilities
	o.size("Order", &k.Order, min(2, most), 1, most)
	o.size("Length", &k.Length, 128, k.Order, 1<<12)
	o.size("TestLength", &k.TestLength, k.Length, k.Order, 1<<12)
	c, block := k.chain(), max(k.Length, k.TestLength)
	draw := func(rng *rand.Rand, test bool) row { return k.draw(rng, c, pick(test, k.TestLength, k.Length)) }
	r, err := o.rule("Shannon 1948, A mathematical theory of communication", k.Symbols, block, k.Symbols, draw)
	r.Optimum = c.optimum(k.TestLength - k.Order + 1)
	return r, err
}

// draw begins with Order uniform symbols.
func (k Markov) draw(rng *rand.Rand, c chain, length int) (r row) {
	context := 0
	for i := range length + 1 {
		x := rng.IntN(k.Symbols)
		if i >= k.Order {
			x, _ = slices.BinarySearch(c[context], 1+rng.Uint64N(certain))
			r.targets[i-1] = x
		}
		context = (context*k.Symbols + x) % len(c)
		if i < length {
			r.add(x)
		}
	}
	return r
}

// chain holds the cumulative probabilities of the symbols after each context, in units of 1/certain. A context is the
// number whose digits are the last symbols.
type chain [][]uint64

const certain = 1 << 32

// chain draws the probabilities after each context uniformly among all that add up to 1: they are the differences of
// sorted numbers. None is 0.
func (k Markov) chain() chain {
	rng := rand.New(rand.NewPCG(k.Seed, 0x636861696e))
	c := make(chain, int(math.Round(elementary.Pow(float64(k.Symbols), float64(k.Order)))))
	for i := range c {
		c[i] = []uint64{certain}
		for len(c[i]) < k.Symbols {
			if x := 1 + rng.Uint64N(certain-1); !slices.Contains(c[i], x) {
				c[i] = append(c[i], x)
			}
		}
		slices.Sort(c[i])
	}
	return c
}

// probabilities returns the probability of each symbol after a context.
func (c chain) probabilities(context int) []float64 {
	list, below := make([]float64, len(c[context])), uint64(0)
	for x, to := range c[context] {
		list[x], below = float64(to-below)/certain, to
	}
	return list
}

// optimum returns the mean of the largest probability and of the entropy at n positions, the first of which has each
// context with the same probability.
func (c chain) optimum(n int) (o Optimum) {
	here := make([]float64, len(c)) // the probability of each context
	for i := range here {
		here[i] = 1 / float64(len(c))
	}
	for range n {
		then := make([]float64, len(c))
		for context, share := range here {
			p := c.probabilities(context)
			o.Accuracy += share * slices.Max(p) / float64(n)
			for x, q := range p {
				o.Loss -= share * q * elementary.Log(q) / float64(n)
				then[(context*len(p)+x)%len(c)] += share * q
			}
		}
		here = then
	}
	return o
}
