package notation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// matrix holds dual numbers of the field: values, and how they change.
type matrix = hand.Matrix[complex128]

// point is a choice of sizes and of matrices, at which formulas have values.
type point struct {
	draw   *exact.Draw
	sizes  map[string]int
	values map[string]matrix
}

// node is a part of a formula.
type node interface {
	value(p *point) matrix
	math(w *writer)
}

type (
	name     string
	constant struct {
		v    float64
		text string
	}
	group  struct{ x node } // in parentheses
	minus  struct{ x node }
	square struct{ x node }
	// transpose is xᵗ.
	transpose struct{ x node }
	// total is a sum of the entries of x along an axis.
	total struct {
		axis string
		x    node
	}
	binary struct {
		op          rune
		left, right node
	}
	call struct {
		name string
		f    function
		x    []node
	}
)

// What a sum adds.
const (
	everything = ""
	rows       = "_rows"
	columns    = "_cols"
)

func failed(format string, args ...any) matrix { return matrix{Err: fmt.Errorf(format, args...)} }

func (x constant) value(p *point) matrix { return p.number(x.v) }
func (x group) value(p *point) matrix    { return x.x.value(p) }
func (x minus) value(p *point) matrix    { return x.x.value(p).Scale(-1) }
func (x square) value(p *point) matrix   { return x.x.value(p).Square() }

func (x transpose) value(p *point) matrix { return x.x.value(p).Transpose() }

// number returns a matrix (1, 1).
func (p *point) number(c float64) matrix {
	return hand.NewExact[complex128](p.draw, 1, 1, []exact.Number{p.draw.Real(c)})
}

func (x name) value(p *point) matrix {
	if v, ok := p.values[string(x)]; ok {
		return v
	}
	if n, ok := p.sizes[string(x)]; ok {
		return p.number(float64(n))
	}
	if of, ok := strings.CutPrefix(string(x), "d"); ok {
		if v, ok := p.values[of]; ok {
			return p.differential(v)
		}
	}
	return failed("got %s, want one of %s", x, strings.Join(p.names(), ", "))
}

// names lists what a formula may name.
func (p *point) names() (list []string) {
	for n := range p.values {
		list = append(list, n)
	}
	for n := range p.sizes {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// differential returns how the entries of x change.
func (p *point) differential(x matrix) matrix {
	entries, err := x.Exact(p.draw)
	if err != nil {
		return matrix{Err: err}
	}
	list := make([]exact.Number, len(entries))
	for i, a := range entries {
		list[i] = a.Derivative()
	}
	return hand.NewExact[complex128](p.draw, x.Rows, x.Cols, list)
}

func (x total) value(p *point) matrix {
	v := x.x.value(p)
	switch x.axis {
	case rows:
		return v.SumTokens()
	case columns:
		return v.Sum()
	}
	return v.SumTokens().Sum()
}

func (x binary) value(p *point) matrix {
	a, b := x.left.value(p), x.right.value(p)
	switch {
	case a.Err != nil:
		return a
	case b.Err != nil:
		return b
	}
	if x.op == '·' {
		if a.Cols != b.Rows {
			return failed("%s · %s: got (%d, %d) · (%d, %d), want as many columns on the left as rows on the right",
				text(x.left), text(x.right), a.Rows, a.Cols, b.Rows, b.Cols)
		}
		return a.MatMul(b)
	}
	if !fits(a.Rows, b.Rows) || !fits(a.Cols, b.Cols) {
		return failed("%s %c %s: got (%d, %d) and (%d, %d), want equal sizes, or 1 where one is repeated",
			text(x.left), x.op, text(x.right), a.Rows, a.Cols, b.Rows, b.Cols)
	}
	switch x.op {
	case '+':
		return a.Add(b)
	case '−':
		return a.Sub(b)
	case '/':
		return a.Div(b)
	}
	return a.Mul(b)
}

func fits(a, b int) bool { return a == b || a == 1 || b == 1 }

func (x call) value(p *point) matrix {
	list := make([]matrix, len(x.x))
	for i, of := range x.x {
		if list[i] = of.value(p); list[i].Err != nil {
			return list[i]
		}
	}
	return x.f.of(p, list)
}
