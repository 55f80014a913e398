package nn

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

const (
	sinkhornSteps = 20   // the published number of pairs of normalisations
	sinkhornEps   = 1e-6 // is added to every sum, so that a row of zeros stays one
)

// HyperConnections is a residual Stream of s parallel streams X (s, d) for every token (Zhu et al. 2024), with the
// manifold constraint of Xie et al. (2025, arXiv:2512.24880, (7)–(9)). A sublayer F reads a mixture of the streams, and
// its result is added to each of them:
//
//	X ← H_res·X + H_postᵀ·F(H_pre·X)
//
//	H_pre  = σ(α₁·z₁ + b₁)             (1, s)
//	H_post = 2σ(α₂·z₂ + b₂)            (1, s)
//	H_res  = Sinkhorn(α₃·z₃ + b₃)      (s, s)
//	[z₁ | z₂ | z₃] = x/rms(x)·w        (1, 2s+s²), where x is X in one row
//
// Sinkhorn takes exp of every entry and divides, 20 times, first each column and then each row by its sum. So H_res
// nearly has rows and columns of the sum 1, and mixes the streams without making them grow. The streams begin as copies
// of the embeddings and end in their mean. At first every H_pre is near 1/s, H_post near 1 and H_res near the identity:
// the network begins as one with the plain stream.
type HyperConnections struct {
	PlainStream
	streams int // s
}

// NewHyperConnections returns the Stream of the given number of parallel streams, 4 in the publication.
func NewHyperConnections(streams int) HyperConnections { return HyperConnections{streams: streams} }

// Expand returns copies of the embeddings, side by side.
func (l HyperConnections) Expand(x graph.Expr) graph.Expr { // (n, d) → (n, s·d)
	if l.streams < 2 {
		return x.Wrap(nil, errors.Errorf("%d streams: at least 2 are needed", l.streams))
	}
	copies := make([]graph.Expr, l.streams-1)
	for i := range copies {
		copies[i] = x
	}
	return x.Join(copies...)
}

// Reduce returns the mean of the streams.
func (l HyperConnections) Reduce(x graph.Expr) graph.Expr { // (n, s·d) → (n, d)
	if s := x.Shape(); len(s) != 2 || l.streams < 2 || s[1]%l.streams != 0 {
		return x.Wrap(nil, errors.Errorf("%d streams in shape %s", l.streams, sizes(s)))
	}
	d := x.Shape()[1] / l.streams
	sum := x.Columns(0, d)
	for i := 1; i < l.streams; i++ {
		sum = sum.Add(x.Columns(i*d, (i+1)*d))
	}
	return sum.Scale(1 / float64(l.streams))
}

// Connect declares weight (s·d, 2s+s²) from N(0, 0.02²), alpha (3), which starts at 0.01, and bias (2s+s²), which
// starts at −ln(s−1) for H_pre, at 0 for H_post and on the diagonal of H_res, and elsewhere at −8.
func (l HyperConnections) Connect(at Site) Connection {
	s := l.streams
	if s < 2 {
		at.Failf("%d streams: at least 2 are needed", s)
		return nil
	}
	initial := make([]float64, 2*s+s*s)
	for i := range s {
		initial[i] = -elementary.Log(float64(s - 1))
		for j := range s {
			if i != j {
				initial[2*s+i*s+j] = -8
			}
		}
	}
	return &hyperConnection{
		streams: s, width: at.Embd, eps: at.Eps, scope: at.Scope,
		weight: at.Scope.Param("weight", graph.Normal(0.02), s*at.Embd, len(initial)),
		alpha:  at.Scope.Param("alpha", graph.Const(0.01), 3),
		bias:   at.Scope.Param("bias", func(i int, _ *rand.Rand) float64 { return initial[i] }, len(initial)),
	}
}

// hyperConnection joins one sublayer.
type hyperConnection struct {
	weight, alpha, bias graph.Expr
	streams, width      int
	eps                 float64
	scope               graph.Scope

	post, res graph.Expr // of the Read before: (n, s), (n, s²)
}

// Read returns H_pre·X.
func (l *hyperConnection) Read(x graph.Expr) graph.Expr { // (n, s·d) → (n, d)
	s := l.streams
	alpha, bias := l.alpha.In(l.scope).Reshape(1, 3), l.bias.In(l.scope).Reshape(1, 2*s+s*s)
	z := l.project(x)
	logits := func(i, from, to int) graph.Expr {
		return z.Columns(from, to).Mul(alpha.Columns(i, i+1)).Add(bias.Columns(from, to))
	}
	l.post = logits(1, s, 2*s).Sigmoid().Scale(2)
	l.res = sinkhorn(logits(2, 2*s, 2*s+s*s), s)
	return matMulEach(logits(0, 0, s).Sigmoid(), x, s)
}

// project returns z = x/rms(x)·w.
func (l *hyperConnection) project(x graph.Expr) graph.Expr { // (n, s·d) → (n, 2s+s²)
	y, ok := fused.RMSNorm(x, graph.Expr{}, l.eps)
	if !ok {
		y = x.Div(x.Square().Mean().Shift(l.eps).Sqrt())
	}
	if z, ok := fused.Linear(y, l.weight, graph.Expr{}); ok {
		return z
	}
	return y.MatMul(l.weight)
}

// Write returns H_res·X + H_postᵀ·y.
func (l *hyperConnection) Write(x graph.Expr, results ...graph.Expr) graph.Expr { // (n, s·d), (n, d) → (n, s·d)
	y := results[0]
	for _, more := range results[1:] {
		y = y.Add(more)
	}
	return matMulEach(l.res, x, l.streams).Add(matMulEach(l.post, y, 1))
}

// matMulEach returns a·x in every row of a (n, t·s) and x (n, s·d).
func matMulEach(a, x graph.Expr, s int) graph.Expr {
	if y, ok := fused.MatMulEach(a, x, s); ok {
		return y
	}
	n, t, d := a.Shape()[0], a.Shape()[1]/s, x.Shape()[1]/s
	return a.Reshape(n, t, s).MatMul(x.Reshape(n, s, d)).Reshape(n, t*d)
}

// sinkhorn returns the exponentials of matrices, whose columns and rows are divided by their sums in turn. The first
// division of the columns is a softmax, so that nothing overflows.
func sinkhorn(z graph.Expr, s int) graph.Expr { // (n, s²) → (n, s²)
	if y, ok := fused.Sinkhorn(z, sinkhornSteps, sinkhornEps); ok {
		return y
	}
	n := z.Shape()[0]
	m := z.Reshape(n, s, s).Transpose(0, 2, 1).Softmax()
	for range 2*sinkhornSteps - 1 {
		m = m.Transpose(0, 2, 1)
		m = m.Div(m.Sum().Shift(sinkhornEps))
	}
	return m.Reshape(n, s*s)
}
