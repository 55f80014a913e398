package verify_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// shares returns a matrix (B·T, B·T) with 1 where row i takes in row j.
func shares(at nn.Site, takes func(i, j int) bool) graph.Expr {
	n := at.Batch * at.Context
	return at.Value("shares", func(k int, _ *rand.Rand) float64 {
		if takes(k/n, k%n) {
			return 1
		}
		return 0
	}, n, n)
}

// around lets a query see the next token.
type around struct{}

func (around) Visible(_, i, j int) bool { return j <= i+1 }

// A user-defined layer in which a token sees later ones, or another text, fails in every form, and the failure names
// the tokens. A layer that is declared Bidirectional may see later ones, but no other text.
func TestCaseLooksAhead(t *testing.T) {
	sum := func(takes func(at nn.Site, i, j int) bool) func(at nn.Site, x graph.Expr) graph.Expr {
		return func(at nn.Site, x graph.Expr) graph.Expr {
			return x.Add(shares(at, func(i, j int) bool { return takes(at, i, j) }).MatMul(x).Square())
		}
	}
	text := func(at nn.Site, i, j int) bool { return i/at.Context == j/at.Context }
	for name, c := range map[string]struct {
		build func(at nn.Site, x graph.Expr) graph.Expr
		want  string // of every form
		both  bool   // may be declared Bidirectional
	}{
		"past": {sum(func(at nn.Site, i, j int) bool { return text(at, i, j) && j <= i }), "", true},
		"text": {sum(text), "the output: token 0 sees later tokens of its text, 1–3", true},
		"last": {sum(func(at nn.Site, i, j int) bool {
			return i == 1 &&
				j == 3
		}), "the output: token 1 sees later tokens of its text, 3:", true},
		"batch": {
			sum(func(at nn.Site, i, j int) bool { return i%at.Context == j%at.Context }),
			"the output: token 1 sees another text of the batch, its tokens 1:", false,
		},
		"norm over the text": {func(at nn.Site, x graph.Expr) graph.Expr {
			mean := shares(at, func(i, j int) bool { return text(at, i, j) }).MatMul(x).Scale(1 / float64(at.Context))
			return at.Place("centred", x.Sub(mean)).Tanh()
		}, "centred: token 0 sees later tokens of its text, 1–3", true},
		"attention": {func(at nn.Site, x graph.Expr) graph.Expr {
			at.Mask = nn.NewMask(at.Sub("own"), at.Dims, around{})
			return nn.NewSelfAttention(at.At("attn")).Forward(x)
		}, "attn.heads: token 0 sees later tokens of its text, 1:", true},
		"pooled": {func(at nn.Site, x graph.Expr) graph.Expr {
			return at.Value("mean", func(k int, _ *rand.Rand) float64 {
				if n := at.Batch * at.Context; k%n/at.Context == k/n {
					return 1
				}
				return 0
			}, at.Batch, at.Batch*at.Context).MatMul(x).Square()
		}, "", true},
	} {
		dims := nn.Dims{Batch: 3, Context: 4, Embd: 3, Heads: 3, QK: 2, V: 2}
		for _, both := range []bool{false, true} {
			r, err := verify.Case{Name: name, Build: c.build, Dims: dims, Bidirectional: both}.Run()
			if err != nil {
				t.Fatal(name, err)
			}
			fails := c.want != "" && !(both && c.both)
			if r.OK() == fails {
				t.Errorf("%s, bidirectional %t: got failures %q", name, both, r.Failures)
			}
			for i, form := range []string{"autodiff: ", "kernels: ", "float32: "} {
				if fails && !both && (len(r.Failures) != 3 || !strings.HasPrefix(r.Failures[i], form+c.want)) {
					t.Errorf("%s: got failures %q, want %q in each form", name, r.Failures, c.want)
				}
			}
		}
	}
}
