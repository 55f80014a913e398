package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Layout says which tensors of a model's files hold the parameters of a network.
type Layout interface {
	// Tensors returns the parameters as the tensors of a file, under names without a prefix.
	Tensors(params []graph.Expr) []train.Named
	// Plain returns the name of a file's tensor without a prefix.
	Plain(name string) string
	// Buffer reports whether a tensor of that plain name is no parameter, such as a mask.
	Buffer(plain string) bool
	// Head returns the plain name of the head's matrix.
	Head() string
}

// headWeight is the name of the head's matrix.
const headWeight = "lm_head.weight"

// gpt2Layout is the layout of this library's files, and of GPT-2's: tensors have the names of the parameters, and every
// matrix except the head is (in, out). Files of other programs also have a prefix, and the causal mask of every block.
type gpt2Layout struct{}

// Tensors implements Layout.
func (gpt2Layout) Tensors(params []graph.Expr) []train.Named {
	list := train.Parameters(params)
	for i, t := range list {
		if t.Name == headWeight {
			rows, columns := t.Shape[0], t.Shape[1]
			list[i].View = train.View{Shape: []int{columns, rows}, Row: 1, Column: rows}
		}
	}
	return list
}

// Plain implements Layout.
func (gpt2Layout) Plain(name string) string { return strings.TrimPrefix(name, "transformer.") }

// Buffer implements Layout.
func (gpt2Layout) Buffer(plain string) bool {
	return strings.HasPrefix(plain, "h.") &&
		(strings.HasSuffix(plain, ".attn.bias") || strings.HasSuffix(plain, ".attn.masked_bias"))
}

// Head implements Layout.
func (gpt2Layout) Head() string { return headWeight }

// skips reports whether a tensor of a file is a buffer, or a copy of a tied head, rather than a parameter.
func skips(l Layout, name string, ownHead bool) bool {
	plain := l.Plain(name)
	return l.Buffer(plain) || !ownHead && plain == l.Head()
}

// parameters returns the tensors of a file that are parameters, under names without a prefix. ownHead reports whether
// the network's head has a matrix of its own.
func parameters(l Layout, f *safetensors.File, ownHead bool) *safetensors.File {
	entries := slices.Clone(f.Entries)
	entries = slices.DeleteFunc(entries, func(e safetensors.Entry) bool { return skips(l, e.Name, ownHead) })
	for i, e := range entries {
		entries[i].Name = l.Plain(e.Name)
	}
	return &safetensors.File{Entries: entries, Metadata: f.Metadata}
}

// shorter is a Layout whose files have more learned positions than the network.
type shorter struct {
	Layout
	positions int // in the files
}

// Tensors implements Layout.
func (l shorter) Tensors(params []graph.Expr) (list []train.Named) {
	for _, p := range params {
		tensors := l.Layout.Tensors([]graph.Expr{p})
		if p.Name() == "wpe.weight" {
			for i := range tensors {
				t := &tensors[i]
				rows, width := t.Shape[0], t.Shape[1]
				if t.View.Shape == nil {
					t.View = train.View{Shape: []int{rows, width}, Row: width, Column: 1}
				}
				t.View.Shape[0] += l.positions - rows
			}
		}
		list = append(list, tensors...)
	}
	return list
}
