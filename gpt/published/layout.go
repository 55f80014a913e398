package published

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Layout describes how the tensors of a network correspond to those in the files of a family.
type Layout struct {
	family  family
	heads   heads
	experts int // number of experts of a mixture
}

// Tensors returns the parameters as the tensors of a file, under names without a prefix.
func (l Layout) Tensors(params []graph.Expr) (list []train.Named) {
	for _, t := range train.Parameters(params) {
		if t.Name == "lm_head.bias" && !l.family.headBias {
			continue
		}
		for _, p := range l.family.names.pieces(t.Name, l.heads) {
			list = append(list, l.file(t, p))
		}
	}
	return list
}

// file returns a parameter as the tensor of a file that p describes.
func (l Layout) file(t train.Named, p piece) train.Named {
	t.Name, t.Columns, t.Shift = p.name, p.columns, p.shift
	if p.turned || p.parts > 0 || p.stacked || p.skip != 0 {
		t.View = l.view(t, p)
	}
	return t
}

// view returns the place of a vector or matrix in the tensor of a file that p describes.
func (l Layout) view(t train.Named, p piece) (v train.View) {
	parts, columns, rows := max(1, p.parts), t.Shape[len(t.Shape)-1], 1
	if t.Columns != nil {
		columns = len(t.Columns)
	}
	if len(t.Shape) > 1 {
		rows = t.Shape[0]
	}
	if p.stacked && l.family.blocked && len(t.Shape) == 2 {
		p.turned = true
	}
	output, first := 1, p.part*columns // in the file: the distance of our columns, and the first
	if p.inTurn {
		output, first = parts, p.part
	}
	switch wide := parts * columns; {
	case len(t.Shape) == 1:
		v = train.View{Shape: []int{wide}, First: first, Row: wide, Column: output}
	case p.turned:
		v = train.View{Shape: []int{wide, rows}, First: first * rows, Row: 1, Column: output * rows}
	default:
		v = train.View{
			Shape: []int{rows + p.skip, wide}, First: first + p.skip*wide, Row: wide, Column: output,
		}
	}
	if p.stacked {
		v.First += p.expert * parts * columns * rows
		v.Shape = append([]int{l.experts}, v.Shape...)
	}
	return v
}

// export returns the parameters as the tensors of a published file.
func (l Layout) export(params []graph.Expr) []train.Named {
	list := l.Tensors(params)
	if l.family.biases {
		list = append(list, absentBiases(list)...)
	}
	for i, t := range list {
		list[i].Name = l.family.names.file(t.Name)
	}
	return list
}

// absentBiases returns biases of 0 for the layers that have none, except the head.
func absentBiases(list []train.Named) (zeros []train.Named) {
	has := map[string]bool{}
	for _, t := range list {
		has[t.Name] = true
	}
	for _, t := range list {
		name, ok := strings.CutSuffix(t.Name, ".weight")
		if bias := name + ".bias"; ok && !has[bias] && (strings.HasPrefix(name, "h.") || name == "ln_f") {
			width := t.Shape[len(t.Shape)-1]
			tensor := graph.Tensor{Shape: []int{width}, F32: make([]float32, width)}
			zeros = append(zeros, train.Named{Name: bias, Tensor: tensor})
		}
	}
	return zeros
}

// Plain returns the name of a file's tensor without a prefix.
func (l Layout) Plain(name string) string { return l.family.names.plain(name) }

// Buffer reports whether a tensor of that plain name is no parameter, such as a mask.
func (l Layout) Buffer(plain string) bool { return l.family.names.skipped(plain) }

// Head returns the plain name of the head's matrix.
func (l Layout) Head() string { return l.family.names.headName() }

// Module is a matrix of Hugging Face's programs that holds one of our matrices, or some of its columns.
type Module struct {
	Name    string // with a prefix
	Turned  bool   // it is (out, in)
	Columns []int  // our columns, in its order; nil means all

	Part, Parts int // ours is this part of its outputs, which are divided equally; Parts 0 means all
}

// Modules returns the matrices that hold ours of that name, in the order of its columns. Where one tensor holds all
// experts, other programs have no matrix of one expert: it has our name.
func (l Layout) Modules(matrix string) (list []Module) {
	n := l.family.names
	for _, p := range n.pieces(matrix+".weight", l.heads) {
		m := Module{n.module(p.name), p.turned, p.columns, p.part, p.parts}
		if p.stacked {
			m = Module{Name: n.module(matrix), Turned: true}
		}
		list = append(list, m)
	}
	return list
}

// layoutOf returns the layout of a network's tensors in the files of a family.
func layoutOf(c gpt.Config, f family) Layout {
	c = c.Resolved()
	d := c.Parts.WithLibrary().Design(c.Stack)
	h := heads{Queries: c.NHead, Groups: c.NHead, QK: c.QKSize, V: c.VSize}
	if own := d.Attention.Groups; own != nil {
		h.Groups = own(d.Stack)
	}
	if c.Position == "rope" {
		h.Rotary = c.RotaryDim()
	}
	return Layout{family: f, heads: h, experts: c.Experts.NumExperts}
}

// LayoutOf returns the layout of a network in the files of its family, or of GPT-2's if it belongs to none.
func LayoutOf(c gpt.Config) Layout {
	c.Adapters = gpt.Adapters{}
	if c.NetworkFields().Check() != nil { // a size out of range
		return layoutOf(c, gpt2())
	}
	f, _, err := familyOf(c.Resolved())
	if err != nil {
		f = gpt2()
	}
	return layoutOf(c, f)
}

// Separate reports whether the files have a matrix each for queries, keys and values.
func (l Layout) Separate() bool { return len(l.Modules("h.0.attn.c_attn")) > 1 }
