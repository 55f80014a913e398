package tasks

import "math/rand/v2"

// Dyck is the language of brackets of several types, nested to a largest depth. A row is the beginning of a balanced
// text, where an opening and a closing bracket are equally likely if both are possible. Where a closing bracket
// follows, the answer is its type. The opening brackets are the first half of the vocabulary.
type Dyck struct {
	Types  int // 8
	Depth  int // 8
	Length int // 128 tokens
}

func (k Dyck) rule() (rule, error) {
	o := options{task: "dyck"}
	o.size("Types", &k.Types, 8, 2, mostIDs/2)
	o.size("Depth", &k.Depth, 8, 1, mostIDs)
	o.size("Length", &k.Length, 128, 2, mostIDs)
	return o.rule("Hewitt et al. 2020, arXiv:2010.07515", 2*k.Types, k.Length, k.Types, k.draw)
}

func (k Dyck) draw(rng *rand.Rand, _ bool) (r row) {
	var open []int
	for range k.Length {
		top := len(open) - 1
		if top < 0 || len(open) < k.Depth && rng.IntN(2) == 0 {
			open = append(open, rng.IntN(k.Types))
			r.add(open[top+1])
			continue
		}
		closing := k.Types + open[top]
		r.targets[len(r.targets)-1] = closing // of the token before
		r.add(closing)
		open = open[:top]
	}
	return r
}
