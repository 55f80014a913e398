package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// pair is what one adapter of ours is to be: those of a's ranks that count.
type pair struct {
	to    nn.Adapter
	of    sharing
	from  peft.Matrix
	ranks []int // of A's rows and B's columns
}

// row is that of B for a column of u.
func (p pair) row(column int) int { return p.of.row(p.to.From - p.of.pairs[0].From + column) }

// pairs returns what the adapters of a model become, of at most that rank. Of a higher rank those count whose column of
// B is not 0 in the adapter's rows: what SaveAdapter has put together comes apart again.
func (a *Adapter) pairs(list []sharing, most int) (values []pair, err error) {
	r := a.config.Rank
	if err := a.fits(list); err != nil {
		return nil, err
	}
	matrices, err := a.folder.Matrices()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		i := slices.IndexFunc(matrices, func(m peft.Matrix) bool { return m.Name == s.name })
		if i < 0 {
			continue
		}
		for _, to := range s.pairs {
			p := pair{to: to, of: s, from: matrices[i]}
			if p.choose(r, most); len(p.ranks) > most {
				return nil, errors.Errorf("adapter: %s: r: got %d, want at most the model's lora_r %d", s.name, len(p.ranks), most)
			}
			values = append(values, p)
		}
	}
	return values, nil
}

// manyRanks is a rank that any matrix may have. Beyond it, more than three times a matrix's own rank (PEFT has one
// adapter where we have three, of q, k and v) is no adapter.
const manyRanks = 4096

// fits compares what the adapter says of its matrices with the model's, before any number is read.
func (a *Adapter) fits(list []sharing) error {
	for _, s := range list {
		i := slices.IndexFunc(a.folder.Shapes, func(m peft.Shape) bool { return m.Name == s.name })
		if i < 0 && a.config.Adapts(s.name) {
			return errors.Errorf("adapter: %s: target_modules are %s, but the file has none for it",
				s.name, field.Clip(strings.Join(a.config.Targets, ",")))
		}
		if i < 0 {
			continue
		}
		from := a.folder.Shapes[i]
		if from.In != s.in || from.Out != s.out() {
			return errors.Errorf("adapter: %s: got one for a matrix (%d, %d), want (%d, %d)",
				s.name, from.In, from.Out, s.in, s.out())
		}
		if r, limit := a.config.Rank, max(manyRanks, 3*min(s.in, s.out())); r > limit {
			return errors.Errorf("adapter: %s: r: got %d, want at most %d for a matrix (%d, %d)", s.name, r, limit, s.in, s.out())
		}
	}
	for _, m := range a.folder.Shapes {
		if !slices.ContainsFunc(list, func(s sharing) bool { return s.name == m.Name }) {
			return errors.Errorf("adapter: %s: the model has no adapter there", field.Clip(m.Name))
		}
	}
	return nil
}

// rank is what a model needs for a.
func (a *Adapter) rank(list []sharing) (rank int, err error) {
	values, err := a.pairs(list, a.config.Rank)
	for _, p := range values {
		p.choose(a.config.Rank, 0)
		rank = max(rank, len(p.ranks))
	}
	if rank == 0 { // untrained: nothing counts
		rank = a.config.Rank
	}
	return rank, err
}

// choose fills in the ranks: all r if the model has room, else those that count.
func (p *pair) choose(r, most int) {
	p.ranks = nil
	for k := range r {
		counts := r <= most
		for column := 0; column < p.to.To-p.to.From && !counts; column++ {
			counts = p.from.B[p.row(column)*r+k] != 0
		}
		if counts {
			p.ranks = append(p.ranks, k)
		}
	}
}

// set writes the pair's d = Aᵀ and u = factor·Bᵀ over the adapter's first ranks; the rest of u is 0.
func (p pair) set(factor float64) {
	d, u := p.to.Down.Tensor(), p.to.Up.Tensor()
	r, most, cols := len(p.from.A)/d.Shape[0], d.Shape[1], u.Shape[1]
	for i, k := range p.ranks {
		for row := range d.Shape[0] {
			d.Set(row*most+i, float64(p.from.A[k*d.Shape[0]+row]))
		}
		for col := range cols {
			u.Set(i*cols+col, factor*float64(p.from.B[p.row(col)*r+k]))
		}
	}
}
