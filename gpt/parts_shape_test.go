package gpt

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// layerFunc is a user-defined layer that does not use its scope.
type layerFunc func(x graph.Expr) graph.Expr

func (f layerFunc) Forward(x graph.Expr) graph.Expr { return f(x) }

// ownLayer returns c with the layer as its part of a kind, and the path of that part.
func ownLayer(c Config, kind string, l nn.Layer) (Config, string) {
	layer := func(nn.Site) nn.Layer { return l }
	switch kind {
	case "attention":
		c.Attention = "ours"
		c.Parts.Attentions = []parts.Attention{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return layer }}}
		return c, "h.0.attn"
	case "norm":
		c.Norm, c.Parts.Norms = "ours", []parts.Norm{{Name: "ours", New: layer}}
		return c, "h.0.ln_1"
	case "mlp":
		c.MLP, c.Parts.MLPs = "ours", []parts.MLP{{Name: "ours", New: layer}}
		return c, "h.0.mlp"
	case "activation":
		c.Activation, c.Parts.Activations = "ours", []parts.Activation{{Name: "ours", Layer: l}}
		return c, "h.0.mlp.act"
	case "block":
		c.Block = "ours"
		c.Parts.Blocks = []parts.Block{{Name: "ours", New: func(at nn.Site, _ nn.Attention) nn.Layer { return l }}}
		return c, "h.0"
	case "head":
		c.Head = "ours"
		c.Parts.Heads = []parts.Head{{Name: "ours", New: func(at nn.Site, _ int, _ *nn.Embedding) nn.Layer { return l }}}
		return c, "lm_head"
	}
	c.Position = "ours"
	c.Parts.Positions = []parts.Position{{Name: "ours", New: func(at nn.Site, _ parts.Stack) nn.Placement { return nn.Placement{Layer: l} }}}
	return c, "position"
}

// A user-defined layer of any kind that returns a wrong shape, fails in an operation, or panics is an error under its
// own name, even if it leaves its input's scope unchanged. A panic has the file and line.
func TestWrongLayersAreNamed(t *testing.T) {
	line := 0
	for how, c := range map[string]struct {
		forward func(x graph.Expr) graph.Expr
		want    func() string
	}{
		"a column less": {func(x graph.Expr) graph.Expr { return x.Cols(0, x.Shape()[1]-1) }, func() string { return "got shape (" }},
		"a sum":         {func(x graph.Expr) graph.Expr { return x.Sum() }, func() string { return "got shape (" }},
		"a product":     {func(x graph.Expr) graph.Expr { return x.MatMul(x) }, func() string { return "matmul (" }},
		"a panic": {func(x graph.Expr) graph.Expr { _, _, line, _ = runtime.Caller(0); return x.Cols(0, x.Shape()[7]) }, func() string {
			return fmt.Sprintf("panic: runtime error: index out of range [7] with length 2 at %s:%d", thisFile(), line)
		}},
	} {
		for _, kind := range []string{"attention", "norm", "mlp", "activation", "block", "head", "position"} {
			config, place := ownLayer(tiny(), kind, layerFunc(c.forward))
			config.VocabSize = 11
			_, err := New(graph.New(graph.Float64, 1), config, 3)
			if err == nil || !strings.HasPrefix(err.Error(), "gpt: "+place+": "+c.want()) {
				t.Errorf("%s, %s: got error %v, want %s: %s", kind, how, err, place, c.want())
			}
		}
	}
}

func thisFile() string { _, file, _, _ := runtime.Caller(0); return file }
