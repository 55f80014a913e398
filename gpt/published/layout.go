package published

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Layout describes how the tensors of a network correspond to those in the files of a family.
type Layout struct {
	Family  Family
	Heads   Heads
	Experts int // number of experts of a mixture
	Rows    int // number of learned positions in the file; 0 means the same as in the network
}

// Tensors returns the parameters as the tensors of a file, under names without a prefix.
func (l Layout) Tensors(params []graph.Expr) (list []train.Named) {
	for _, t := range train.Parameters(params) {
		if t.Name == "lm_head.bias" && !l.Family.HeadBias {
			continue
		}
		for _, p := range l.Family.names.pieces(t.Name, l.Heads) {
			list = append(list, l.file(t, p))
		}
	}
	return list
}

// file returns a parameter as the tensor of a file that p describes.
func (l Layout) file(t train.Named, p piece) train.Named {
	more := p.skip // rows of a table beside ours
	if t.Name == "wpe.weight" && l.Rows > 0 {
		more += l.Rows - t.Shape[0]
	}
	t.Name, t.Columns, t.Shift = p.name, p.columns, p.shift
	if p.turned || p.parts > 0 || p.stacked || more != 0 {
		t.View = l.view(t, p, more)
	}
	return t
}

// view returns the place of a vector or matrix in the tensor of a file that p describes.
func (l Layout) view(t train.Named, p piece, more int) (v train.View) {
	parts, columns, rows := max(1, p.parts), t.Shape[len(t.Shape)-1], 1
	if t.Columns != nil {
		columns = len(t.Columns)
	}
	if len(t.Shape) > 1 {
		rows = t.Shape[0]
	}
	if p.stacked && l.Family.blocked && len(t.Shape) == 2 {
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
			Shape: []int{rows + more, wide}, First: first + p.skip*wide, Row: wide, Column: output,
		}
	}
	if p.stacked {
		v.First += p.expert * parts * columns * rows
		v.Shape = append([]int{l.Experts}, v.Shape...)
	}
	return v
}

// Export returns the parameters as the tensors of a published file.
func (l Layout) Export(params []graph.Expr) []train.Named {
	list := l.Tensors(params)
	if l.Family.Biases {
		list = append(list, absentBiases(list)...)
	}
	for i, t := range list {
		list[i].Name = l.Family.names.file(t.Name)
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

// Parameters returns the tensors of a file that are parameters, under names without a prefix. ownHead reports whether
// the network's head has a separate matrix.
func (l Layout) Parameters(f *safetensors.File, ownHead bool) *safetensors.File {
	if f == nil {
		return new(safetensors.File)
	}
	entries := slices.Clone(f.Entries)
	entries = slices.DeleteFunc(entries, func(e safetensors.Entry) bool { return l.Skips(e.Name, ownHead) })
	for i, e := range entries {
		entries[i].Name = l.Family.names.plain(e.Name)
	}
	return &safetensors.File{Entries: entries, Metadata: f.Metadata}
}

// Skips reports whether a tensor of a file is a buffer, or a copy of a tied head, rather than a parameter.
func (l Layout) Skips(name string, ownHead bool) bool {
	return l.Family.names.skipped(l.Family.names.plain(name)) || !ownHead && l.IsHead(name)
}

// IsHead reports whether a tensor of a file is the head's matrix.
func (l Layout) IsHead(name string) bool {
	return l.Family.names.plain(name) == l.Family.names.headName()
}

// FileName returns the name that the first of the tensors of a parameter has in a file.
func (l Layout) FileName(parameter string) string {
	return l.Family.names.file(l.Family.names.pieces(parameter, l.Heads)[0].name)
}

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
	n := l.Family.names
	for _, p := range n.pieces(matrix+".weight", l.Heads) {
		m := Module{n.module(p.name), p.turned, p.columns, p.part, p.parts}
		if p.stacked {
			m = Module{Name: n.module(matrix), Turned: true}
		}
		list = append(list, m)
	}
	return list
}
