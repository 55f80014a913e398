package tasks

import (
	"math/rand/v2"
	"slices"
)

// WordProblem is a row of permutations of Degree objects. The answer at each is the product so far: the first, then the
// second, and so on. The group of degree 5 is not solvable. Token 0 is the identity. Test rows may be longer.
type WordProblem struct {
	Degree     int // 5, which has 120 permutations
	Length     int // 16 tokens
	TestLength int // Length
}

func (k WordProblem) rule() (rule, error) {
	o := options{task: "word-problem"}
	o.size("Degree", &k.Degree, 5, 2, 5)
	o.size("Length", &k.Length, 16, 1, mostIDs)
	o.size("TestLength", &k.TestLength, k.Length, 1, mostIDs)
	all := permutations(k.Degree)
	draw := func(rng *rand.Rand, test bool) (r row) {
		product := all[0]
		for range pick(test, k.TestLength, k.Length) {
			x := rng.IntN(len(all))
			for i, y := range product {
				product[i] = all[x][y]
			}
			r.answer(x, slices.Index(all, product))
		}
		return r
	}
	return o.rule("Merrill et al. 2024, arXiv:2404.08819", len(all), max(k.Length, k.TestLength), len(all), draw)
}

// permutations lists the permutations of the first n of five objects, the identity first: p moves the object at i to
// p[i].
func permutations(n int) [][5]int {
	list := [][5]int{{0, 1, 2, 3, 4}}
	for i := 1; i < n; i++ {
		for _, p := range list { // permutations of i objects: the next one takes the place of each of them
			for j := range i {
				p := p
				p[i], p[j] = p[j], p[i]
				list = append(list, p)
			}
		}
	}
	return list
}
