package inspect

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Composition says how much a head of a later block reads the results of a head of an earlier block.
type Composition struct {
	FromBlock, FromHead int
	ToBlock, ToHead     int

	// Query, Key and Value are ‖W_OV·W‖/(‖W_OV‖·‖W‖) by Frobenius norms. W_OV = w_v·w_o of the earlier head writes into
	// the stream. W is w_q·w_kᵗ, its transpose, or w_v·w_o of the later head. Random matrices of width d give about
	// 1/√d.
	Query, Key, Value float64
}

// Compositions returns the compositions of every pair of heads in two different blocks, after Elhage et al. (2021), "A
// mathematical framework for transformer circuits". Norms, biases and rotations are left out. It needs attention with
// one projection c_attn to queries, keys and values of every head, and c_proj.
func Compositions(m *gpt.Model) (list []Composition, err error) {
	if err := m.Check(); err != nil {
		return nil, errors.WithMessage(err, "inspect")
	}
	all := map[string]graph.Tensor{}
	for _, p := range m.Params() {
		all[p.Name()] = p.Tensor()
	}
	var heads [][]circuit
	for block := range m.Config.NLayer {
		row, err := circuits(m.Config, all, fmt.Sprintf("h.%d.attn", block))
		if err != nil {
			return nil, errors.WithMessage(err, "inspect")
		}
		heads = append(heads, row)
	}
	for to := range heads {
		for from := range to {
			for i, a := range heads[from] {
				for j, b := range heads[to] {
					list = append(list, Composition{
						FromBlock: from, FromHead: i, ToBlock: to, ToHead: j, Query: composed(a, b.q, b.k),
						Key: composed(a, b.k, b.q), Value: composed(a, b.v, b.out.transposed()),
					})
				}
			}
		}
	}
	return list, nil
}

// circuit holds the weights of a head: q, k and v (d, features), and out (features, d).
type circuit struct{ q, k, v, out matrix }

// circuits returns the heads of an attention.
func circuits(c gpt.Config, all map[string]graph.Tensor, path string) (list []circuit, err error) {
	qkv, proj := all[path+".c_attn.weight"], all[path+".c_proj.weight"]
	d, dq, dv := c.NEmbd, c.QKSize, c.VSize
	if dq == 0 {
		dq = d / c.NHead
	}
	if dv == 0 {
		dv = d / c.NHead
	}
	if got, want := len(qkv.Floats()), d*c.NHead*(2*dq+dv); got != want || len(proj.Floats()) != c.NHead*dv*d {
		return nil, errors.Errorf("%s: attention %q: got %d weights in c_attn, want %d: queries, keys and values of "+
			"every head", path, c.Attention, got, want)
	}
	w, o := newMatrix(d, c.NHead*(2*dq+dv), qkv.Floats()), newMatrix(c.NHead*dv, d, proj.Floats())
	for h := range c.NHead {
		list = append(list, circuit{
			q: w.columns(h*dq, dq), k: w.columns((c.NHead+h)*dq, dq), v: w.columns(2*c.NHead*dq+h*dv, dv),
			out: o.transposed().columns(h*dv, dv).transposed(),
		})
	}
	return list, nil
}

// composed returns ‖v·out·x·yᵗ‖/(‖v·out‖·‖x·yᵗ‖) for the earlier head's v and out, by products of few columns.
func composed(a circuit, x, y matrix) float64 {
	size := func(left, right matrix) float64 { // ‖left·right‖ = √tr((leftᵗ·left)(right·rightᵗ))
		p, q := left.transposed().times(left), right.times(right.transposed())
		var sum float64
		for i, v := range p.entries {
			sum += v * q.entries[i] // both are symmetric
		}
		return math.Sqrt(max(sum, 0))
	}
	middle := a.out.times(x) // (features, features)
	return size(a.v.times(middle), y.transposed()) / (size(a.v, a.out) * size(x, y.transposed()))
}

// matrix is a matrix of float64, row by row.
type matrix struct {
	rows, cols int
	entries    []float64
}

func newMatrix(rows, cols int, entries []float64) matrix { return matrix{rows, cols, entries} }

func (m matrix) columns(from, n int) matrix {
	out := newMatrix(m.rows, n, make([]float64, 0, m.rows*n))
	for i := range m.rows {
		out.entries = append(out.entries, m.entries[i*m.cols+from:][:n]...)
	}
	return out
}

func (m matrix) transposed() matrix {
	out := newMatrix(m.cols, m.rows, make([]float64, len(m.entries)))
	for i, v := range m.entries {
		out.entries[i%m.cols*m.rows+i/m.cols] = v
	}
	return out
}

func (m matrix) times(x matrix) matrix {
	out := newMatrix(m.rows, x.cols, make([]float64, m.rows*x.cols))
	for i := range m.rows {
		for k := range m.cols {
			v := m.entries[i*m.cols+k]
			for j := range x.cols {
				out.entries[i*x.cols+j] += v * x.entries[k*x.cols+j]
			}
		}
	}
	return out
}
