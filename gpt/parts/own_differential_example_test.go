package parts_test

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// differential is attention by H/2 heads with values twice as wide, each with two softmaxes, of which it takes the
// difference: norm((ρ₁ − λ·ρ₂)·v)·(1 − λ₀), ρ = softmax(q·kᵀ/√dρ + mask) (Ye et al. 2024, arXiv:2410.05258).
type differential struct {
	nn.Site
	qkv, norm, proj nn.Layer
	lambda          [4]graph.Expr // λ_q1, λ_k1, λ_q2, λ_k2
}

func newDifferential(at nn.Site) nn.Layer {
	l := &differential{Site: at}
	l.qkv = at.Affine(at.Sub("c_attn"), at.Embd, []int{at.Heads * (2*at.QK + at.V)}, at.Bias, graph.Normal(0.02))
	l.proj = at.Affine(at.Sub("c_proj"), at.Heads*at.V, []int{at.Embd}, at.Bias, graph.Normal(0.02))
	for i := range l.lambda {
		l.lambda[i] = at.Sub("lambda").Param(fmt.Sprint(i), graph.Normal(0.1), 1, at.QK)
	}
	wide := at.At("norm")
	wide.Embd = 2 * at.V
	l.norm = nn.NewRMSNorm(wide)
	return l
}

func (l *differential) Forward(x graph.Expr) graph.Expr { // (B·T, d) → (B·T, d)
	qkv, pairs, wide := l.qkv.Forward(x), l.Heads/2, 2*l.V
	part := func(i, width int) graph.Expr { // block i of the columns, as (B, H/2, T, width)
		block := qkv.Columns(i*pairs*l.QK, i*pairs*l.QK+pairs*width)
		return block.Reshape(l.Batch, l.Context, pairs, width).Transpose(0, 2, 1, 3)
	}
	attend := func(i int) graph.Expr { // ρ_i·v, one head of one token per row
		scores := part(i, l.QK).MatMulT(part(2+i, l.QK)).Scale(1 / math.Sqrt(float64(l.QK)))
		rho := scores.Add(l.Mask.Expr()).Softmax()
		return rho.MatMul(part(4, wide)).Transpose(0, 2, 1, 3).Reshape(x.Shape()[0]*pairs, wide)
	}
	initial := 0.8 - 0.6*math.Exp(-0.3*float64(l.Block)) // λ₀
	power := func(i int) graph.Expr { return l.lambda[i].Mul(l.lambda[i+1]).Sum().Exp() }
	lambda := power(0).Sub(power(2)).Shift(initial) // λ = e^(λ_q1·λ_k1) − e^(λ_q2·λ_k2) + λ₀
	y := l.norm.Forward(attend(0).Sub(attend(1).Mul(lambda))).Scale(1 - initial)
	return l.proj.Forward(y.Reshape(x.Shape()[0], pairs*wide))
}

// Differential attention from expressions alone, where the library's own, attention diff, runs in a kernel. Automatic
// differentiation derives its gradient.
func ExampleRegistry_differentialAttention() {
	c := small()
	plain, _ := c.Count()
	c.Attention, c.Parts.Attentions = "differential", []parts.Attention{{
		Name: "differential", New: func(nn.Site, parts.Stack) nn.Attention { return newDifferential },
	}}
	more, _ := c.Count()
	fmt.Println(more-plain, "parameters more")
	trains(c)
	// Output:
	// 48 parameters more
	// the loss falls, and it writes
}
