package causal

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// probe is a program that keeps some activations, with their values for unchanged tokens.
type probe struct {
	model   Model
	names   []string
	exprs   []graph.Expr
	program *graph.Program
	base    []graph.Tensor
}

// at is a row of an activation that has changed although it must not.
type at struct {
	found          bool
	activation     int
	text, position int
}

// newProbe compiles a program that keeps the activations at the given places, followed by the output.
func newProbe(m Model, names []string) (*probe, error) {
	p := &probe{model: m}
	g := m.Output.Graph()
	for _, name := range names {
		x, err := g.Activation(name)
		if err != nil {
			return nil, err
		}
		if p.hasRows(x) {
			p.names, p.exprs = append(p.names, name), append(p.exprs, x)
		}
	}
	p.names, p.exprs = append(p.names, ""), append(p.exprs, m.Output)
	var err error
	if p.program, err = graph.CompileWith(m.Output, p.exprs); err != nil {
		return nil, err
	}
	if err := p.run(0, 0); err != nil {
		return nil, err
	}
	for i := range p.exprs {
		p.base = append(p.base, p.value(i).Clone())
	}
	return p, nil
}

// hasRows reports whether the rows of x are tokens. Scores are not included, because later tokens are hidden only after
// them. The input of a layer is not one of its activations.
func (p *probe) hasRows(x graph.Expr) bool {
	s := x.Shape()
	return x.Name() == "" && len(s) == 2 && (s[0] == p.model.Input.Shape()[0] || s[0] == p.model.Output.Shape()[0])
}

func (p *probe) value(i int) graph.Tensor { return p.program.Kept(p.exprs[i]) }

func (p *probe) run(from, to int) error {
	p.model.write(from, to)
	return p.program.Run()
}

// differs changes the tokens from … to−1 of the first text and returns the first row that changes although it must not.
func (p *probe) differs(from, to int) (at, error) {
	if err := p.run(from, to); err != nil {
		return at{}, err
	}
	for i, base := range p.base {
		now, n := p.value(i), base.Shape[0]/p.model.Batch
		for row := range base.Shape[0] {
			text, position := row/n, row%n
			own := text == 0 && (p.model.Bidirectional || position >= from)
			if !own && !sameRow(base, now, row) {
				return at{true, i, text, position}, nil
			}
		}
	}
	return at{}, nil
}

// sees reports whether a row changes with the token at position j of the first text.
func (p *probe) sees(row at, j int) (bool, error) {
	err := p.run(j, j+1)
	base := p.base[row.activation]
	n := base.Shape[0] / p.model.Batch
	return err == nil && !sameRow(base, p.value(row.activation), row.text*n+row.position), err
}

// sameRow compares the bits of a row of two tensors of one shape.
func sameRow(a, b graph.Tensor, row int) bool {
	width := a.Len() / a.Shape[0]
	for i := row * width; i < (row+1)*width; i++ {
		if a.F32 != nil && math.Float32bits(a.F32[i]) != math.Float32bits(b.F32[i]) ||
			a.F64 != nil && math.Float64bits(a.F64[i]) != math.Float64bits(b.F64[i]) {
			return false
		}
	}
	return true
}
