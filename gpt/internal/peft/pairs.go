package peft

import (
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Pair describes the new numbers of one of our adapters: those ranks of a PEFT adapter that count.
type Pair struct {
	to    part
	of    Adapters
	from  Matrix
	ranks []int // indices of A's rows and B's columns
}

// Pairs returns the new numbers of a model's adapters, which have at most the rank most. If the folder's rank is
// higher, only those ranks count whose column of B is not 0 in the adapter's rows: this separates again what Collect
// has joined.
func (f *Folder) Pairs(list []Adapters, most int) (values []Pair, err error) {
	if err := f.fits(list); err != nil {
		return nil, err
	}
	matrices, err := f.Matrices()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		i := slices.IndexFunc(matrices, func(m Matrix) bool { return m.Name == s.name })
		if i < 0 {
			continue
		}
		for _, to := range s.parts {
			if f.early && s.ordered {
				to = to.straight()
			}
			p := Pair{to: to, of: s, from: matrices[i]}
			if p.choose(most); len(p.ranks) > most {
				return nil, errors.Errorf("adapter: %s: r: got %d, want at most the model's lora_r %d",
					s.name, len(p.ranks), most)
			}
			values = append(values, p)
		}
	}
	return values, nil
}

// manyRanks is a rank that any matrix may have. A higher rank is refused if it is also more than three times the
// matrix's own rank. (PEFT has one adapter where we have three, for q, k and v.)
const manyRanks = 4096

// fits compares the names and shapes of the adapter's matrices with the model's, before any number is read.
func (f *Folder) fits(list []Adapters) error {
	for _, s := range list {
		i := slices.IndexFunc(f.Shapes, func(m Shape) bool { return m.Name == s.name })
		if i < 0 && f.Listed && f.Adapts(s.name) {
			return errors.Errorf("adapter: %s: in target_modules %s, but the file has no matrices for it",
				s.name, field.Clip(strings.Join(f.Targets, ",")))
		}
		if i < 0 {
			continue
		}
		from := f.Shapes[i]
		if from.In != s.in || from.Out != s.out {
			return errors.Errorf("adapter: %s: got one for a matrix (%d, %d), want (%d, %d)",
				s.name, from.In, from.Out, s.in, s.out)
		}
		if r, limit := f.RankOf(s.name), max(manyRanks, 3*min(s.in, s.out)); r > limit {
			return errors.Errorf("adapter: %s: r: got %d, want at most %d for a matrix (%d, %d)",
				s.name, r, limit, s.in, s.out)
		}
	}
	for _, m := range f.Shapes {
		if !slices.ContainsFunc(list, func(s Adapters) bool { return s.name == m.Name }) {
			return errors.Errorf("adapter: %s: the model has no adapter there", field.Clip(m.Name))
		}
	}
	return nil
}

// Need returns the lora_r that a model needs for the folder.
func (f *Folder) Need(list []Adapters) (rank int, err error) {
	most := f.Rank
	for _, s := range f.Shapes {
		most = max(most, f.RankOf(s.Name))
	}
	values, err := f.Pairs(list, most)
	for _, p := range values {
		p.choose(0)
		rank = max(rank, len(p.ranks))
	}
	if rank == 0 { // the adapter is untrained: all its columns of B are 0
		rank = most
	}
	return rank, err
}

// straight returns p for a B with our order of the columns. Earlier versions of this library wrote such folders.
func (p part) straight() part {
	p.rows = slices.Clone(p.rows)
	for i := range p.rows {
		p.rows[i] = p.From + i
	}
	return p
}

// choose sets p.ranks: all ranks if the model has room for them, otherwise those that count.
func (p *Pair) choose(most int) {
	r := len(p.from.A) / p.of.in
	p.ranks = nil
	for k := range r {
		counts := r <= most
		for i := 0; i < len(p.to.rows) && !counts; i++ {
			counts = p.from.B[p.to.rows[i]*r+k] != 0
		}
		if counts {
			p.ranks = append(p.ranks, k)
		}
	}
}

// Matrix returns the name of the matrix of the base that the pair adapts.
func (p Pair) Matrix() string { return p.from.Name }

// Set writes the pair's d = Aᵀ and u = factor·Bᵀ over the adapter's first ranks; the rest of u is 0.
func (p Pair) Set(factor float64) {
	d, u := p.to.Down.Tensor(), p.to.Up.Tensor()
	r, most, cols := len(p.from.A)/d.Shape[0], d.Shape[1], u.Shape[1]
	for i, k := range p.ranks {
		for row := range d.Shape[0] {
			d.Set(row*most+i, float64(p.from.A[k*d.Shape[0]+row]))
		}
		for col := range cols {
			u.Set(i*cols+col, factor*float64(p.from.B[p.to.rows[col]*r+k]))
		}
	}
}

// Weight returns the name of the parameter whose columns the pair adapts.
func (p Pair) Weight() string { return p.to.weight }

// Merge adds factor·Aᵀ·Bᵀ to the columns of w, the numbers of Weight. With DoRA the columns of the sum then get the
// lengths of the adapter. A column of zeros, which has no direction, stays.
func (p Pair) Merge(w graph.Tensor, factor float64) {
	in, width, n := w.Shape[0], w.Shape[1], len(p.to.rows)
	r := len(p.from.A) / in
	u := make([]float64, r*n) // factor·Bᵀ of the columns
	for i, row := range p.to.rows {
		for k := range r {
			u[k*n+i] = factor * float64(p.from.B[row*r+k])
		}
	}
	sum, squares := make([]float64, n), make([]float64, n) // a row of the sum, and ‖v‖²
	for j := range in {
		at := j*width + p.to.From
		for i := range sum {
			sum[i] = w.At(at + i)
		}
		for k := range r {
			x := float64(p.from.A[k*in+j])
			for i, y := range u[k*n : (k+1)*n] {
				sum[i] += x * y
			}
		}
		for i, x := range sum {
			w.Set(at+i, x)
			squares[i] += x * x
		}
	}
	if p.from.Lengths == nil {
		return
	}
	for i, row := range p.to.rows {
		squares[i] = float64(p.from.Lengths[row]) / math.Sqrt(max(squares[i], math.SmallestNonzeroFloat64))
	}
	for j := range in {
		for i, factor := range squares {
			at := j*width + p.to.From + i
			w.Set(at, factor*w.At(at))
		}
	}
}
