package verify

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// louder is an attention with its own Forward and the library's Step.
type louder struct {
	nn.Cached
	by float64
}

func (l louder) Forward(x graph.Expr) graph.Expr { return l.Cached.Forward(x).Scale(l.by) }

// forgetful is an attention that ignores the tokens before the newest ones.
type forgetful struct {
	nn.Cached
	zero graph.Expr
}

func (l forgetful) Step(x, _ graph.Expr) graph.Expr { return l.Cached.Step(x, l.zero) }

// A Step that differs from Forward fails, with formulas and without. An equal Step passes, and so does a layer without
// steps.
func TestCaseComparesSteps(t *testing.T) {
	library := func(at nn.Site) nn.Cached { return nn.NewSelfAttention(at.At("attn")) }
	for name, tc := range map[string]struct {
		layer func(at nn.Site) nn.Layer
		want  string
	}{
		"library":  {func(at nn.Site) nn.Layer { return library(at) }, ""},
		"no steps": {func(at nn.Site) nn.Layer { return nn.NewMLP(at) }, ""},
		"same":     {func(at nn.Site) nn.Layer { return louder{library(at), 1} }, ""},
		"louder": {func(at nn.Site) nn.Layer {
			return louder{library(at), 1 +
				1e-8}
		}, "Step and Forward differ: row 0, column "},
		"forgetful": {func(at nn.Site) nn.Layer {
			return forgetful{library(at), at.Ints("zero", 1, at.Context, graph.NoneIgnored)}
		},
			"Step and Forward differ: row 2, column "},
	} {
		few := nn.Dims{Batch: 2, Context: 5, Embd: 3, Heads: 3, QK: 6, V: 9, Inner: 7} // every number is differentiated
		r, err := Case{Name: name, Layer: tc.layer, Dims: few}.Run()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(r.Failures, "; "); !strings.HasPrefix(got, tc.want) || r.OK() != (tc.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	for name, c := range map[string]Case{
		"neither": {}, "both": {
			Layer: func(at nn.Site) nn.Layer { return nn.NewMLP(at) },
			Build: func(nn.Site, graph.Expr) graph.Expr { return graph.Expr{} },
		},
	} {
		if _, err := c.Run(); err == nil || !strings.Contains(err.Error(), "give one of Build and Layer") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
