package tasks

import "math"

// ModularAddition is the table of a + b modulo a number: the rows are a, +, b and =, and the answer at = is the sum. A
// share of all pairs (a, b) is for training and the rest for the test. The pair (b, a) may be in the other part, as in
// the paper.
type ModularAddition struct {
	Modulus int     // 97
	Share   float64 // 0.5, the share of the pairs to train on
}

func (k ModularAddition) rule() (rule, error) {
	o := options{task: "modular-addition"}
	o.size("Modulus", &k.Modulus, 97, 2, 1<<9)
	o.share("Share", &k.Share, 0.5)
	m := k.Modulus
	all := make([]row, m*m)
	for i := range all {
		a, b := i/m, i%m
		all[i].add(a, m, b)
		all[i].answer(m+1, (a+b)%m)
	}
	train := int(math.Round(k.Share * float64(len(all))))
	r, err := o.rule("Power et al. 2022, arXiv:2201.02177", m+2, 4, m, nil)
	r.set, r.all = Set{Train: max(1, train), Test: max(1, len(all)-train)}, all
	return r, err
}
