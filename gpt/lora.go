package gpt

import (
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// adapts reports whether the layer of that name has adapters, that is, whether a target equals the name or its ending
// after a dot. It accepts "h.3.mlp.c_fc" as well as "mlp.c_fc".
func (a Adapters) adapts(layer string) bool {
	return a.LoraR > 0 && slices.ContainsFunc(a.LoraTargets, func(target string) bool {
		return layer == target || strings.HasSuffix(layer, "."+target)
	})
}

// affine returns a builder of matrices that adds adapters as a describes, and calls collect with each.
func (a Adapters) affine(collect func(*nn.LoRA)) nn.Affine {
	if a.LoraR == 0 {
		return nn.NewLinear
	}
	adapted := nn.NewLoRA(a.adapts, a.LoraR, a.scale())
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		l := adapted(s, in, out, bias, init)
		if lora, ok := l.(*nn.LoRA); ok {
			collect(lora)
		}
		return l
	}
}

// adapt is like affine, for the matrices that user-defined layers declare in the blocks.
func (a Adapters) adapt(collect func(*nn.LoRA)) nn.Adapt {
	if a.LoraR == 0 {
		return nil
	}
	return func(s graph.Scope, w graph.Expr, in, out int) graph.Expr {
		if !inBlock(s.Path()) || !a.adapts(s.Path()) {
			return w
		}
		l := nn.NewAdapted(s, w, in, out, a.LoraR, a.scale())
		collect(l)
		return l.Matrix()
	}
}

func (a Adapters) scale() float64 {
	switch a.LoraScale {
	case "alpha/r":
		return a.LoraAlpha / float64(a.LoraR)
	case "alpha/sqrt(r)":
		return a.LoraAlpha / math.Sqrt(float64(a.LoraR))
	}
	return a.LoraAlpha
}

func isAdapter(p graph.Expr) bool { return adapterName(p.Name()) }

func adapterName(name string) bool { return strings.Contains(name, ".lora_") }

func inBlock(name string) bool { return strings.HasPrefix(name, "h.") }
