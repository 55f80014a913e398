package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// matrix is one that a layer has declared through its site.
type matrix struct {
	path string
	in   int
	outs []int
}

// recordMatrices appends what affine makes to list.
func recordMatrices(affine nn.Affine, list *[]matrix) nn.Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		*list = append(*list, matrix{s.Path(), in, out})
		return affine(s, in, out, bias, init)
	}
}

// countMatrices notes the names of matrices and what they keep of a token: what they give, what comes out of attention
// or activation into a projection, and what an adapter has between its two.
func (o *outline) countMatrices(list []matrix, c Config, blocks float64) {
	o.token = 3*float64(c.NEmbd) + float64(c.VocabSize) + 7*float64(c.NEmbd)*float64(c.NLayer)
	for _, m := range list {
		name, kept := m.path, 0.0
		if c.adapts(m.path) {
			kept = float64(c.LoraR) * float64(len(m.outs))
		}
		if rest, ok := strings.CutPrefix(m.path, "h."); ok {
			_, name, _ = strings.Cut(rest, ".")
			for _, out := range m.outs {
				kept += float64(out)
			}
			if strings.HasSuffix(name, ".c_proj") {
				kept += float64(m.in) - float64(c.NEmbd) // the output is among the 7d
			}
			kept *= blocks
		}
		o.token += kept
		if !slices.Contains(o.linears, name) {
			o.linears = append(o.linears, name)
		}
	}
}

// targets are the last parts of the names of all matrices.
func (o outline) targets() (list []string) {
	for _, name := range o.linears {
		name = name[strings.LastIndexByte(name, '.')+1:]
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
