package verify_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// blurred is an MLP that mixes its tokens.
type blurred struct {
	nn.Layer
	shares graph.Expr
}

func (l blurred) Forward(x graph.Expr) graph.Expr { return l.Layer.Forward(x.Add(l.shares.MatMul(x))) }

// A model in which a token sees later ones fails in every form, and the failure names the layer. For other models the
// report states that they are causal.
func TestCheckLooksAhead(t *testing.T) {
	for name, want := range map[string]string{
		"mlp": "", "own": ": h.0.mlp.act: token 0 sees later tokens of its text, 1–3",
	} {
		c := gpt.Shakespeare()
		c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.NInner, c.MLP = 4, 5, 1, 1, 2, 3, name
		c.Parts.MLPs = []parts.MLP{{Name: "own", New: func(at nn.Site) nn.Layer {
			return blurred{nn.NewMLP(at), shares(at, func(i, j int) bool { return i/at.Context == j/at.Context })}
		}}}
		m, err := verify.NewModel(c, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, err := verify.Check(m)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() != (want == "") || r.Causal != (want == "") || want != "" && len(r.Failures) < 3 {
			t.Errorf("%s: got failures %q, causal %t", name, r.Failures, r.Causal)
		}
		var b bytes.Buffer
		if _, err := r.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(
			b.String(), "\nno token sees a later one, or another text of the batch\n",
		); got != r.Causal {
			t.Errorf("%s: got\n%s", name, b.String())
		}
		for i, form := range []string{"autodiff", "kernels", "float32"} {
			if want != "" && (!strings.HasPrefix(r.Failures[i], form+want) ||
				!strings.Contains(b.String(), "FAIL "+form+want)) {
				t.Errorf("%s: got failures %q, want %q of each form", name, r.Failures, want)
			}
		}
	}
}
