package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// recordMatrices returns affine, extended to append the path of each matrix that it builds to list.
func recordMatrices(affine nn.Affine, list *[]string) nn.Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		*list = append(*list, s.Path())
		return affine(s, in, out, bias, init)
	}
}

// recordOwn is recordMatrices for the matrices that user-defined layers declare themselves in a block.
func recordOwn(adapt nn.Adapt, list *[]string) nn.Adapt {
	return func(s graph.Scope, w graph.Expr, in, out int) graph.Expr {
		if inBlock(s.Path()) {
			*list = append(*list, s.Path())
		}
		if adapt == nil {
			return w
		}
		return adapt(s, w, in, out)
	}
}

// nameMatrices records the names of the matrices at these paths, each once.
func (o *outline) nameMatrices(places []string) {
	for _, name := range places {
		if rest, ok := strings.CutPrefix(name, "h."); ok {
			_, name, _ = strings.Cut(rest, ".")
		}
		if !slices.Contains(o.linears, name) {
			o.linears = append(o.linears, name)
		}
	}
}

// targets returns the last parts of the names of all matrices.
func (o outline) targets() (list []string) {
	for _, name := range o.linears {
		name = name[strings.LastIndexByte(name, '.')+1:]
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
